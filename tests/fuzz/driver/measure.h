// Runs one input after another, and measures the memory and the processor time that each takes.
#pragma once

#include <string>

#include "tests/fuzz/fuzz.h"

namespace longshore::fuzz::driver {

class Measured {
 public:
  using Fuzzer = int(const uint8_t* data, size_t size);

  // An input that fails, or that ends the process, is written to the file `keep_as`. Only one object may exist at a
  // time.
  Measured(Fuzzer* fuzzer, std::string keep_as);

  // Runs the fuzzer. Returns false if the input took more than kAllowance or kSecondsMax.
  bool Run(const std::string& input);

  void Print(const std::string& name) const;

 private:
  struct Worst {
    size_t extra = 0, bytes = 0;
  };

  void Measure(const std::string& input);

  Fuzzer* fuzzer_;
  uint64_t inputs_ = 0;
  size_t extra_ = 0, received_ = 0, limit_ = 0;  // In bytes, for the last input.
  double seconds_ = 0, slowest_ = 0;
  Worst worst_;
};

}  // namespace longshore::fuzz::driver

// The words that a running generator takes on its standard input, one per line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace longshore::load {

struct ControlWord {
  enum class Verb { kRate, kMark, kStop };
  Verb verb = Verb::kStop;
  double rate_per_second = 0;  // Of kRate.
  std::string name;            // Of kMark.
};

// "rate 500", "mark after-promotion" or "stop". InvalidArgument says what is allowed.
Result<ControlWord> ParseControlWord(std::string_view line);

// Cuts complete lines off a growing text; a line beyond the limit is dropped.
class LineBuffer {
 public:
  std::vector<std::string> Add(std::string_view bytes);

 private:
  std::string rest_;
};
inline constexpr size_t kLineBytesMax = 4096;

}  // namespace longshore::load

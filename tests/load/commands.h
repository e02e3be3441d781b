// The commands that a running generator reads from its standard input, one per line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace longshore::load {

struct ControlWord {
  enum class Verb { kRate, kMark, kStop };
  Verb verb = Verb::kStop;
  double rate_per_second = 0;  // Only for kRate.
  std::string name;            // Only for kMark.
};

// Parses "rate 500", "mark after-promotion" or "stop". The message of InvalidArgument lists the valid commands.
Result<ControlWord> ParseControlWord(std::string_view line);

// Splits a stream of bytes into complete lines; lines longer than kLineBytesMax are dropped.
class LineBuffer {
 public:
  std::vector<std::string> Add(std::string_view bytes);

 private:
  std::string rest_;
};
inline constexpr size_t kLineBytesMax = 4096;

}  // namespace longshore::load

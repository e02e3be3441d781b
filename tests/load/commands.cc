#include "tests/load/commands.h"

#include <charconv>

namespace longshore::load {

Result<ControlWord> ParseControlWord(std::string_view line) {
  const size_t space = line.find(' ');
  const std::string_view verb = line.substr(0, space);
  const std::string_view rest = space == std::string_view::npos ? "" : line.substr(space + 1);
  if (verb == "stop" && rest.empty())
    return ControlWord{.verb = ControlWord::Verb::kStop, .rate_per_second = 0, .name = ""};
  if (verb == "mark" && !rest.empty()) {
    return ControlWord{.verb = ControlWord::Verb::kMark, .rate_per_second = 0, .name = std::string(rest)};
  }
  if (verb == "rate") {
    ControlWord word{.verb = ControlWord::Verb::kRate, .rate_per_second = 0, .name = ""};
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), word.rate_per_second);
    if (parsed.ec == std::errc() && parsed.ptr == rest.data() + rest.size()) return word;
  }
  return InvalidArgument("\"{}\" is not a command: use \"rate NUMBER\", \"mark NAME\" or \"stop\"", line);
}

std::vector<std::string> LineBuffer::Add(std::string_view bytes) {
  rest_ += bytes;
  std::vector<std::string> lines;
  for (size_t end; (end = rest_.find('\n')) != std::string::npos;) {
    lines.push_back(rest_.substr(0, end));
    rest_.erase(0, end + 1);
  }
  if (rest_.size() > kLineBytesMax) rest_.clear();
  return lines;
}

}  // namespace longshore::load

#include "common/regex/regex.h"

#include <re2/re2.h>

#include <algorithm>

namespace longshore::regex {
namespace {

// The most memory for the instructions of an expression.
constexpr int64_t kMemoryBytesMax = int64_t{256} << 10;

enum class Groups { kIgnored, kCaptured };

std::shared_ptr<const RE2> CompiledBy(const std::string& expression, Groups groups) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(groups == Groups::kIgnored);
  options.set_max_mem(kMemoryBytesMax);
  return std::make_shared<const RE2>(expression, options);
}

// RE2 returns the part of the expression to which it objects, which may be the whole expression, but not its position.
std::string PlaceOf(const RE2& refused) {
  const size_t at = refused.pattern().find(refused.error_arg());
  if (refused.error_arg().empty() || refused.error_arg() == refused.pattern() || at == std::string::npos) return "";
  return fmt::format(", at character {}", at + 1);
}

}  // namespace

Result<Expression> Expression::Compile(const std::string& expression) {
  if (expression.empty() || expression.size() > kBytesMax)
    return InvalidArgument("a regular expression must have 1 to {} bytes, not {}", kBytesMax, expression.size());
  const auto refused = [&](const RE2& by) {
    return InvalidArgument("\"{}\" is not a valid regular expression of RE2: {}{}", expression, by.error(),
                           PlaceOf(by));
  };
  if (const auto plain = CompiledBy(expression, Groups::kIgnored); !plain->ok()) return refused(*plain);
  auto compiled = CompiledBy("(" + expression + ")", Groups::kCaptured);
  if (!compiled->ok()) return refused(*compiled);
  if (compiled->ProgramSize() > kInstructionsMax) {
    return InvalidArgument("\"{}\" is too complex: RE2 needs {} instructions for it, and at most {} are allowed",
                           expression, compiled->ProgramSize(), kInstructionsMax);
  }
  return Expression(std::move(compiled));
}

Expression::Expression(std::shared_ptr<const RE2> compiled)
    : compiled_(std::move(compiled)),
      text_bytes_max_(std::min(kTextBytesMax, kStepsMax / static_cast<size_t>(compiled_->ProgramSize()))) {}

// Asks for the text of a group, although it is not needed. RE2 then tries each pair of an instruction and a position at
// most once. Otherwise it would build states of an automaton, which is faster for texts like those that it has seen,
// but up to ten times slower for a text that leads to a new state at each position.
bool Expression::Matches(std::string_view text) const {
  if (text.size() > text_bytes_max_) return false;
  re2::StringPiece found[2];
  return compiled_->Match(re2::StringPiece(text.data(), text.size()), 0, text.size(), RE2::ANCHOR_BOTH, found, 2);
}

}  // namespace longshore::regex

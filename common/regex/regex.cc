#include "common/regex/regex.h"

#include <re2/re2.h>

namespace longshore::regex {
namespace {

// RE2 keeps this much memory for each expression. With less, it falls back to a slower method more often.
constexpr int64_t kMemoryBytesMax = int64_t{256} << 10;

RE2::Options OptionsOf() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMemoryBytesMax);
  return options;
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
  auto compiled = std::make_shared<const RE2>(expression, OptionsOf());
  if (!compiled->ok()) {
    return InvalidArgument("\"{}\" is not a valid regular expression of RE2: {}{}", expression, compiled->error(),
                           PlaceOf(*compiled));
  }
  if (compiled->ProgramSize() > kInstructionsMax) {
    return InvalidArgument("\"{}\" is too complex: RE2 needs {} instructions for it, and at most {} are allowed",
                           expression, compiled->ProgramSize(), kInstructionsMax);
  }
  return Expression(std::move(compiled));
}

bool Expression::Matches(std::string_view text) const {
  return text.size() <= kTextBytesMax && RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

}  // namespace longshore::regex

// Regular expressions, matched by RE2 as in TensorFlow.
#include <re2/re2.h>

#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels::text {
namespace {

// An upper bound of the number of references to groups in the rewrite.
size_t ReferencesIn(const std::string& rewrite) {
  return static_cast<size_t>(std::count(rewrite.begin(), rewrite.end(), '\\'));
}

// Checks the memory for the result of replacing all matches. A string of n bytes has at most n + 1 matches, and each
// match writes the rewrite once. Each reference to a group writes at most n bytes over all matches of the string.
Status HasRoomForRewrites(const Call& call, const std::string& rewrite) {
  const size_t longest = LongestOf(call.in(0));
  RETURN_IF_ERROR(HasRoomForText(call, static_cast<int64_t>(longest) + 1, rewrite.size()));
  return HasRoomForText(call, static_cast<int64_t>(longest), ReferencesIn(rewrite));
}

Outputs Replace(const Call& call, const std::string& pattern, const std::string& rewrite) {
  const RE2 expression(pattern, RE2::Quiet);
  if (!expression.ok()) return InvalidArgument("invalid pattern \"{}\": {}", pattern, expression.error());
  RETURN_IF_ERROR(HasRoomForRewrites(call, rewrite));
  const bool all = call.attributes().Bool("replace_global", true);
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kString, call.in(0).shape()));
  const auto texts = call.in(0).values<std::string>();
  std::copy(texts.begin(), texts.end(), out.mutable_values<std::string>().begin());
  for (auto& text : out.mutable_values<std::string>()) {
    if (all)
      RE2::GlobalReplace(&text, expression, rewrite);
    else
      RE2::Replace(&text, expression, rewrite);
  }
  return One(out);
}

Outputs StaticRegexReplace(const Call& call) {
  RETURN_IF_ERROR(CheckText(call, 0));
  return Replace(call, call.attributes().Text("pattern", ""), call.attributes().Text("rewrite", ""));
}

Outputs RegexReplace(const Call& call) {
  RETURN_IF_ERROR(CheckText(call, 0));
  ASSIGN_OR_RETURN(const std::string pattern, TextOf(call, 1, "pattern"));
  ASSIGN_OR_RETURN(const std::string rewrite, TextOf(call, 2, "rewrite"));
  return Replace(call, pattern, rewrite);
}

Outputs FullMatch(const Call& call, const std::string& pattern) {
  RETURN_IF_ERROR(CheckText(call, 0));
  const RE2 expression(pattern, RE2::Quiet);
  if (!expression.ok()) return InvalidArgument("invalid pattern \"{}\": {}", pattern, expression.error());
  return UnaryOf<std::string, bool>(call, [&](const std::string& text) { return RE2::FullMatch(text, expression); });
}

Outputs StaticRegexFullMatch(const Call& call) { return FullMatch(call, call.attributes().Text("pattern", "")); }

Outputs RegexFullMatch(const Call& call) {
  ASSIGN_OR_RETURN(const std::string pattern, TextOf(call, 1, "pattern"));
  return FullMatch(call, pattern);
}

constexpr Kernel kKernels[] = {
    {.op = "RegexFullMatch", .compute = RegexFullMatch, .inputs_min = 2},
    {.op = "RegexReplace", .compute = RegexReplace, .inputs_min = 3},
    {.op = "StaticRegexFullMatch", .compute = StaticRegexFullMatch, .inputs_min = 1},
    {.op = "StaticRegexReplace", .compute = StaticRegexReplace, .inputs_min = 1},
};

}  // namespace

std::span<const Kernel> RegexKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text

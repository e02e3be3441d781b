// Strings are bytes; the ASCII letters change their case and nothing else does.
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "serving-node/engine/reference/kernels/elementwise.h"

namespace longshore::engine::reference::kernels {
namespace {

Status CheckStrings(const Call& call) {
  for (const auto& input : call.inputs) {
    if (input.type() != DType::kString)
      return InvalidArgument("an input of {} instead of DT_STRING", DTypeName(input.type()));
  }
  return {};
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

template <char (*kChange)(char)>
Outputs ChangeCase(const Call& call) {
  RETURN_IF_ERROR(CheckStrings(call));
  return UnaryOf<std::string>(call, [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), kChange);
    return text;
  });
}

Outputs Strip(const Call& call) {
  RETURN_IF_ERROR(CheckStrings(call));
  return UnaryOf<std::string>(call, [](const std::string& text) {
    constexpr const char* kSpace = " \t\n\v\f\r";
    const size_t begin = text.find_first_not_of(kSpace);
    return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
  });
}

// In bytes, or in UTF-8 characters: bytes that do not continue one.
Outputs Length(const Call& call) {
  RETURN_IF_ERROR(CheckStrings(call));
  const bool in_characters = call.attributes().Text("unit", "BYTE") == "UTF8_CHAR";
  return UnaryOf<std::string, int32_t>(call, [&](const std::string& text) {
    const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
    return static_cast<int32_t>(in_characters ? std::count_if(text.begin(), text.end(), begins)
                                              : static_cast<std::ptrdiff_t>(text.size()));
  });
}

Outputs Join(const Call& call) {
  RETURN_IF_ERROR(CheckStrings(call));
  const std::string separator = call.attributes().Text("separator", "");
  Shape shape;
  for (const auto& input : call.inputs) {
    if (input.rank() == 0) continue;
    if (!shape.empty() && input.shape() != shape)
      return InvalidArgument("inputs of shapes {} and {}", ToString(shape), ToString(input.shape()));
    shape = input.shape();
  }
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kString, shape));
  const auto texts = out.mutable_values<std::string>();
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    const auto parts = call.in(k).values<std::string>();
    for (size_t i = 0; i < texts.size(); ++i) {
      if (k > 0) texts[i] += separator;
      texts[i] += parts[call.in(k).rank() == 0 ? 0 : i];
    }
  }
  return One(out);
}

Outputs Replace(const Call& call, const std::string& pattern, const std::string& rewrite) {
  const RE2 expression(pattern, RE2::Quiet);
  if (!expression.ok()) return InvalidArgument("invalid pattern \"{}\": {}", pattern, expression.error());
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
  RETURN_IF_ERROR(CheckStrings(call));
  return Replace(call, call.attributes().Text("pattern", ""), call.attributes().Text("rewrite", ""));
}

Outputs RegexReplace(const Call& call) {
  RETURN_IF_ERROR(CheckStrings(call));
  if (call.in(1).elements() != 1 || call.in(2).elements() != 1)
    return InvalidArgument("pattern and rewrite must be scalars");
  return Replace(call, call.in(1).values<std::string>()[0], call.in(2).values<std::string>()[0]);
}

Outputs StaticRegexFullMatch(const Call& call) {
  RETURN_IF_ERROR(CheckStrings(call));
  const RE2 expression(call.attributes().Text("pattern", ""), RE2::Quiet);
  if (!expression.ok()) return InvalidArgument("invalid pattern: {}", expression.error());
  return UnaryOf<std::string, bool>(call, [&](const std::string& text) { return RE2::FullMatch(text, expression); });
}

// As C's printf writes them: TensorFlow's defaults are %d and %f.
Outputs AsString(const Call& call) {
  const Tensor& in = call.in(0);
  const auto precision = static_cast<int>(call.attributes().Int("precision", -1));
  if (in.type() == DType::kString) return One(in);
  if (in.type() == DType::kBool)
    return UnaryOf<bool, std::string>(call, [](bool x) { return std::string(x ? "true" : "false"); });
  return ForNumbers(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return UnaryOf<T, std::string>(call, [&](T x) {
      if constexpr (std::is_integral_v<T>)
        return fmt::format("{}", +x);
      else if (call.attributes().Bool("scientific", false))
        return fmt::format("{:.{}e}", static_cast<double>(x), precision < 0 ? 6 : precision);
      else if (call.attributes().Bool("shortest", false))
        return fmt::format("{:.{}g}", static_cast<double>(x), precision < 0 ? 6 : precision);
      else
        return fmt::format("{:.{}f}", static_cast<double>(x), precision < 0 ? 6 : precision);
    });
  });
}

Status CheckFormat(const graph::Node& node) {
  if (node.attributes.Int("width", -1) != -1 || !node.attributes.Text("fill", "").empty() ||
      node.attributes.Int("precision", -1) > 100) {
    return Unimplemented("AsString with a width");
  }
  return {};
}

// What is too large or too small becomes infinity or zero. Hexadecimal numbers are whole ones, and NaN has no payload.
template <typename T>
std::optional<T> FloatOf(const std::string& text) {
  char* end = nullptr;
  const T value = std::is_same_v<T, float> ? static_cast<T>(std::strtof(text.c_str(), &end))
                                           : static_cast<T>(std::strtod(text.c_str(), &end));
  const bool is_hex = text.find_first_of("xX") != std::string::npos;
  if (end != text.data() + text.size() || text.find_first_of(is_hex ? ".pP" : "(") != std::string::npos)
    return std::nullopt;
  return value;
}

template <typename T>
std::optional<T> IntegerOf(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The number that the whole text is, spaces around it aside.
template <typename T>
std::optional<T> NumberOf(const std::string& text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return std::nullopt;
  const std::string inner = text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
  if constexpr (std::is_floating_point_v<T>)
    return FloatOf<T>(inner);
  else
    return IntegerOf<T>(inner);
}

Outputs StringToNumber(const Call& call) {
  RETURN_IF_ERROR(CheckStrings(call));
  const DType type = call.attributes().Type("out_type", DType::kFloat);
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, call.in(0).shape()));
  return ForNumbers(type, [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    int64_t at = 0;
    for (const auto& text : call.in(0).values<std::string>()) {
      const auto value = NumberOf<T>(text);
      if (!value) return InvalidArgument("StringToNumberOp could not correctly convert string: {}", text);
      Raw<T>(out)[at++] = *value;
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {.op = "AsString",
     .compute = AsString,
     .inputs_min = 1,
     .types = kNumbers | Only(DType::kBool) | Only(DType::kString),
     .check = CheckFormat},
    {.op = "RegexReplace", .compute = RegexReplace, .inputs_min = 3},
    {.op = "StaticRegexFullMatch", .compute = StaticRegexFullMatch, .inputs_min = 1},
    {.op = "StaticRegexReplace", .compute = StaticRegexReplace, .inputs_min = 1},
    {.op = "StringJoin", .compute = Join, .inputs_min = 1},
    {.op = "StringLength", .compute = Length, .inputs_min = 1},
    {.op = "StringLower", .compute = ChangeCase<Lower>, .inputs_min = 1},
    {.op = "StringStrip", .compute = Strip, .inputs_min = 1},
    {.op = "StringToNumber", .compute = StringToNumber, .inputs_min = 1},
    {.op = "StringUpper", .compute = ChangeCase<Upper>, .inputs_min = 1},
};

}  // namespace

std::span<const Kernel> StringKernels() { return kKernels; }

}  // namespace longshore::engine::reference::kernels

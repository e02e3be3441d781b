// Formats numbers as strings and parses strings as numbers.
#include "serving-node/engine/kernels/base/numbers.h"
#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels::text {
namespace {

constexpr int64_t kWidthMax = 1024;

// Returns a printf format, such as "%+12.3f", that is made of "%", fill, width, precision, and the letters of the type.
std::string FormatOf(const graph::Attributes& attributes, std::string_view letters) {
  const int64_t width = attributes.Int("width", -1), precision = attributes.Int("precision", -1);
  return fmt::format("%{}{}{}{}", width > -1 ? attributes.Text("fill", "") : "",
                     width > -1 ? fmt::to_string(width) : "", precision > -1 ? fmt::format(".{}", precision) : "",
                     letters);
}

template <typename T>
std::string_view LettersOf(const graph::Attributes& attributes) {
  if constexpr (std::is_integral_v<T>) return std::is_signed_v<T> ? "lld" : "llu";
  if (attributes.Bool("scientific", false)) return "e";
  return attributes.Bool("shortest", false) ? "g" : "f";
}

template <typename T>
std::string Printed(const std::string& format, T value) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                  std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;
  const auto wide = static_cast<Wide>(value);
  std::string text(static_cast<size_t>(std::max(0, std::snprintf(nullptr, 0, format.c_str(), wide))), '\0');
  std::snprintf(text.data(), text.size() + 1, format.c_str(), wide);
  return text;
}

// Without attributes, numbers have the formats %d and %f, as in TensorFlow.
Outputs AsString(const Call& call) {
  const Tensor& in = call.in(0);
  const auto& attributes = call.attributes();
  if (in.type() == DType::kString) return One(in);
  if (in.type() == DType::kBool)
    return UnaryOf<bool, std::string>(call, [](bool x) { return std::string(x ? "true" : "false"); });
  return ForNumbers(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::string format = FormatOf(attributes, LettersOf<T>(attributes));
    return UnaryOf<T, std::string>(call, [&](T x) { return Printed(format, x); });
  });
}

Status CheckFormat(const graph::Node& node) {
  const auto& attributes = node.attributes;
  const std::string fill = attributes.Text("fill", "");
  if (attributes.Int("width", -1) > kWidthMax || attributes.Int("precision", -1) > kWidthMax)
    return Unimplemented("{} with a width or precision above {}", node.op, kWidthMax);
  if (fill.size() > 1 || std::string("+- 0#").find(fill) == std::string::npos)
    return Unimplemented("{} with fill \"{}\"", node.op, fill);
  const DType type = attributes.Type("T");
  const bool is_float = type == DType::kFloat || type == DType::kDouble;
  if (attributes.Bool("scientific", false) && attributes.Bool("shortest", false))
    return Unimplemented("{} with both scientific and shortest", node.op);
  if (!is_float && (attributes.Bool("scientific", false) || attributes.Bool("shortest", false) ||
                    attributes.Int("precision", -1) >= 0)) {
    return Unimplemented("{} of {} with scientific, shortest or precision", node.op, DTypeName(type));
  }
  return {};
}

Outputs StringToNumber(const Call& call) {
  RETURN_IF_ERROR(CheckTexts(call));
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
    {.op = "StringToNumber", .compute = StringToNumber, .inputs_min = 1},
};

}  // namespace

std::span<const Kernel> FormatKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text

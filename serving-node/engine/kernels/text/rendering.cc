// Formats tensors as text that people read.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"
#include "serving-node/tensor/half.h"

namespace longshore::engine::kernels::text {
namespace {

// Prints the number with 6 digits (a double with 15) if this text parses to the same number, otherwise with 9 (17).
// Prints subnormal numbers as zero.
template <typename T>
std::string Printed(T value) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  if (std::isnan(value)) return "nan";
  if (std::fpclassify(value) == FP_SUBNORMAL) value = std::copysign(T{0}, value);
  char text[32];
  for (const int digits : {kIsFloat ? 6 : 15, kIsFloat ? 9 : 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if ((kIsFloat ? static_cast<T>(std::strtof(text, nullptr)) : static_cast<T>(std::strtod(text, nullptr))) == value)
      break;
  }
  return text;
}

// Appends the text in quotes, with C escapes; bytes outside ASCII are not escaped. Stops early once `out` has more than
// bytes_max bytes.
void AddQuoted(const std::string& text, size_t bytes_max, std::string* out) {
  *out += '"';
  for (size_t i = 0; i < text.size() && out->size() <= bytes_max; ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n': *out += "\\n"; break;
      case '\r': *out += "\\r"; break;
      case '\t': *out += "\\t"; break;
      case '"':
      case '\'':
      case '\\': out->append(1, '\\').append(1, c); break;
      default:
        if (byte < 0x20 || byte == 0x7f)
          *out += fmt::format("\\{:03o}", byte);
        else
          *out += c;
    }
  }
  *out += '"';
}

std::string NumberText(const Tensor& tensor, int64_t at) {
  switch (tensor.type()) {
    case DType::kFloat: return Printed(Raw<float>(tensor)[at]);
    case DType::kDouble: return Printed(Raw<double>(tensor)[at]);
    case DType::kHalf: return Printed(tensor::HalfToFloat(Raw<uint16_t>(tensor)[at]));
    case DType::kBfloat16: return Printed(tensor::Bfloat16ToFloat(Raw<uint16_t>(tensor)[at]));
    case DType::kBool: return Raw<bool>(tensor)[at] ? "1" : "0";
    case DType::kInt8:
    case DType::kQint8: return fmt::to_string(int{Raw<int8_t>(tensor)[at]});
    case DType::kUint8:
    case DType::kQuint8: return fmt::to_string(int{Raw<uint8_t>(tensor)[at]});
    case DType::kInt16:
    case DType::kQint16: return fmt::to_string(Raw<int16_t>(tensor)[at]);
    case DType::kUint16:
    case DType::kQuint16: return fmt::to_string(Raw<uint16_t>(tensor)[at]);
    case DType::kInt32: return fmt::to_string(Raw<int32_t>(tensor)[at]);
    case DType::kUint32: return fmt::to_string(Raw<uint32_t>(tensor)[at]);
    case DType::kInt64: return fmt::to_string(Raw<int64_t>(tensor)[at]);
    case DType::kUint64: return fmt::to_string(Raw<uint64_t>(tensor)[at]);
    default: return "?";
  }
}

// True for types whose tensors TensorFlow prints in a single pair of brackets, whatever their rank.
bool IsUnknown(DType type) { return type == DType::kComplex64 || type == DType::kQint32; }

// Appends the values of a tensor to `text`. Of each dimension, shows at most shown_max values at the beginning and as
// many at the end; if shown_max is negative, shows all values. Stops early once `text` has more than bytes_max bytes.
class Rendering {
 public:
  Rendering(const Tensor& tensor, int64_t shown_max, size_t bytes_max, std::string* text)
      : tensor_(tensor),
        shown_(shown_max < 0 ? tensor.elements() : std::min(shown_max, tensor.elements())),
        is_cut_(shown_max >= 0 && shown_max < tensor.elements()),
        bytes_max_(bytes_max),
        text_(*text) {}

  void Add() {
    if (tensor_.type() == DType::kBool && shown_ == 0) return;
    if (tensor_.rank() == 0 || IsUnknown(tensor_.type()))
      AddFlat();
    else
      AddDimension(0, 0);
  }

 private:
  bool IsFull() const { return text_.size() > bytes_max_; }

  void AddElement(int64_t at) {
    if (tensor_.type() == DType::kString)
      AddQuoted(Raw<std::string>(tensor_)[at], bytes_max_, &text_);
    else
      text_ += NumberText(tensor_, at);
  }

  void AddFlat() {
    if (tensor_.rank() > 0) text_ += '[';
    for (int64_t i = 0; i < shown_ && !IsFull(); ++i) {
      if (i > 0) text_ += ' ';
      AddElement(i);
    }
    if (is_cut_) text_ += "...";
    if (tensor_.rank() > 0) text_ += ']';
  }

  // Appends the values of one dimension. The depth of the recursion is at most the rank.
  void AddDimension(int axis, int64_t offset) {
    if (IsFull()) return;
    if (axis == tensor_.rank()) return AddElement(offset);
    const int64_t size = tensor_.dim(axis);
    // The product is not computed if no element is shown, because it may then overflow.
    const int64_t inner =
        shown_ == 0 ? 0 : Product(tensor_.shape(), static_cast<size_t>(axis) + 1, tensor_.shape().size());
    text_ += '[';
    const auto add = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && !IsFull(); ++i) {
        if (i > 0) AddSpace(axis);
        AddDimension(axis + 1, offset + inner * i);
      }
    };
    add(0, std::min(shown_, size));
    if (size - shown_ > shown_) {
      AddSpace(axis);
      text_ += "...";
    }
    add(std::max(shown_, size - shown_), size);
    text_ += ']';
  }

  // Appends what separates two values: in the last dimension a space, in another one as many newlines as it has inner
  // dimensions, and then the indentation.
  void AddSpace(int axis) {
    const int below = tensor_.rank() - axis - 1;
    text_.append(static_cast<size_t>(below), '\n').append(below == 0 ? 1 : static_cast<size_t>(axis) + 1, ' ');
  }

  const Tensor& tensor_;
  const int64_t shown_;
  const bool is_cut_;
  const size_t bytes_max_;
  std::string& text_;
};

struct Template {
  explicit Template(const graph::Attributes& attributes)
      : text(attributes.Text("template", "%s")), placeholder(attributes.Text("placeholder", "%s")) {}

  // Returns the texts between the placeholders, as views of `text`. An empty placeholder is found between any two
  // bytes.
  std::vector<std::string_view> Parts() const {
    const std::string_view all = text;
    std::vector<std::string_view> parts;
    size_t begin = 0;
    if (placeholder.empty()) {
      for (; begin + 1 < all.size(); ++begin) parts.push_back(all.substr(begin, 1));
    } else {
      for (size_t end = 0; (end = all.find(placeholder, begin)) != all.npos; begin = end + placeholder.size())
        parts.push_back(all.substr(begin, end - begin));
    }
    parts.push_back(all.substr(begin));
    return parts;
  }

  std::string text;
  std::string placeholder;
};

Outputs StringFormat(const Call& call) {
  const Template given(call.attributes());
  const auto parts = given.Parts();
  const int64_t shown_max = call.attributes().Int("summarize", 3);
  std::string text(parts[0]);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const DType type = call.in(i).type();
    if (type == DType::kResource || type == DType::kVariant) return WrongType(type);
    Rendering(call.in(i), shown_max, call.LeftBytes(), &text).Add();
    text += parts[i + 1];
    RETURN_IF_ERROR(call.HasRoomFor(DType::kUint8, {static_cast<int64_t>(text.size())}));
  }
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kString, {}));
  out.mutable_values<std::string>()[0] = std::move(text);
  return One(std::move(out));
}

Status CheckTemplate(const graph::Node& node) {
  const size_t places = Template(node.attributes).Parts().size() - 1;
  if (places == node.inputs.size()) return {};
  return Unimplemented("{} with a template of {} placeholders for {} inputs", node.op, places, node.inputs.size());
}

constexpr Kernel kKernels[] = {
    {.op = "StringFormat", .compute = StringFormat, .check = CheckTemplate},
};

}  // namespace

std::span<const Kernel> RenderingKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text

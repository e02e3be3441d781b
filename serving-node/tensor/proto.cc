#include "serving-node/tensor/proto.h"

#include <algorithm>
#include <cstring>

namespace longshore::tensor {
namespace {

// Returns InvalidArgument if a repeated field has more values than the shape allows.
Status CheckCount(int64_t given, int64_t wanted, const Shape& shape) {
  if (given <= wanted) return {};
  return InvalidArgument("{} values given for a tensor of shape {}, which holds {}", given, ToString(shape), wanted);
}

// Copies the values. If there are fewer values than elements, repeats the last one; without values, fills with zeros.
template <typename T, typename Field>
Status FillFrom(const Field& field, Tensor* made) {
  RETURN_IF_ERROR(CheckCount(field.size(), made->elements(), made->shape()));
  auto* out = reinterpret_cast<T*>(made->mutable_data());
  int64_t at = 0;
  for (const auto value : field) out[at++] = static_cast<T>(value);
  std::fill(out + at, out + made->elements(), at == 0 ? T{} : out[at - 1]);
  return {};
}

Status FillStrings(const tensorflow::TensorProto& proto, Tensor* made) {
  RETURN_IF_ERROR(CheckCount(proto.string_val_size(), made->elements(), made->shape()));
  const auto out = made->mutable_values<std::string>();
  const auto given = static_cast<size_t>(proto.string_val_size());
  for (size_t i = 0; i < given; ++i) out[i] = proto.string_val(static_cast<int>(i));
  if (given > 0) std::fill(out.begin() + static_cast<std::ptrdiff_t>(given), out.end(), out[given - 1]);
  return {};
}

Status FillComplex(const tensorflow::TensorProto& proto, Tensor* made) {
  const auto& field = proto.scomplex_val();
  if (field.size() % 2 != 0)
    return InvalidArgument("scomplex_val holds {} numbers, which is not an even number", field.size());
  RETURN_IF_ERROR(CheckCount(field.size() / 2, made->elements(), made->shape()));
  auto* out = reinterpret_cast<std::complex<float>*>(made->mutable_data());
  int64_t at = 0;
  for (; at < field.size() / 2; ++at) {
    out[at] = {field.Get(static_cast<int>(2 * at)), field.Get(static_cast<int>(2 * at + 1))};
  }
  std::fill(out + at, out + made->elements(), at == 0 ? std::complex<float>{} : out[at - 1]);
  return {};
}

Status FillFromFields(const tensorflow::TensorProto& proto, Tensor* made) {
  switch (made->type()) {
    case DType::kFloat: return FillFrom<float>(proto.float_val(), made);
    case DType::kDouble: return FillFrom<double>(proto.double_val(), made);
    case DType::kInt32:
    case DType::kQint32: return FillFrom<int32_t>(proto.int_val(), made);
    case DType::kUint8:
    case DType::kQuint8: return FillFrom<uint8_t>(proto.int_val(), made);
    case DType::kInt16:
    case DType::kQint16: return FillFrom<int16_t>(proto.int_val(), made);
    case DType::kInt8:
    case DType::kQint8: return FillFrom<int8_t>(proto.int_val(), made);
    case DType::kUint16:
    case DType::kQuint16: return FillFrom<uint16_t>(proto.int_val(), made);
    case DType::kInt64: return FillFrom<int64_t>(proto.int64_val(), made);
    case DType::kUint32: return FillFrom<uint32_t>(proto.uint32_val(), made);
    case DType::kUint64: return FillFrom<uint64_t>(proto.uint64_val(), made);
    case DType::kBool: return FillFrom<bool>(proto.bool_val(), made);
    case DType::kHalf:
    case DType::kBfloat16: return FillFrom<uint16_t>(proto.half_val(), made);
    case DType::kComplex64: return FillComplex(proto, made);
    case DType::kString: return FillStrings(proto, made);
    default: return InvalidArgument("a tensor of {} has no values", DTypeName(made->type()));
  }
}

Status FillFromContent(const std::string& content, Tensor* made) {
  if (content.size() != made->bytes()) {
    return InvalidArgument("tensor_content holds {} bytes; {}{} needs {}", content.size(), DTypeName(made->type()),
                           ToString(made->shape()), made->bytes());
  }
  const auto above_one = [](char c) { return static_cast<unsigned char>(c) > 1; };
  if (made->type() == DType::kBool && std::any_of(content.begin(), content.end(), above_one)) {
    return InvalidArgument("tensor_content of DT_BOOL holds a byte that is neither 0 nor 1");
  }
  std::memcpy(made->mutable_data(), content.data(), content.size());
  return {};
}

// Returns how many elements the proto holds, counted in the field that FromProto reads for its type; other fields do
// not count.
int64_t ElementsGiven(const tensorflow::TensorProto& proto) {
  const DType type = FromProto(proto.dtype());
  if (!proto.tensor_content().empty()) {
    return static_cast<int64_t>(proto.tensor_content().size() / std::max<size_t>(ElementBytes(type), 1));
  }
  switch (type) {
    case DType::kFloat: return proto.float_val_size();
    case DType::kDouble: return proto.double_val_size();
    case DType::kInt32:
    case DType::kUint8:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUint16:
    case DType::kQint32:
    case DType::kQuint8:
    case DType::kQint16:
    case DType::kQint8:
    case DType::kQuint16: return proto.int_val_size();
    case DType::kInt64: return proto.int64_val_size();
    case DType::kUint32: return proto.uint32_val_size();
    case DType::kUint64: return proto.uint64_val_size();
    case DType::kBool: return proto.bool_val_size();
    case DType::kHalf:
    case DType::kBfloat16: return proto.half_val_size();
    case DType::kComplex64: return proto.scomplex_val_size() / 2;
    case DType::kString: return proto.string_val_size();
    default: return 0;
  }
}

// The memory in bytes for one element that the proto does not contain and FromProto fills in.
size_t FilledElementBytes(const tensorflow::TensorProto& proto) {
  if (proto.dtype() != tensorflow::DT_STRING) return std::max<size_t>(ElementBytes(FromProto(proto.dtype())), 1);
  const int given = proto.string_val_size();
  return sizeof(std::string) + (given > 0 ? proto.string_val(given - 1).size() : 0);
}

Status CheckFilled(const tensorflow::TensorProto& proto, const Shape& shape, int64_t count, size_t filled_bytes_max) {
  const int64_t given = ElementsGiven(proto);
  if (count <= given) return {};
  if (static_cast<uint64_t>(count - given) <= filled_bytes_max / FilledElementBytes(proto)) return {};
  return InvalidArgument(
      "a tensor of shape {} has {} elements, of which {} are given: filling in the others needs more than {} bytes",
      ToString(shape), count, given, filled_bytes_max);
}

template <typename T, typename Field>
void PutValues(const Tensor& tensor, Field* field) {
  const auto* values = reinterpret_cast<const T*>(tensor.data());
  field->Reserve(static_cast<int>(tensor.elements()));
  for (int64_t i = 0; i < tensor.elements(); ++i) field->AddAlreadyReserved(values[i]);
}

void PutComplex(const Tensor& tensor, tensorflow::TensorProto* proto) {
  const auto* values = reinterpret_cast<const std::complex<float>*>(tensor.data());
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    proto->add_scomplex_val(values[i].real());
    proto->add_scomplex_val(values[i].imag());
  }
}

void PutStrings(const Tensor& tensor, tensorflow::TensorProto* proto) {
  for (const auto& value : tensor.values<std::string>()) proto->add_string_val(value);
}

void PutFields(const Tensor& tensor, tensorflow::TensorProto* proto) {
  switch (tensor.type()) {
    case DType::kFloat: return PutValues<float>(tensor, proto->mutable_float_val());
    case DType::kDouble: return PutValues<double>(tensor, proto->mutable_double_val());
    case DType::kInt32:
    case DType::kQint32: return PutValues<int32_t>(tensor, proto->mutable_int_val());
    case DType::kUint8:
    case DType::kQuint8: return PutValues<uint8_t>(tensor, proto->mutable_int_val());
    case DType::kInt16:
    case DType::kQint16: return PutValues<int16_t>(tensor, proto->mutable_int_val());
    case DType::kInt8:
    case DType::kQint8: return PutValues<int8_t>(tensor, proto->mutable_int_val());
    case DType::kUint16:
    case DType::kQuint16: return PutValues<uint16_t>(tensor, proto->mutable_int_val());
    case DType::kInt64: return PutValues<int64_t>(tensor, proto->mutable_int64_val());
    case DType::kUint32: return PutValues<uint32_t>(tensor, proto->mutable_uint32_val());
    case DType::kUint64: return PutValues<uint64_t>(tensor, proto->mutable_uint64_val());
    case DType::kBool: return PutValues<bool>(tensor, proto->mutable_bool_val());
    case DType::kHalf:
    case DType::kBfloat16: return PutValues<uint16_t>(tensor, proto->mutable_half_val());
    case DType::kComplex64: return PutComplex(tensor, proto);
    case DType::kString: return PutStrings(tensor, proto);
    default: CHECK(false);
  }
}

}  // namespace

Result<Tensor> FromProto(const tensorflow::TensorProto& proto, size_t filled_bytes_max) {
  if (proto.tensor_shape().unknown_rank()) return InvalidArgument("a tensor needs a shape of known rank");
  Shape shape;
  for (const auto& dim : proto.tensor_shape().dim()) shape.push_back(dim.size());
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(shape));
  if (proto.dtype() == tensorflow::DT_STRING && !proto.tensor_content().empty()) {
    return InvalidArgument("tensor_content cannot hold strings");
  }
  RETURN_IF_ERROR(CheckFilled(proto, shape, count, filled_bytes_max));
  ASSIGN_OR_RETURN(Tensor made, Tensor::Make(FromProto(proto.dtype()), std::move(shape)));
  if (!proto.tensor_content().empty()) {
    RETURN_IF_ERROR(FillFromContent(proto.tensor_content(), &made));
  } else {
    RETURN_IF_ERROR(FillFromFields(proto, &made));
  }
  return made;
}

void ToProto(const Tensor& tensor, tensorflow::TensorProto* proto, Encoding encoding) {
  CHECK(tensor.device().kind == Device::Kind::kCpu);
  proto->Clear();
  proto->set_dtype(ToProto(tensor.type()));
  ShapeToProto(tensor.shape(), proto->mutable_tensor_shape());
  if (encoding == Encoding::kContent && ElementBytes(tensor.type()) > 0) {
    proto->set_tensor_content(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  } else {
    PutFields(tensor, proto);
  }
}

std::optional<Shape> PatternFromProto(const tensorflow::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return std::nullopt;
  Shape shape;
  for (const auto& dim : proto.dim()) shape.push_back(dim.size() < 0 ? -1 : dim.size());
  return shape;
}

void ShapeToProto(const Shape& shape, tensorflow::TensorShapeProto* proto) {
  proto->Clear();
  for (const int64_t size : shape) proto->add_dim()->set_size(size);
}

bool Matches(const Shape& shape, const std::optional<Shape>& pattern) {
  const auto fits = [](int64_t size, int64_t wanted) { return wanted < 0 || size == wanted; };
  return !pattern || std::equal(shape.begin(), shape.end(), pattern->begin(), pattern->end(), fits);
}

std::string ToString(const std::optional<Shape>& pattern) { return pattern ? ToString(*pattern) : "<unknown rank>"; }

}  // namespace longshore::tensor

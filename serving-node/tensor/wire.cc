#include "serving-node/tensor/wire.h"

#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstring>

namespace longshore::tensor {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using tensorflow::TensorProto;
using tensorflow::TensorShapeProto;

static_assert(std::endian::native == std::endian::little, "numbers in memory have the byte order of the wire format");

constexpr uint32_t Tag(int field, WireFormatLite::WireType type) {
  return static_cast<uint32_t>(field) << 3 | static_cast<uint32_t>(type);
}
constexpr auto kVarint = WireFormatLite::WIRETYPE_VARINT;
constexpr auto kDelimited = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

// The field of a TensorProto that has the values of this type; 0 if the codec does not handle the type.
int FieldOf(DType type) {
  switch (type) {
    case DType::kFloat: return TensorProto::kFloatValFieldNumber;
    case DType::kDouble: return TensorProto::kDoubleValFieldNumber;
    case DType::kInt32:
    case DType::kQint32:
    case DType::kUint8:
    case DType::kQuint8:
    case DType::kInt16:
    case DType::kQint16:
    case DType::kInt8:
    case DType::kQint8:
    case DType::kUint16:
    case DType::kQuint16: return TensorProto::kIntValFieldNumber;
    case DType::kInt64: return TensorProto::kInt64ValFieldNumber;
    case DType::kUint32: return TensorProto::kUint32ValFieldNumber;
    case DType::kUint64: return TensorProto::kUint64ValFieldNumber;
    case DType::kBool: return TensorProto::kBoolValFieldNumber;
    case DType::kHalf:
    case DType::kBfloat16: return TensorProto::kHalfValFieldNumber;
    case DType::kString: return TensorProto::kStringValFieldNumber;
    default: return 0;
  }
}

// Whether the values of a packed field have the same bytes on the wire as in memory.
bool IsFixed(DType type) { return type == DType::kFloat || type == DType::kDouble; }

// Calls `use` with a null pointer to the C++ type of elements that are varints on the wire.
template <typename Use>
auto ForVarints(DType type, const Use& use) {
  switch (type) {
    case DType::kUint8:
    case DType::kQuint8: return use(static_cast<const uint8_t*>(nullptr));
    case DType::kInt16:
    case DType::kQint16: return use(static_cast<const int16_t*>(nullptr));
    case DType::kInt8:
    case DType::kQint8: return use(static_cast<const int8_t*>(nullptr));
    case DType::kUint16:
    case DType::kQuint16:
    case DType::kHalf:
    case DType::kBfloat16: return use(static_cast<const uint16_t*>(nullptr));
    case DType::kInt64: return use(static_cast<const int64_t*>(nullptr));
    case DType::kUint32: return use(static_cast<const uint32_t*>(nullptr));
    case DType::kUint64: return use(static_cast<const uint64_t*>(nullptr));
    case DType::kBool: return use(static_cast<const bool*>(nullptr));
    default: return use(static_cast<const int32_t*>(nullptr));
  }
}

template <typename T>
bool ReadVarints(CodedInputStream* in, T* out, int64_t count) {
  uint64_t value = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!in->ReadVarint64(&value)) return false;
    if constexpr (std::is_same_v<T, bool>) {
      out[i] = value != 0;
    } else {
      out[i] = static_cast<T>(value);
    }
  }
  return true;
}

bool ReadStrings(CodedInputStream* in, Tensor* made) {
  for (std::string& value : made->mutable_values<std::string>()) {
    uint32_t size = 0;
    if (in->ReadTag() != Tag(TensorProto::kStringValFieldNumber, kDelimited)) return false;
    if (!in->ReadVarint32(&size) || size > INT_MAX || !in->ReadString(&value, static_cast<int>(size))) return false;
  }
  return true;
}

bool AreBools(const Tensor& tensor) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(tensor.data());
  return std::all_of(bytes, bytes + tensor.bytes(), [](unsigned char byte) { return byte <= 1; });
}

// Whether the values can have this many elements. Checked before their memory is allocated, which is at most 16 times
// `size`: a string of 32 bytes in memory has at least two bytes on the wire.
bool CanHold(DType type, bool is_content, size_t size, int64_t count) {
  const auto elements = static_cast<size_t>(count);
  const size_t bytes = ElementBytes(type);
  if (is_content || IsFixed(type)) return bytes > 0 && size % bytes == 0 && elements == size / bytes;
  return elements <= (type == DType::kString ? size / 2 : size);
}

size_t DelimitedBytes(int field, size_t size) { return VarintBytes(Tag(field, kDelimited)) + VarintBytes(size) + size; }

void AppendDelimited(int field, size_t size, std::string* out) {
  AppendVarint(Tag(field, kDelimited), out);
  AppendVarint(size, out);
}

size_t DimBytes(int64_t size) { return size == 0 ? 0 : 1 + VarintBytes(static_cast<uint64_t>(size)); }

size_t ShapeBytes(const Shape& shape) {
  size_t bytes = 0;
  for (const int64_t size : shape) bytes += DelimitedBytes(TensorShapeProto::kDimFieldNumber, DimBytes(size));
  return bytes;
}

void AppendShape(const Shape& shape, std::string* out) {
  for (const int64_t size : shape) {
    AppendDelimited(TensorShapeProto::kDimFieldNumber, DimBytes(size), out);
    if (size == 0) continue;
    AppendVarint(Tag(TensorShapeProto::Dim::kSizeFieldNumber, kVarint), out);
    AppendVarint(static_cast<uint64_t>(size), out);
  }
}

// How the values of a tensor are written.
enum class Form { kNone, kRaw, kVarints, kStrings, kGenerated };

Form FormOf(const Tensor& tensor, Encoding encoding) {
  if (tensor.elements() == 0) return Form::kNone;
  if (tensor.type() == DType::kString) return Form::kStrings;
  if (encoding == Encoding::kContent && ElementBytes(tensor.type()) > 0) return Form::kRaw;
  if (FieldOf(tensor.type()) == 0) return Form::kGenerated;
  return IsFixed(tensor.type()) ? Form::kRaw : Form::kVarints;
}

// The field for values in their form in memory.
int RawFieldOf(const Tensor& tensor, Encoding encoding) {
  return encoding == Encoding::kContent ? int{TensorProto::kTensorContentFieldNumber} : FieldOf(tensor.type());
}

size_t SizeOfVarints(const Tensor& tensor) {
  return ForVarints(tensor.type(), [&]<typename T>(const T*) {
    const auto* values = reinterpret_cast<const T*>(tensor.data());
    size_t bytes = 0;
    for (int64_t i = 0; i < tensor.elements(); ++i) bytes += VarintBytes(static_cast<uint64_t>(values[i]));
    return bytes;
  });
}

void AppendVarints(const Tensor& tensor, std::string* out) {
  ForVarints(tensor.type(), [&]<typename T>(const T*) {
    const auto* values = reinterpret_cast<const T*>(tensor.data());
    for (int64_t i = 0; i < tensor.elements(); ++i) AppendVarint(static_cast<uint64_t>(values[i]), out);
  });
}

size_t HeadBytes(const Tensor& tensor) {
  return 1 + VarintBytes(static_cast<uint64_t>(tensor.type())) +
         DelimitedBytes(TensorProto::kTensorShapeFieldNumber, ShapeBytes(tensor.shape()));
}

void AppendHead(const Tensor& tensor, std::string* out) {
  AppendVarint(Tag(TensorProto::kDtypeFieldNumber, kVarint), out);
  AppendVarint(static_cast<uint64_t>(tensor.type()), out);
  AppendDelimited(TensorProto::kTensorShapeFieldNumber, ShapeBytes(tensor.shape()), out);
  AppendShape(tensor.shape(), out);
}

size_t StringsBytes(const Tensor& tensor) {
  size_t bytes = 0;
  for (const auto& value : tensor.values<std::string>())
    bytes += DelimitedBytes(TensorProto::kStringValFieldNumber, value.size());
  return bytes;
}

// Appends the tensor's buffer. It is copied if it is small, and if it is a part of a larger buffer, which a reference
// would keep alive.
void AppendBuffer(const Tensor& tensor, PiecesBuilder* out) {
  const std::string_view bytes(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  const bool refers = bytes.size() >= PiecesBuilder::kReferredBytesMin && tensor.owns() && !tensor.is_part();
  if (refers) return out->Refer(bytes, std::make_shared<const Tensor>(tensor));
  out->copied() += bytes;
}

// Copies the strings, because a reference to one of them would keep all others alive.
void AppendStrings(const Tensor& tensor, std::string* out) {
  for (const auto& value : tensor.values<std::string>()) {
    AppendDelimited(TensorProto::kStringValFieldNumber, value.size(), out);
    *out += value;
  }
}

}  // namespace

std::optional<WireTensor> WireTensor::Open(const Pieces& pieces, size_t begin, size_t size) {
  WireTensor opened(pieces, begin, size);
  if (opened.OpenExpected()) return opened;
  const auto generated = std::make_shared<TensorProto>();
  if (!ParseBinaryProto(pieces, begin, size, generated.get())) return std::nullopt;
  opened.generated_ = generated;
  opened.type_ = FromProto(generated->dtype());
  opened.shape_ = PatternFromProto(generated->tensor_shape()).value_or(Shape());
  return opened;
}

std::optional<int64_t> WireTensor::elements() const {
  const auto count = ElementCount(shape_);
  return count ? std::optional(*count) : std::nullopt;
}

Result<Tensor> WireTensor::Read(size_t filled_bytes_max) const {
  if (generated_) return FromProto(*generated_, filled_bytes_max);
  if (auto read = ReadExpected()) return std::move(*read);
  TensorProto generated;
  if (!ParseBinaryProto(*pieces_, begin_, size_, &generated)) return InvalidArgument("the bytes are not a TensorProto");
  return FromProto(generated, filled_bytes_max);
}

// Reads what serializers write for usual tensors: the type, the shape, a version, and one field with the values.
// Returns false for everything else.
bool WireTensor::OpenExpected() {
  PiecesReader reader(*pieces_, begin_, size_);
  CodedInputStream& in = reader.in();
  uint64_t number = 0;
  uint32_t length = 0;
  uint32_t tag = in.ReadTag();
  if (tag != Tag(TensorProto::kDtypeFieldNumber, kVarint) || !in.ReadVarint64(&number)) return false;
  type_ = static_cast<DType>(number);
  tag = in.ReadTag();
  if (tag == Tag(TensorProto::kTensorShapeFieldNumber, kDelimited)) {
    if (!ReadShape(&in)) return false;
    tag = in.ReadTag();
  }
  if (tag == Tag(TensorProto::kVersionNumberFieldNumber, kVarint)) {
    if (!in.ReadVarint64(&number)) return false;
    tag = in.ReadTag();
  }
  if (tag == 0) return in.ConsumedEntireMessage();
  is_content_ = tag == Tag(TensorProto::kTensorContentFieldNumber, kDelimited);
  const int field = FieldOf(type_);
  if (!is_content_ && (field == 0 || tag != Tag(field, kDelimited))) return false;
  if (!is_content_ && type_ == DType::kString) {
    values_begin_ = static_cast<size_t>(in.CurrentPosition()) - VarintBytes(tag);
    values_size_ = size_ - values_begin_;
    return true;
  }
  if (!in.ReadVarint32(&length)) return false;
  values_begin_ = static_cast<size_t>(in.CurrentPosition());
  values_size_ = length;
  return values_begin_ + values_size_ == size_;
}

bool WireTensor::ReadShape(CodedInputStream* in) {
  uint32_t length = 0;
  if (!in->ReadVarint32(&length) || length > size_) return false;
  const auto limit = in->PushLimit(static_cast<int>(length));
  while (const uint32_t tag = in->ReadTag()) {
    uint64_t size = 0;
    if (tag != Tag(TensorShapeProto::kDimFieldNumber, kDelimited) || !in->ReadVarint32(&length)) return false;
    const int end = in->CurrentPosition() + static_cast<int>(std::min<size_t>(length, size_));
    if (length > 0) {
      if (in->ReadTag() != Tag(TensorShapeProto::Dim::kSizeFieldNumber, kVarint) || !in->ReadVarint64(&size))
        return false;
    }
    if (in->CurrentPosition() != end) return false;
    shape_.push_back(static_cast<int64_t>(size));
  }
  const bool is_whole = in->ConsumedEntireMessage() && in->BytesUntilLimit() == 0;
  in->PopLimit(limit);
  return is_whole;
}

// Returns nullopt if the values do not fill the shape exactly.
std::optional<Tensor> WireTensor::ReadExpected() const {
  const auto count = elements();
  if (!count || FieldOf(type_) == 0 || !CanHold(type_, is_content_, values_size_, *count)) return std::nullopt;
  if (is_content_ && type_ == DType::kString) return std::nullopt;
  auto made = Tensor::Make(type_, shape_);
  if (!made) return std::nullopt;
  PiecesReader reader(*pieces_, begin_ + values_begin_, values_size_);
  CodedInputStream& in = reader.in();
  bool is_read = false;
  if (is_content_ || IsFixed(type_)) {
    is_read = in.ReadRaw(made->mutable_data(), static_cast<int>(values_size_));
    if (type_ == DType::kBool) is_read = is_read && AreBools(*made);
  } else if (type_ == DType::kString) {
    is_read = ReadStrings(&in, &*made);
  } else {
    is_read = ForVarints(type_, [&]<typename T>(const T*) {
      return ReadVarints(&in, reinterpret_cast<T*>(made->mutable_data()), *count);
    });
  }
  if (!is_read || static_cast<size_t>(in.CurrentPosition()) != values_size_) return std::nullopt;
  return std::move(*made);
}

size_t VarintBytes(uint64_t value) { return static_cast<size_t>(std::bit_width(value | 1) + 6) / 7; }

void AppendVarint(uint64_t value, std::string* out) {
  std::array<char, 10> bytes;  // The longest varint.
  size_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<char>(value | 0x80);
  bytes[count++] = static_cast<char>(value);
  out->append(bytes.data(), count);
}

size_t WireBytes(const Tensor& tensor, Encoding encoding) {
  switch (FormOf(tensor, encoding)) {
    case Form::kNone: return HeadBytes(tensor);
    case Form::kRaw: return HeadBytes(tensor) + DelimitedBytes(RawFieldOf(tensor, encoding), tensor.bytes());
    case Form::kVarints: return HeadBytes(tensor) + DelimitedBytes(FieldOf(tensor.type()), SizeOfVarints(tensor));
    case Form::kStrings: return HeadBytes(tensor) + StringsBytes(tensor);
    case Form::kGenerated: break;
  }
  TensorProto generated;
  ToProto(tensor, &generated, encoding);
  return generated.ByteSizeLong();
}

void AppendTo(const Tensor& tensor, Encoding encoding, PiecesBuilder* out) {
  const Form form = FormOf(tensor, encoding);
  if (form == Form::kGenerated) {
    TensorProto generated;
    ToProto(tensor, &generated, encoding);
    generated.AppendToString(&out->copied());
    return;
  }
  CHECK(tensor.device().kind == Device::Kind::kCpu);
  AppendHead(tensor, &out->copied());
  if (form == Form::kRaw) {
    AppendDelimited(RawFieldOf(tensor, encoding), tensor.bytes(), &out->copied());
    AppendBuffer(tensor, out);
  } else if (form == Form::kVarints) {
    AppendDelimited(FieldOf(tensor.type()), SizeOfVarints(tensor), &out->copied());
    AppendVarints(tensor, &out->copied());
  } else if (form == Form::kStrings) {
    AppendStrings(tensor, &out->copied());
  }
}

}  // namespace longshore::tensor

#include "serving-node/frontend/oip/codec/contents.h"

#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <numeric>
#include <type_traits>

#include "common/binary_proto/binary_proto.h"
#include "serving-node/frontend/oip/codec/datatype.h"
#include "serving-node/tensor/wire.h"

namespace longshore::frontend::oip::codec {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using ::inference::InferTensorContents;
using tensor::DType;
using tensor::Tensor;

constexpr auto kVarint = WireFormatLite::WIRETYPE_VARINT;
constexpr auto kFixed32 = WireFormatLite::WIRETYPE_FIXED32;
constexpr auto kFixed64 = WireFormatLite::WIRETYPE_FIXED64;
constexpr auto kDelimited = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

// The form of one element on the wire; kDelimited for a field that this message does not have.
WireFormatLite::WireType FormOf(int field) {
  if (field == InferTensorContents::kFp32ContentsFieldNumber) return kFixed32;
  if (field == InferTensorContents::kFp64ContentsFieldNumber) return kFixed64;
  return field < InferTensorContents::kFp32ContentsFieldNumber ? kVarint : kDelimited;
}

// Counts the varints in the next `size` bytes. Returns false if the last one is cut off.
bool CountVarints(CodedInputStream* in, int size, int64_t* count) {
  bool ends = true;
  while (size > 0) {
    const void* data = nullptr;
    int here = 0;
    if (!in->GetDirectBufferPointer(&data, &here)) return false;
    here = std::min(here, size);
    const auto* bytes = static_cast<const signed char*>(data);
    *count += std::count_if(bytes, bytes + here, [](signed char byte) { return byte >= 0; });
    ends = bytes[here - 1] >= 0;
    size -= here;
    in->Skip(here);
  }
  return ends;
}

// Counts the elements of a field whose elements have one length for all of them (the packed form).
bool CountPacked(CodedInputStream* in, WireFormatLite::WireType form, int64_t* count) {
  int size = 0;
  if (!ReadSize(in, &size)) return false;
  if (form == kVarint) return CountVarints(in, size, count);
  const int each = form == kFixed32 ? 4 : 8;
  *count += size / each;
  return size % each == 0 && in->Skip(size);
}

// Reads one element.
template <typename Wire>
bool ReadOne(CodedInputStream* in, Wire* value) {
  if constexpr (std::is_floating_point_v<Wire>) {
    return in->ReadRaw(value, sizeof *value);
  } else {
    uint64_t read = 0;
    if (!in->ReadVarint64(&read)) return false;
    if constexpr (std::is_same_v<Wire, bool>) {
      *value = read != 0;
    } else {
      *value = static_cast<Wire>(read);
    }
    return true;
  }
}

// Reads numbers of a fixed size in the packed form, many at once.
template <typename Wire, typename Take>
bool ReadBlocks(CodedInputStream* in, int size, const Take& take) {
  std::array<Wire, 512> block;
  while (size > 0) {
    const int bytes = std::min(size, static_cast<int>(sizeof block));
    if (!in->ReadRaw(block.data(), bytes)) return false;
    if (!std::all_of(block.begin(), block.begin() + bytes / static_cast<int>(sizeof(Wire)), take)) return false;
    size -= bytes;
  }
  return true;
}

// Reads the elements of the packed form.
template <typename Wire, typename Take>
bool ReadPacked(CodedInputStream* in, const Take& take) {
  int size = 0;
  if (!ReadSize(in, &size)) return false;
  if constexpr (std::is_floating_point_v<Wire>) return ReadBlocks<Wire>(in, size, take);
  const int end = in->CurrentPosition() + size;
  Wire value{};
  while (in->CurrentPosition() < end) {
    if (!ReadOne(in, &value) || !take(value)) return false;
  }
  return in->CurrentPosition() == end;
}

// Calls `take(value)` for each element of the field, in their order, until it returns false. Returns whether all have
// been read.
template <typename Wire, typename Take>
bool ForEachElement(CodedInputStream* in, int field, const Take& take) {
  uint32_t tag = 0;
  while (ReadTag(in, &tag)) {
    if (tag == 0) return true;
    bool is_read = false;
    if (tag == WireFormatLite::MakeTag(field, kDelimited)) {
      is_read = ReadPacked<Wire>(in, take);
    } else if (tag == WireFormatLite::MakeTag(field, FormOf(field))) {
      Wire value{};
      is_read = ReadOne(in, &value) && take(value);
    } else {
      is_read = WireFormatLite::SkipField(in, tag);
    }
    if (!is_read) return false;
  }
  return false;
}

tl::unexpected<Error> NotContents(const InputHead& head) {
  return InvalidArgument("the contents of input '{}' are not an InferTensorContents", head.name);
}

// Requires: the field has as many elements as the tensor.
template <typename T, typename Wire>
Status Fill(const InputHead& head, CodedInputStream* in, int field, Tensor* tensor) {
  auto* out = reinterpret_cast<T*>(tensor->mutable_data());
  Wire wrong{};
  bool fits = true;
  const bool is_read = ForEachElement<Wire>(in, field, [&](Wire value) {
    const T element = static_cast<T>(value);
    fits = std::is_same_v<T, Wire> || static_cast<Wire>(element) == value;
    if (!fits) wrong = value;
    *out++ = element;
    return fits;
  });
  if (!fits)
    return InvalidArgument("input '{}': the value {} does not fit into {}", head.name, wrong, DatatypeName(head.type));
  return is_read ? Status() : NotContents(head);
}

Status FillTexts(const InputHead& head, CodedInputStream* in, Tensor* tensor) {
  uint32_t tag = 0;
  int size = 0;
  auto text = tensor->mutable_values<std::string>().begin();
  while (ReadTag(in, &tag) && tag != 0) {
    const bool is_text = tag == WireFormatLite::MakeTag(InferTensorContents::kBytesContentsFieldNumber, kDelimited);
    const bool is_read =
        is_text ? ReadSize(in, &size) && in->ReadString(&*text++, size) : WireFormatLite::SkipField(in, tag);
    if (!is_read) return NotContents(head);
  }
  return {};
}

// The field for elements of a type.
struct Field {
  const char* name;
  int number;
};

Field FieldOf(DType type) {
  switch (type) {
    case DType::kBool: return {"bool_contents", InferTensorContents::kBoolContentsFieldNumber};
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32: return {"int_contents", InferTensorContents::kIntContentsFieldNumber};
    case DType::kInt64: return {"int64_contents", InferTensorContents::kInt64ContentsFieldNumber};
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32: return {"uint_contents", InferTensorContents::kUintContentsFieldNumber};
    case DType::kUint64: return {"uint64_contents", InferTensorContents::kUint64ContentsFieldNumber};
    case DType::kFloat: return {"fp32_contents", InferTensorContents::kFp32ContentsFieldNumber};
    case DType::kDouble: return {"fp64_contents", InferTensorContents::kFp64ContentsFieldNumber};
    default: return {"bytes_contents", InferTensorContents::kBytesContentsFieldNumber};
  }
}

Status FillFrom(const InputHead& head, CodedInputStream* in, Tensor* tensor) {
  const int field = FieldOf(head.type).number;
  switch (head.type) {
    case DType::kBool: return Fill<bool, bool>(head, in, field, tensor);
    case DType::kInt8: return Fill<int8_t, int32_t>(head, in, field, tensor);
    case DType::kInt16: return Fill<int16_t, int32_t>(head, in, field, tensor);
    case DType::kInt32: return Fill<int32_t, int32_t>(head, in, field, tensor);
    case DType::kInt64: return Fill<int64_t, int64_t>(head, in, field, tensor);
    case DType::kUint8: return Fill<uint8_t, uint32_t>(head, in, field, tensor);
    case DType::kUint16: return Fill<uint16_t, uint32_t>(head, in, field, tensor);
    case DType::kUint32: return Fill<uint32_t, uint32_t>(head, in, field, tensor);
    case DType::kUint64: return Fill<uint64_t, uint64_t>(head, in, field, tensor);
    case DType::kFloat: return Fill<float, float>(head, in, field, tensor);
    case DType::kDouble: return Fill<double, double>(head, in, field, tensor);
    default: return FillTexts(head, in, tensor);
  }
}

Status CheckCounts(const InputHead& head, const ElementCounts& counts, int64_t expected) {
  if (head.type == DType::kHalf || head.type == DType::kBfloat16) {
    return InvalidArgument("input '{}' of datatype {} has no typed contents: use raw_input_contents", head.name,
                           DatatypeName(head.type));
  }
  const Field field = FieldOf(head.type);
  const int64_t given = counts[static_cast<size_t>(field.number)];
  if (given != std::accumulate(counts.begin(), counts.end(), int64_t{0})) {
    return InvalidArgument(
        "unexpected explicit tensor data for input tensor '{}' for model '{}' of type '{}': expected "
        "only {}",
        head.name, head.model, DatatypeName(head.type), field.name);
  }
  if (given == expected) return {};
  return InvalidArgument(
      "unable to parse 'contents' of input '{}' for model '{}': {} has {} elements, but the shape {} "
      "has {}",
      head.name, head.model, field.name, given, tensor::ToString(head.shape), expected);
}

}  // namespace

bool ReadTag(CodedInputStream* in, uint32_t* tag) {
  const int begin = in->CurrentPosition();
  *tag = in->ReadTag();
  if (*tag == 0) return in->ConsumedEntireMessage() && in->BytesUntilLimit() == 0;
  return static_cast<size_t>(in->CurrentPosition() - begin) == tensor::VarintBytes(*tag);
}

bool ReadSize(CodedInputStream* in, int* size) {
  const int begin = in->CurrentPosition();
  uint32_t read = 0;
  if (!in->ReadVarint32(&read) || read > INT_MAX) return false;
  *size = static_cast<int>(read);
  return static_cast<size_t>(in->CurrentPosition() - begin) == tensor::VarintBytes(read) &&
         *size <= in->BytesUntilLimit();
}

bool CountElements(CodedInputStream* in, ElementCounts* counts) {
  uint32_t tag = 0;
  while (ReadTag(in, &tag)) {
    if (tag == 0) return true;
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const auto form = WireFormatLite::GetTagWireType(tag);
    const bool is_known = field >= 1 && field < static_cast<int>(counts->size());
    if (is_known && form == kDelimited && FormOf(field) != kDelimited) {
      if (!CountPacked(in, FormOf(field), &(*counts)[static_cast<size_t>(field)])) return false;
      continue;
    }
    if (is_known && form == FormOf(field)) ++(*counts)[static_cast<size_t>(field)];
    if (!WireFormatLite::SkipField(in, tag)) return false;
  }
  return false;
}

Result<Tensor> FromContents(const InputHead& head, const Pieces& bytes, const Contents& contents,
                            ElementBudget* budget) {
  ASSIGN_OR_RETURN(const int64_t count, budget->Take(head));
  RETURN_IF_ERROR(CheckCounts(head, contents.counts, count));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(head.type, head.shape));
  PiecesReader reader(bytes, contents.at.begin, contents.at.size);
  RETURN_IF_ERROR(FillFrom(head, &reader.in(), &tensor));
  return tensor;
}

}  // namespace longshore::frontend::oip::codec

#include "serving-node/frontend/oip/codec/json_values.h"

#include <limits>
#include <type_traits>

#include "serving-node/frontend/oip/codec/datatype.h"
#include "serving-node/frontend/oip/codec/number_lists.h"

namespace longshore::frontend::oip::codec {
namespace {

using json::JsonReader;
using rapidjson::Value;
using tensor::DType;
using tensor::Tensor;

using Event = JsonReader::Event;

// Converts a JSON value to T. Returns false if the value is not of the right kind or does not fit.
template <typename T>
bool To(const Value& value, T* number) {
  if constexpr (std::is_same_v<T, bool>) {
    const bool is_zero_or_one = value.IsUint() && value.GetUint() <= 1;
    if (!value.IsBool() && !is_zero_or_one) return false;
    *number = value.IsBool() ? value.GetBool() : value.GetUint() == 1;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.IsNumber()) return false;
    *number = static_cast<T>(value.GetDouble());
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    if (!value.IsUint64()) return false;
    *number = value.GetUint64();
  } else {
    if (!value.IsInt64()) return false;
    if (value.GetInt64() < std::numeric_limits<T>::min() || value.GetInt64() > std::numeric_limits<T>::max()) {
      return false;
    }
    *number = static_cast<T>(value.GetInt64());
  }
  return true;
}

tl::unexpected<Error> WrongSize(const InputHead& head, int64_t expected) {
  return InvalidArgument(
      "Unable to parse 'data': Shape does not match true shape of 'data' field of input '{}': the shape {} has {} "
      "elements",
      head.name, tensor::ToString(head.shape), expected);
}

tl::unexpected<Error> WrongElement(const JsonReader& at, const InputHead& head) {
  return InvalidArgument("Unable to parse 'data' of input '{}': {} is not a valid {}", head.name, json::ForMessage(at),
                         DatatypeName(head.type));
}

// Calls `take(reader)` for each element of the value, whatever the nesting of its lists.
template <typename Take>
Status ForEachScalar(JsonReader* reader, const InputHead& head, Take take) {
  size_t level = 0;
  do {
    if (reader->event() == Event::kStartArray) {
      ++level;
    } else if (reader->event() == Event::kEndArray) {
      --level;
    } else if (!take(*reader)) {
      return WrongElement(*reader, head);
    }
  } while (level > 0 && reader->Next());
  return {};
}

template <typename T>
Status FillNumbers(JsonReader* reader, const InputHead& head, Tensor* tensor) {
  auto* out = reinterpret_cast<T*>(tensor->mutable_data());
  auto* const end = out + tensor->elements();
  bool is_full = false;
  RETURN_IF_ERROR(ForEachScalar(reader, head, [&](const JsonReader& at) {
    T number{};
    if (at.event() != Event::kScalar || !To(at.scalar(), &number)) return false;
    is_full |= out == end;
    if (out != end) *out++ = number;
    return true;
  }));
  if (out != end || is_full) return WrongSize(head, tensor->elements());
  return {};
}

Status FillTexts(JsonReader* reader, const InputHead& head, Tensor* tensor) {
  const auto texts = tensor->mutable_values<std::string>();
  size_t count = 0;
  RETURN_IF_ERROR(ForEachScalar(reader, head, [&](const JsonReader& at) {
    if (at.event() != Event::kString) return false;
    if (count < texts.size()) texts[count] = at.text();
    ++count;
    return true;
  }));
  if (count != texts.size()) return WrongSize(head, tensor->elements());
  return {};
}

Status FillElements(JsonReader* reader, const InputHead& head, Tensor* tensor) {
  switch (head.type) {
    case DType::kBool: return FillNumbers<bool>(reader, head, tensor);
    case DType::kUint8: return FillNumbers<uint8_t>(reader, head, tensor);
    case DType::kUint16: return FillNumbers<uint16_t>(reader, head, tensor);
    case DType::kUint32: return FillNumbers<uint32_t>(reader, head, tensor);
    case DType::kUint64: return FillNumbers<uint64_t>(reader, head, tensor);
    case DType::kInt8: return FillNumbers<int8_t>(reader, head, tensor);
    case DType::kInt16: return FillNumbers<int16_t>(reader, head, tensor);
    case DType::kInt32: return FillNumbers<int32_t>(reader, head, tensor);
    case DType::kInt64: return FillNumbers<int64_t>(reader, head, tensor);
    case DType::kFloat: return FillNumbers<float>(reader, head, tensor);
    case DType::kDouble: return FillNumbers<double>(reader, head, tensor);
    case DType::kString: return FillTexts(reader, head, tensor);
    default:
      return InvalidArgument(
          "sending {} data via JSON is not supported. Please use the binary data format for input '{}'",
          DatatypeName(head.type), head.name);
  }
}

}  // namespace

Result<std::string> ReadText(const JsonReader& reader, std::string_view what) {
  if (IsNull(reader)) return std::string();
  if (reader.event() != Event::kString) return InvalidArgument("'{}' is not a JSON string", what);
  return std::string(reader.text());
}

Result<tensor::Shape> ReadShape(JsonReader* reader, std::string_view input) {
  tensor::Shape shape;
  const Status read = ForEachElement(reader, "shape", [&]() -> Status {
    const bool is_size = reader->event() == Event::kScalar && reader->scalar().IsInt64();
    if (!is_size || shape.size() == size_t{tensor::kRankMax}) {
      return InvalidArgument("Unable to parse 'shape' of input '{}': it must be a list of at most {} integers", input,
                             tensor::kRankMax);
    }
    shape.push_back(reader->scalar().GetInt64());
    return {};
  });
  if (!read) return tl::make_unexpected(read.error());
  return shape;
}

Result<Parameter> ReadParameter(JsonReader* reader, std::string_view name) {
  if (reader->event() == Event::kString) return std::string(reader->text());
  const bool is_scalar = reader->event() == Event::kScalar;
  if (is_scalar && reader->scalar().IsBool()) return reader->scalar().GetBool();
  if (is_scalar && reader->scalar().IsInt64()) return reader->scalar().GetInt64();
  if (is_scalar && reader->scalar().IsUint64()) return reader->scalar().GetUint64();
  if (is_scalar && reader->scalar().IsDouble()) return reader->scalar().GetDouble();
  return InvalidArgument("parameter '{}' has invalid type. It should be either 'int', 'bool', or 'string'.",
                         json::Shown(name));
}

Result<Tensor> ReadData(JsonReader* reader, const InputHead& head, size_t scalars, ElementBudget* budget) {
  ASSIGN_OR_RETURN(const int64_t count, budget->Take(head));
  if (static_cast<size_t>(count) > scalars) return WrongSize(head, count);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(head.type, head.shape));
  // Most tensors are lists of numbers. FillFromList reads them a few times faster than a JsonReader, which reports
  // errors.
  if (FillFromList(reader->json().substr(reader->offset()), &tensor) != nullptr) return tensor;
  RETURN_IF_ERROR(FillElements(reader, head, &tensor));
  return tensor;
}

Result<Tensor> ReadList(std::string_view list, const InputHead& head, ElementBudget* budget) {
  ASSIGN_OR_RETURN(const int64_t count, budget->Take(head));
  // Each number takes at least two bytes with the comma or the bracket after it.
  if (static_cast<size_t>(count) > list.size() / 2) return WrongSize(head, count);
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(head.type, head.shape));
  if (FillFromList(list, &tensor) != list.data() + list.size()) return WrongSize(head, count);
  return tensor;
}

}  // namespace longshore::frontend::oip::codec

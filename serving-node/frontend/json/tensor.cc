#include "serving-node/frontend/json/tensor.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace longshore::frontend::json {
namespace {

using rapidjson::Value;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

using Event = JsonReader::Event;

tl::unexpected<Error> TypeError(const JsonReader& at, DType type) {
  return InvalidArgument("JSON Value: {} Type: {} is not of expected type: {}", ForMessage(at), JsonTypeName(at),
                         tensor::ShortName(type));
}

// Returns the sizes of the nested lists that contain the value's first scalar, the outermost first. The size of a list
// is known only at its end, so one pass over the value counts the elements of all these lists.
Shape ShapeOf(const JsonReader& at) {
  if (at.event() != Event::kStartArray) return {};
  JsonReader reader(at.json(), at.offset());
  Shape shape;
  size_t level = 0;  // How many lists are around the next event.
  size_t open = 0;   // How many of the lists around the first scalar are still open.
  while (reader.Next() && shape.size() <= size_t{tensor::kRankMax}) {
    if (reader.event() == Event::kStartArray) {
      const bool is_first = level == shape.size() && level == open && (level == 0 || shape.back() == 0);
      ++level;
      if (is_first) shape.push_back(0);
      if (is_first) open = level;
      continue;
    }
    if (reader.event() == Event::kEndArray) open = std::min(open, --level);
    reader.SkipRest();  // An object is skipped and counts as a scalar.
    if (level == 0) break;
    if (level <= open) ++shape[level - 1];
  }
  return shape;
}

template <typename T>
void AppendNumber(T value, std::string* content) {
  content->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Appends a number of the type. Returns false if the JSON value is not the kind of number that the type needs.
bool AppendNumberAs(DType type, const Value& value, std::string* content) {
  switch (type) {
    case DType::kFloat: return value.IsNumber() && (AppendNumber(static_cast<float>(value.GetDouble()), content), true);
    case DType::kDouble: return value.IsNumber() && (AppendNumber(value.GetDouble(), content), true);
    case DType::kInt32: return value.IsInt() && (AppendNumber(value.GetInt(), content), true);
    case DType::kInt16: return value.IsInt() && (AppendNumber(static_cast<int16_t>(value.GetInt()), content), true);
    case DType::kInt8: return value.IsInt() && (AppendNumber(static_cast<int8_t>(value.GetInt()), content), true);
    case DType::kUint8: return value.IsInt() && (AppendNumber(static_cast<uint8_t>(value.GetInt()), content), true);
    case DType::kInt64: return value.IsInt64() && (AppendNumber(value.GetInt64(), content), true);
    case DType::kUint32: return value.IsUint() && (AppendNumber(value.GetUint(), content), true);
    case DType::kUint64: return value.IsUint64() && (AppendNumber(value.GetUint64(), content), true);
    case DType::kBool: return value.IsBool() && (AppendNumber(value.GetBool(), content), true);
    default: return false;
  }
}

bool HasJsonForm(DType type) {
  switch (type) {
    case DType::kFloat:
    case DType::kDouble:
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUint8:
    case DType::kInt64:
    case DType::kUint32:
    case DType::kUint64:
    case DType::kBool:
    case DType::kString: return true;
    default: return false;
  }
}

}  // namespace

Tensor TensorOf(DType type, Shape shape, std::string numbers) {
  const auto held = std::make_shared<std::string>(std::move(numbers));
  return Tensor::Wrap(type, std::move(shape), reinterpret_cast<std::byte*>(held->data()), held);
}

Status TensorBuilder::Append(JsonReader* reader) {
  const Shape shape = ShapeOf(*reader);
  if (shape.size() > size_t{tensor::kRankMax}) {
    return InvalidArgument("Lists are nested more than {} levels deep", tensor::kRankMax);
  }
  if (values_ == 0) Reserve(shape);
  const int64_t before = elements_;
  RETURN_IF_ERROR(AppendAll(reader, shape));
  const int64_t added = elements_ - before;
  if (values_++ == 0) {
    shape_ = shape;
    elements_first_ = added;
    return {};
  }
  if (added != elements_first_) {
    return InvalidArgument("Expecting tensor size: {} but got: {}", elements_first_, added);
  }
  if (shape != shape_)
    return InvalidArgument("Expecting shape {} but got: {}", tensor::ToString(shape_), tensor::ToString(shape));
  return {};
}

void TensorBuilder::Reserve(const Shape& shape) {
  size_t elements = expected_.values;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(elements, static_cast<size_t>(size), &elements)) elements = SIZE_MAX;
  }
  elements = std::min(elements, *expected_.elements_left);
  *expected_.elements_left -= elements;
  if (type_ == DType::kString) {
    strings_.reserve(elements);
  } else {
    content_.reserve(elements * tensor::ElementBytes(type_));
  }
}

Status TensorBuilder::AppendAll(JsonReader* reader, const Shape& shape) {
  std::vector<int64_t> sizes;  // For each open list, the number of its elements so far.
  do {
    const size_t level = sizes.size();
    if (reader->event() == Event::kStartArray) {
      if (level >= shape.size()) {
        return InvalidArgument("Encountered list at unexpected level: {} expected < {}", level, shape.size());
      }
      sizes.push_back(0);
      continue;
    }
    if (reader->event() == Event::kEndArray) {
      if (sizes.back() != shape[level - 1]) {
        return InvalidArgument("Encountered list at unexpected size: {} at level: {} expected size: {}", sizes.back(),
                               level - 1, shape[level - 1]);
      }
      sizes.pop_back();
    } else {
      if (level != shape.size()) {
        return InvalidArgument("JSON Value: {} found at incorrect level: {} in the JSON DOM. Expected at level: {}",
                               ForMessage(*reader), level + 1, shape.size());
      }
      ++elements_;
      RETURN_IF_ERROR(AppendElement(reader));
    }
    if (!sizes.empty()) ++sizes.back();
  } while (!sizes.empty() && reader->Next());
  return {};
}

Status TensorBuilder::AppendElement(JsonReader* reader) {
  if (!HasJsonForm(type_)) {
    return Unimplemented("Conversion of JSON Value: {} to type: {}", ForMessage(*reader), tensor::ShortName(type_));
  }
  if (type_ == DType::kString) return AppendBytes(reader);
  if (reader->event() != Event::kScalar || !AppendNumberAs(type_, reader->scalar(), &content_)) {
    return TypeError(*reader, type_);
  }
  return {};
}

Status TensorBuilder::AppendBytes(JsonReader* reader) {
  if (reader->event() == Event::kString) {
    strings_.emplace_back(reader->text());
    return {};
  }
  if (reader->event() != Event::kStartObject) return TypeError(*reader, type_);
  if (!IsBase64Object(*reader)) {
    return InvalidArgument("JSON Value: {} not formatted correctly for base64 data", ForMessage(*reader));
  }
  ASSIGN_OR_RETURN(std::string bytes, ReadBase64Object(reader));
  strings_.push_back(std::move(bytes));
  return {};
}

Result<Tensor> TensorBuilder::TakeValue() { return Take(shape_); }

Result<Tensor> TensorBuilder::TakeRows() {
  Shape shape = {values_};
  shape.insert(shape.end(), shape_.begin(), shape_.end());
  return Take(shape);
}

Result<Tensor> TensorBuilder::Take(const Shape& shape) {
  if (shape.size() > size_t{tensor::kRankMax})
    return InvalidArgument("Lists are nested more than {} levels deep", tensor::kRankMax);
  if (type_ != DType::kString) return TensorOf(type_, shape, std::exchange(content_, {}));
  const auto held = std::make_shared<std::vector<std::string>>(std::exchange(strings_, {}));
  return Tensor::Wrap(type_, shape, reinterpret_cast<std::byte*>(held->data()), held);
}

}  // namespace longshore::frontend::json

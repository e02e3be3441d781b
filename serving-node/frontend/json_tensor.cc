#include "serving-node/frontend/json_tensor.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "serving-node/frontend/base64.h"
#include "serving-node/tensor/proto.h"

namespace longshore::frontend {
namespace {

using rapidjson::Value;
using tensor::DType;
using tensor::Shape;

constexpr size_t kMessageValueBytesMax = 256;

// Stops the walk over a value once there is enough text, and with it the walk's recursion: every level writes a byte.
class BoundedWriter {
 public:
  using Ch = char;
  bool Null() { return writer_.Null() && HasRoom(); }
  bool Bool(bool value) { return writer_.Bool(value) && HasRoom(); }
  bool Int(int value) { return writer_.Int(value) && HasRoom(); }
  bool Uint(unsigned value) { return writer_.Uint(value) && HasRoom(); }
  bool Int64(int64_t value) { return writer_.Int64(value) && HasRoom(); }
  bool Uint64(uint64_t value) { return writer_.Uint64(value) && HasRoom(); }
  bool Double(double value) {
    if (std::isfinite(value)) return writer_.Double(value) && HasRoom();
    const std::string_view word = std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
    return writer_.RawValue(word.data(), word.size(), rapidjson::kNumberType) && HasRoom();
  }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool copy) {
    return writer_.RawNumber(text, length, copy) && HasRoom();
  }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return writer_.String(text, std::min<rapidjson::SizeType>(length, kMessageValueBytesMax)) && HasRoom();
  }
  bool Key(const char* text, rapidjson::SizeType length, bool copy) { return String(text, length, copy); }
  bool StartObject() { return writer_.StartObject() && HasRoom(); }
  bool EndObject(rapidjson::SizeType) { return writer_.EndObject() && HasRoom(); }
  bool StartArray() { return writer_.StartArray() && HasRoom(); }
  bool EndArray(rapidjson::SizeType) { return writer_.EndArray() && HasRoom(); }

  std::string text() const { return {buffer_.GetString(), std::min(buffer_.GetSize(), kMessageValueBytesMax)}; }

 private:
  bool HasRoom() const { return buffer_.GetSize() < kMessageValueBytesMax; }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

const char* JsonTypeName(const Value& value) {
  static constexpr const char* kNames[] = {"Null", "False", "True", "Object", "Array", "String", "Number"};
  return kNames[value.GetType()];
}

tl::unexpected<Error> TypeError(const Value& value, DType type) {
  return InvalidArgument("JSON Value: {} Type: {} is not of expected type: {}", ForMessage(value), JsonTypeName(value),
                         TypeName(type));
}

Shape ShapeOf(const Value& value) {
  Shape shape;
  for (const Value* each = &value; each->IsArray(); each = each->Begin()) {
    shape.push_back(each->Size());
    if (each->Empty() || shape.size() > size_t{tensor::kRankMax}) break;
  }
  return shape;
}

template <typename T>
void AppendNumber(T value, std::string* content) {
  content->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// False when the JSON value does not have the kind of number that the type wants.
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

std::string ForMessage(const Value& value) {
  BoundedWriter writer;
  value.Accept(writer);
  return writer.text();
}

std::string TypeName(DType type) {
  std::string name(tensor::DTypeName(type).substr(3));  // Without "DT_".
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

bool IsBase64Object(const Value& value) {
  if (!value.IsObject() || value.MemberCount() != 1) return false;
  const auto& member = *value.MemberBegin();
  return member.name == "b64" && member.value.IsString();
}

Status TensorBuilder::Append(const Value& value) {
  const Shape shape = ShapeOf(value);
  if (shape.size() > size_t{tensor::kRankMax}) {
    return InvalidArgument("Lists are nested more than {} levels deep", tensor::kRankMax);
  }
  const int64_t before = elements_;
  RETURN_IF_ERROR(AppendList(value, 0, shape));
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

Status TensorBuilder::AppendList(const Value& value, size_t level, const Shape& shape) {
  if (!value.IsArray()) {
    if (level != shape.size()) {
      return InvalidArgument("JSON Value: {} found at incorrect level: {} in the JSON DOM. Expected at level: {}",
                             ForMessage(value), level + 1, shape.size());
    }
    ++elements_;
    return AppendScalar(value);
  }
  if (level >= shape.size()) {
    return InvalidArgument("Encountered list at unexpected level: {} expected < {}", level, shape.size());
  }
  if (value.Size() != shape[level]) {
    return InvalidArgument("Encountered list at unexpected size: {} at level: {} expected size: {}", value.Size(),
                           level, shape[level]);
  }
  for (const Value& each : value.GetArray()) RETURN_IF_ERROR(AppendList(each, level + 1, shape));
  return {};
}

Status TensorBuilder::AppendScalar(const Value& value) {
  if (!HasJsonForm(type_)) {
    return Unimplemented("Conversion of JSON Value: {} to type: {}", ForMessage(value), TypeName(type_));
  }
  if (type_ == DType::kString) return AppendBytes(value);
  if (!AppendNumberAs(type_, value, &content_)) return TypeError(value, type_);
  return {};
}

Status TensorBuilder::AppendBytes(const Value& value) {
  if (value.IsString()) {
    strings_.add_string_val(value.GetString(), value.GetStringLength());
    return {};
  }
  if (!value.IsObject()) return TypeError(value, type_);
  if (!IsBase64Object(value)) {
    return InvalidArgument("JSON Value: {} not formatted correctly for base64 data", ForMessage(value));
  }
  const Value& text = value.MemberBegin()->value;
  auto bytes = FromBase64({text.GetString(), text.GetStringLength()});
  if (!bytes) return InvalidArgument("Unable to base64 decode");
  strings_.add_string_val(std::move(*bytes));
  return {};
}

void TensorBuilder::MoveValueTo(tensorflow::TensorProto* proto) { MoveTo(shape_, proto); }

void TensorBuilder::MoveRowsTo(tensorflow::TensorProto* proto) {
  Shape shape = {values_};
  shape.insert(shape.end(), shape_.begin(), shape_.end());
  MoveTo(shape, proto);
}

void TensorBuilder::MoveTo(const Shape& shape, tensorflow::TensorProto* proto) {
  *proto = std::exchange(strings_, {});
  proto->set_dtype(tensor::ToProto(type_));
  tensor::ShapeToProto(shape, proto->mutable_tensor_shape());
  if (!content_.empty()) proto->set_tensor_content(std::move(content_));
}

}  // namespace longshore::frontend

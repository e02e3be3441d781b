#include "serving-node/frontend/json_numbers.h"

#include <simdjson.h>

#include <array>
#include <cmath>
#include <limits>

#include "serving-node/tensor/proto.h"

namespace longshore::frontend {
namespace {

namespace ondemand = simdjson::ondemand;
using tensor::DType;

constexpr size_t kLevelsMax = 16;

struct Keys {
  std::string_view numbers;  // "instances" or "inputs".
  std::string signature;
};

// The keys of the body, when there are no others and none twice.
std::optional<Keys> ReadKeys(ondemand::document& document) {
  Keys keys;
  bool named = false;
  ondemand::object object;
  if (document.get_object().get(object)) return std::nullopt;
  for (auto field : object) {
    std::string_view key;
    if (field.unescaped_key().get(key)) return std::nullopt;
    if (key == "signature_name" && !named) {
      std::string_view name;
      if (field.value().get_string().get(name)) return std::nullopt;
      keys.signature = name;
      named = true;
    } else if ((key == "instances" || key == "inputs") && keys.numbers.empty()) {
      keys.numbers = key == "inputs" ? "inputs" : "instances";
    } else {
      return std::nullopt;
    }
  }
  if (keys.numbers.empty()) return std::nullopt;
  return keys;
}

// Nested lists of numbers of one type, appended to `content` as a tensor has them in memory.
template <typename T>
class ListReader {
 public:
  explicit ListReader(std::string* content) : content_(*content) {}

  // False for lists that are empty, ragged or too deep, and for elements that are no such number.
  bool Read(ondemand::array list) { return ReadLevel(list, 0); }
  tensor::Shape shape() const { return {sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(levels_)}; }

 private:
  bool ReadLevel(ondemand::array& list, size_t level) {
    if (level == kLevelsMax) return false;
    int64_t size = 0;
    for (auto element : list) {
      ++size;
      if (!ReadElement(element, level)) return false;
    }
    if (size == 0 || (sizes_[level] != 0 && sizes_[level] != size)) return false;
    sizes_[level] = size;
    return true;
  }

  bool ReadElement(simdjson::simdjson_result<ondemand::value>& element, size_t level) {
    if (level + 1 == levels_) return ReadNumber(element);
    if (levels_ == 0) {
      ondemand::json_type type{};
      if (element.type().get(type)) return false;
      if (type != ondemand::json_type::array) {
        levels_ = level + 1;
        return ReadNumber(element);
      }
    }
    ondemand::array inner;
    return !element.get_array().get(inner) && ReadLevel(inner, level + 1);
  }

  bool ReadNumber(simdjson::simdjson_result<ondemand::value>& element) {
    T number{};
    if (!Get(element, &number)) return false;
    content_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return true;
  }

  static bool Get(simdjson::simdjson_result<ondemand::value>& element, T* number) {
    if constexpr (std::is_floating_point_v<T>) {
      double value = 0;
      if (element.get_double().get(value)) return false;
      if (value == 0 && std::signbit(value))
        return false;  // "-0" is an integer to the other way, and has no sign there.
      *number = static_cast<T>(value);
      return true;
    } else if constexpr (sizeof(T) == 8) {
      return !element.get_int64().get(*number);
    } else {
      int64_t value = 0;
      if (element.get_int64().get(value)) return false;
      if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) return false;
      *number = static_cast<T>(value);  // Small types wrap, as TensorFlow Serving's do.
      return true;
    }
  }

  std::string& content_;
  size_t levels_ = 0;  // 0 until the first number.
  std::array<int64_t, kLevelsMax> sizes_{};
};

template <typename T>
bool ReadTensor(ondemand::array list, tensorflow::TensorProto* proto) {
  ListReader<T> reader(proto->mutable_tensor_content());
  if (!reader.Read(list)) return false;
  tensor::ShapeToProto(reader.shape(), proto->mutable_tensor_shape());
  return true;
}

bool ReadAs(tensorflow::DataType type, ondemand::array list, tensorflow::TensorProto* proto) {
  proto->set_dtype(type);
  switch (tensor::FromProto(type)) {
    case DType::kFloat: return ReadTensor<float>(list, proto);
    case DType::kDouble: return ReadTensor<double>(list, proto);
    case DType::kInt32: return ReadTensor<int32_t>(list, proto);
    case DType::kInt64: return ReadTensor<int64_t>(list, proto);
    case DType::kUint8: return ReadTensor<uint8_t>(list, proto);
    case DType::kInt8: return ReadTensor<int8_t>(list, proto);
    default: return false;
  }
}

}  // namespace

std::optional<JsonForm> NumbersFromJson(std::string* body, const FindSignature& find_signature,
                                        tensorflow::serving::PredictRequest* request) {
  if (body->capacity() < body->size() + simdjson::SIMDJSON_PADDING)
    body->reserve(body->size() + simdjson::SIMDJSON_PADDING);
  ondemand::parser parser;
  ondemand::document document;
  if (parser.iterate(body->data(), body->size(), body->capacity()).get(document)) return std::nullopt;
  const auto keys = ReadKeys(document);
  if (!keys) return std::nullopt;
  const auto signature = find_signature(keys->signature.empty() ? "serving_default" : keys->signature);
  if (!signature || (*signature)->inputs_size() != 1) return std::nullopt;
  document.rewind();
  ondemand::array list;
  if (document.find_field_unordered(keys->numbers).get_array().get(list)) return std::nullopt;
  const auto& [name, info] = *(*signature)->inputs().begin();
  tensorflow::TensorProto proto;
  if (!ReadAs(info.dtype(), list, &proto)) return std::nullopt;
  auto* spec = request->mutable_model_spec();
  if (!keys->signature.empty()) spec->set_signature_name(keys->signature);
  (*request->mutable_inputs())[name] = std::move(proto);
  return keys->numbers == "instances" ? JsonForm::kRow : JsonForm::kColumnar;
}

}  // namespace longshore::frontend

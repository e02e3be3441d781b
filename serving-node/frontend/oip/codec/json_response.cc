#include "serving-node/frontend/oip/codec/json_response.h"

#include <charconv>
#include <string_view>
#include <type_traits>

#include "common/base/text.h"
#include "serving-node/frontend/json/text.h"
#include "serving-node/frontend/oip/codec/datatype.h"
#include "serving-node/frontend/oip/codec/raw.h"

namespace longshore::frontend::oip::codec {
namespace {

using tensor::DType;
using tensor::Tensor;

void AppendElement(bool value, std::string* out) { out->append(value ? "true" : "false"); }
void AppendElement(float value, std::string* out) { json::AppendFloat(value, out); }
void AppendElement(double value, std::string* out) { json::AppendFloat(value, out); }
void AppendElement(const std::string& value, std::string* out) { json::AppendString(value, out); }
template <typename T>
void AppendElement(T value, std::string* out) {
  char text[24];
  // As a 64-bit number, because an 8-bit one would be a character.
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  const auto written = std::to_chars(text, text + sizeof text, static_cast<Wide>(value));
  out->append(text, written.ptr);
}

template <typename T>
void AppendList(const Tensor& tensor, std::string* out) {
  out->push_back('[');
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    if (i > 0) out->push_back(',');
    AppendElement(reinterpret_cast<const T*>(tensor.data())[i], out);
  }
  out->push_back(']');
}

Status CheckUtf8(const InferOutput& output) {
  for (const std::string& text : output.values.values<std::string>()) {
    if (json::IsUtf8(text)) continue;
    return InvalidArgument(
        "output '{}' has bytes that are not valid UTF-8, which JSON cannot represent. Please use the binary data "
        "format",
        output.name);
  }
  return {};
}

Status AppendData(const InferOutput& output, std::string* out) {
  const Tensor& tensor = output.values;
  if (tensor.type() == DType::kString) RETURN_IF_ERROR(CheckUtf8(output));
  switch (tensor.type()) {
    case DType::kBool: AppendList<bool>(tensor, out); return {};
    case DType::kUint8: AppendList<uint8_t>(tensor, out); return {};
    case DType::kUint16: AppendList<uint16_t>(tensor, out); return {};
    case DType::kUint32: AppendList<uint32_t>(tensor, out); return {};
    case DType::kUint64: AppendList<uint64_t>(tensor, out); return {};
    case DType::kInt8: AppendList<int8_t>(tensor, out); return {};
    case DType::kInt16: AppendList<int16_t>(tensor, out); return {};
    case DType::kInt32: AppendList<int32_t>(tensor, out); return {};
    case DType::kInt64: AppendList<int64_t>(tensor, out); return {};
    case DType::kFloat: AppendList<float>(tensor, out); return {};
    case DType::kDouble: AppendList<double>(tensor, out); return {};
    case DType::kString: AppendList<std::string>(tensor, out); return {};
    default:
      return InvalidArgument(
          "sending {} data via JSON is not supported. Please use the binary data format for output '{}'",
          DatatypeName(tensor.type()), output.name);
  }
}

void AppendMember(std::string_view name, std::string_view value, std::string* out) {
  json::AppendString(name, out);
  out->push_back(':');
  json::AppendString(ValidUtf8(value), out);
}

// Appends the JSON of an output; its elements go to `binary` if they follow the JSON.
Status AppendOutput(const InferOutput& output, std::string* out, std::string* binary) {
  out->push_back('{');
  AppendMember("name", output.name, out);
  out->push_back(',');
  AppendMember("datatype", DatatypeName(output.values.type()), out);
  out->append(",\"shape\":").append(tensor::ToString(output.values.shape()));
  if (output.binary_data) {
    const std::string bytes = ToRaw(output.values);
    out->append(",\"parameters\":{\"binary_data_size\":").append(std::to_string(bytes.size())).append("}}");
    binary->append(bytes);
    return {};
  }
  out->append(",\"data\":");
  RETURN_IF_ERROR(AppendData(output, out));
  out->push_back('}');
  return {};
}

}  // namespace

Result<InferBody> ToBody(const InferAnswer& answer) {
  InferBody body;
  std::string& json = body.bytes;
  std::string binary;
  json = "{";
  if (!answer.id.empty()) {
    AppendMember("id", answer.id, &json);
    json.push_back(',');
  }
  AppendMember("model_name", answer.model, &json);
  json.push_back(',');
  AppendMember("model_version", answer.version, &json);
  json.append(",\"outputs\":[");
  bool has_binary = false;
  for (const InferOutput& output : answer.outputs) {
    if (json.back() != '[') json.push_back(',');
    RETURN_IF_ERROR(AppendOutput(output, &json, &binary));
    has_binary |= output.binary_data;
  }
  json.append("]}");
  if (has_binary) body.json_bytes = json.size();
  json.append(binary);
  return body;
}

}  // namespace longshore::frontend::oip::codec

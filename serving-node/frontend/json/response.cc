#include "serving-node/frontend/json/response.h"

#include <google/protobuf/util/json_util.h>

#include <charconv>
#include <cmath>

#include "common/base/base64.h"
#include "serving-node/frontend/json/reader.h"
#include "serving-node/frontend/json/tensor.h"
#include "serving-node/frontend/json/text.h"
#include "serving-node/tensor/half.h"

namespace longshore::frontend::json {
namespace {

using tensor::DType;
using tensor::Tensor;

template <typename T>
void WriteInteger(T value, std::string* out) {
  char text[24];
  const auto written = std::to_chars(text, text + sizeof text, value);
  out->append(text, written.ptr);
}

void WriteBytes(const std::string& bytes, bool base64, std::string* out) {
  if (!base64) return AppendString(bytes, out);
  out->append("{\"b64\": \"").append(ToBase64(bytes)).append("\"}");
}

// Writes one output of a model, element by element.
class TensorWriter {
 public:
  TensorWriter(std::string_view name, const Tensor& tensor, JsonBytes bytes)
      : tensor_(tensor), base64_(name.ends_with("_bytes")), by_content_(bytes == JsonBytes::kByContent) {}

  static bool CanWrite(DType type) {
    switch (type) {
      case DType::kFloat:
      case DType::kDouble:
      case DType::kHalf:
      case DType::kBfloat16:
      case DType::kInt32:
      case DType::kInt16:
      case DType::kInt8:
      case DType::kUint8:
      case DType::kUint16:
      case DType::kInt64:
      case DType::kUint32:
      case DType::kUint64:
      case DType::kBool:
      case DType::kString: return true;
      default: return false;
    }
  }

  // Writes the dimensions from `axis` on, beginning with the element at `offset`. The depth of the recursion is the
  // rank.
  void Write(int axis, int64_t offset, std::string* out) const {
    if (axis == tensor_.rank()) return WriteElement(static_cast<size_t>(offset), out);
    int64_t stride = 1;
    for (int i = axis + 1; i < tensor_.rank(); ++i) stride *= tensor_.dim(i);
    out->push_back('[');
    for (int64_t i = 0; i < tensor_.dim(axis); ++i) {
      if (i > 0) out->append(", ");
      Write(axis + 1, offset + i * stride, out);
    }
    out->push_back(']');
  }

  void WriteRow(int64_t row, std::string* out) const {
    Write(1, row * (tensor_.dim(0) == 0 ? 0 : tensor_.elements() / tensor_.dim(0)), out);
  }

 private:
  template <typename T>
  T At(size_t index) const {
    T value;
    std::memcpy(&value, tensor_.data() + index * sizeof(T), sizeof(T));
    return value;
  }

  void WriteElement(size_t index, std::string* out) const {
    switch (tensor_.type()) {
      case DType::kFloat: return AppendFloat(At<float>(index), out);
      case DType::kDouble: return AppendFloat(At<double>(index), out);
      case DType::kHalf: return AppendFloat(tensor::HalfToFloat(At<uint16_t>(index)), out);
      case DType::kBfloat16: return AppendFloat(tensor::Bfloat16ToFloat(At<uint16_t>(index)), out);
      case DType::kInt32: return WriteInteger(At<int32_t>(index), out);
      case DType::kInt16: return WriteInteger(At<int16_t>(index), out);
      case DType::kInt8: return WriteInteger(int{At<int8_t>(index)}, out);
      case DType::kUint8: return WriteInteger(int{At<uint8_t>(index)}, out);
      case DType::kUint16: return WriteInteger(At<uint16_t>(index), out);
      case DType::kInt64: return WriteInteger(At<int64_t>(index), out);
      case DType::kUint32: return WriteInteger(At<uint32_t>(index), out);
      case DType::kUint64: return WriteInteger(At<uint64_t>(index), out);
      case DType::kBool: out->append(At<bool>(index) ? "true" : "false"); return;
      case DType::kString: return WriteText(tensor_.values<std::string>()[index], out);
      default: CHECK(false);  // CanWrite returns false for other types.
    }
  }

  void WriteText(const std::string& text, std::string* out) const {
    WriteBytes(text, base64_ || (by_content_ && !IsUtf8(text)), out);
  }

  const Tensor& tensor_;
  const bool base64_;
  const bool by_content_;
};

Status CheckWritable(const engine::TensorMap& outputs) {
  if (outputs.empty()) return InvalidArgument("Cannot convert empty tensor map to JSON");
  for (const auto& [name, tensor] : outputs) {
    if (!TensorWriter::CanWrite(tensor.type())) {
      return InvalidArgument("Tensor name: {} has unsupported tensor type: {}", name, tensor::ShortName(tensor.type()));
    }
  }
  return {};
}

Result<int64_t> RowCount(const engine::TensorMap& outputs) {
  int64_t rows = -1;
  for (const auto& [name, tensor] : outputs) {
    if (tensor.rank() == 0) return InvalidArgument("Tensor name: {} has no shape information ", name);
    if (rows >= 0 && tensor.dim(0) != rows) {
      return InvalidArgument("Tensor name: {} has inconsistent batch size: {} expecting batch size: {}", name,
                             tensor.dim(0), rows);
    }
    rows = tensor.dim(0);
  }
  return rows;
}

void WriteRow(const engine::TensorMap& outputs, int64_t row, JsonBytes bytes, std::string* out) {
  if (outputs.size() == 1) {
    const auto& [name, tensor] = *outputs.begin();
    return TensorWriter(name, tensor, bytes).WriteRow(row, out);
  }
  out->append("{\n");
  const char* separator = "            ";
  for (const auto& [name, tensor] : outputs) {
    out->append(separator);
    separator = ",\n            ";
    AppendString(name, out);
    out->append(": ");
    TensorWriter(name, tensor, bytes).WriteRow(row, out);
  }
  out->append("\n        }");
}

Result<std::string> RowsToJson(const engine::TensorMap& outputs, JsonBytes bytes) {
  ASSIGN_OR_RETURN(const int64_t rows, RowCount(outputs));
  std::string out = "{\n    \"predictions\": [";
  for (int64_t row = 0; row < rows; ++row) {
    if (row > 0) out.append(", ");
    WriteRow(outputs, row, bytes, &out);
  }
  return out.append("\n    ]\n}");
}

std::string ColumnsToJson(const engine::TensorMap& outputs, JsonBytes bytes) {
  std::string out = "{\n    \"outputs\": ";
  if (outputs.size() == 1) {
    TensorWriter(outputs.begin()->first, outputs.begin()->second, bytes).Write(0, 0, &out);
    return out.append("\n}");
  }
  const char* separator = "{\n        ";
  for (const auto& [name, tensor] : outputs) {
    out.append(separator);
    separator = ",\n        ";
    AppendString(name, &out);
    out.append(": ");
    TensorWriter(name, tensor, bytes).Write(0, 0, &out);
  }
  return out.append("\n    }\n}");
}

std::string MessageToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string out;
  CHECK(google::protobuf::util::MessageToJsonString(message, &out, options).ok());
  return out;
}

}  // namespace

Result<std::string> PredictionsToJson(const engine::TensorMap& outputs, JsonForm form, JsonBytes bytes) {
  RETURN_IF_ERROR(CheckWritable(outputs));
  return form == JsonForm::kRow ? RowsToJson(outputs, bytes) : ColumnsToJson(outputs, bytes);
}

std::string ErrorToJson(std::string_view message) {
  std::string out = "{\n    \"error\": ";
  AppendString(message, &out);
  return out.append("\n}");
}

std::string StatusToJson(const tensorflow::serving::GetModelStatusResponse& status) { return MessageToJson(status); }

std::string MetadataToJson(const tensorflow::serving::ModelSpec& spec,
                           const tensorflow::serving::SignatureDefMap& signatures) {
  return fmt::format("{{\n\"model_spec\":{},\n\"metadata\": {{\"signature_def\": {}}}\n}}\n", MessageToJson(spec),
                     MessageToJson(signatures));
}

}  // namespace longshore::frontend::json

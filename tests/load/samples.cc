#include "tests/load/samples.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <sstream>

#include "common/base/base64.h"
#include "common/base/text.h"
#include "common/json/json.h"
#include "common/os/file.h"

namespace longshore::load {
namespace {

Result<std::vector<float>> ReadNumbers(const SampleOptions& options, size_t row_elements) {
  if (options.data.empty()) {
    std::vector<float> values(row_elements * 64);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 64) / 16.0f;
    return values;
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(options.data));
  const size_t row_bytes = row_elements * sizeof(float);
  if (bytes.empty() || bytes.size() % row_bytes != 0) {
    return InvalidArgument("{} has {} bytes, which is not a multiple of one request of {} float32 values",
                           options.data.string(), bytes.size(), row_elements);
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Result<std::vector<std::string>> ReadTexts(const SampleOptions& options, size_t row_elements) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.texts));
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  if (lines.empty() || lines.size() % row_elements != 0) {
    return InvalidArgument("{} has {} lines, which is not a multiple of one request of {} texts",
                           options.texts.string(), lines.size(), row_elements);
  }
  return lines;
}

Json RestValue(float value) { return value; }

// JSON has only valid UTF-8, so other bytes are sent in base64. A model gets the same bytes as over gRPC.
Json RestValue(const std::string& text) { return ValidUtf8(text) == text ? Json(text) : Json{{"b64", ToBase64(text)}}; }

// Returns the values as nested lists of this shape.
template <typename Value>
Json Nest(std::span<const Value> values, std::span<const int64_t> shape) {
  if (shape.empty()) return RestValue(values[0]);
  Json list = Json::array();
  const size_t step = values.size() / static_cast<size_t>(shape[0]);
  for (size_t i = 0; i < static_cast<size_t>(shape[0]); ++i) {
    list.push_back(Nest(values.subspan(i * step, step), shape.subspan(1)));
  }
  return list;
}

void Put(std::span<const float> row, tensorflow::TensorProto& tensor) {
  tensor.set_dtype(tensorflow::DT_FLOAT);
  tensor.set_tensor_content(row.data(), row.size_bytes());
}

void Put(std::span<const std::string> row, tensorflow::TensorProto& tensor) {
  tensor.set_dtype(tensorflow::DT_STRING);
  for (const std::string& text : row) tensor.add_string_val(text);
}

template <typename Value>
tensorflow::serving::PredictRequest MakeGrpc(const SampleOptions& options, std::span<const Value> row) {
  tensorflow::serving::PredictRequest request;
  auto& spec = *request.mutable_model_spec();
  spec.set_name(options.model);
  spec.set_signature_name(options.signature);
  if (options.version != 0) spec.mutable_version()->set_value(options.version);
  auto& tensor = (*request.mutable_inputs())[options.input];
  Put(row, tensor);
  for (const int64_t size : options.shape) tensor.mutable_tensor_shape()->add_dim()->set_size(size);
  return request;
}

template <typename Value>
std::string MakeRest(const SampleOptions& options, std::span<const Value> row) {
  Json body;
  if (!options.signature.empty()) body["signature_name"] = options.signature;
  body["instances"] = Nest(row, options.shape);
  return DumpJson(body);
}

template <typename Value>
Samples MakeRows(const SampleOptions& options, const std::vector<Value>& values, size_t row_elements) {
  Samples samples;
  for (size_t i = 0; i < std::min(values.size() / row_elements, kSamplesMax); ++i) {
    const std::span<const Value> row(values.data() + i * row_elements, row_elements);
    samples.grpc.push_back(MakeGrpc(options, row));
    samples.rest_bodies.push_back(MakeRest(options, row));
  }
  return samples;
}

Result<Samples> MakeRows(const SampleOptions& options, size_t row_elements) {
  if (!options.texts.empty()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> texts, ReadTexts(options, row_elements));
    return MakeRows(options, texts, row_elements);
  }
  ASSIGN_OR_RETURN(const std::vector<float> numbers, ReadNumbers(options, row_elements));
  return MakeRows(options, numbers, row_elements);
}

}  // namespace

Result<Samples> MakeSamples(const SampleOptions& options) {
  size_t row_elements = 1;
  for (const int64_t size : options.shape) {
    if (size <= 0) return InvalidArgument("--shape: {} is not a valid size of a dimension", size);
    row_elements *= static_cast<size_t>(size);
  }
  if (!options.data.empty() && !options.texts.empty())
    return InvalidArgument("--data and --texts are both set: name one file");
  ASSIGN_OR_RETURN(Samples samples, MakeRows(options, row_elements));
  const std::string version = options.version == 0 ? "" : "/versions/" + std::to_string(options.version);
  samples.rest_path = "/v1/models/" + options.model + version + ":predict";
  return samples;
}

}  // namespace longshore::load

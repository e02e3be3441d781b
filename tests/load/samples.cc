#include "tests/load/samples.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "common/json/json.h"
#include "common/os/file.h"

namespace longshore::load {
namespace {

Result<std::vector<float>> ReadValues(const SampleOptions& options, size_t row_elements) {
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

// Returns the values as nested lists of this shape.
Json Nest(std::span<const float> values, std::span<const int64_t> shape) {
  if (shape.empty()) return values[0];
  Json list = Json::array();
  const size_t step = values.size() / static_cast<size_t>(shape[0]);
  for (size_t i = 0; i < static_cast<size_t>(shape[0]); ++i) {
    list.push_back(Nest(values.subspan(i * step, step), shape.subspan(1)));
  }
  return list;
}

tensorflow::serving::PredictRequest MakeGrpc(const SampleOptions& options, std::span<const float> row) {
  tensorflow::serving::PredictRequest request;
  auto& spec = *request.mutable_model_spec();
  spec.set_name(options.model);
  spec.set_signature_name(options.signature);
  if (options.version != 0) spec.mutable_version()->set_value(options.version);
  auto& tensor = (*request.mutable_inputs())[options.input];
  tensor.set_dtype(tensorflow::DT_FLOAT);
  for (const int64_t size : options.shape) tensor.mutable_tensor_shape()->add_dim()->set_size(size);
  tensor.set_tensor_content(row.data(), row.size_bytes());
  return request;
}

std::string MakeRest(const SampleOptions& options, std::span<const float> row) {
  Json body;
  if (!options.signature.empty()) body["signature_name"] = options.signature;
  body["instances"] = Nest(row, options.shape);
  return body.dump();
}

}  // namespace

Result<Samples> MakeSamples(const SampleOptions& options) {
  size_t row_elements = 1;
  for (const int64_t size : options.shape) {
    if (size <= 0) return InvalidArgument("--shape: {} is not a valid size of a dimension", size);
    row_elements *= static_cast<size_t>(size);
  }
  ASSIGN_OR_RETURN(const std::vector<float> values, ReadValues(options, row_elements));
  const size_t count = std::min(values.size() / row_elements, kSamplesMax);
  Samples samples;
  for (size_t i = 0; i < count; ++i) {
    const std::span row(values.data() + i * row_elements, row_elements);
    samples.grpc.push_back(MakeGrpc(options, row));
    samples.rest_bodies.push_back(MakeRest(options, row));
  }
  const std::string version = options.version == 0 ? "" : "/versions/" + std::to_string(options.version);
  samples.rest_path = "/v1/models/" + options.model + version + ":predict";
  return samples;
}

}  // namespace longshore::load

#include "serving-node/models/synthetic_request.h"

#include <cstring>

#include "serving-node/tensor/info.h"

namespace longshore::models {
namespace {

using tensor::DType;
using tensor::Tensor;

Result<Tensor> MakeInput(const std::string& name, const tensorflow::TensorInfo& info, int rows) {
  const auto pattern = tensor::PatternOf(info);
  const DType type = tensor::FromProto(info.dtype());
  const size_t element_bytes = type == DType::kString ? sizeof(std::string) : tensor::ElementBytes(type);
  if (info.encoding_case() != tensorflow::TensorInfo::kName || !pattern || element_bytes == 0) {
    return FailedPrecondition("a value for input \"{}\" cannot be generated", name);
  }
  tensor::Shape shape = *pattern;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0) shape[axis] = axis == 0 ? rows : 1;
  }
  ASSIGN_OR_RETURN(const int64_t elements, tensor::ElementCount(shape));
  if (static_cast<size_t>(elements) > kSyntheticBytesMax / element_bytes) {
    return FailedPrecondition("input \"{}\" of shape {} is too large to be generated", name, tensor::ToString(shape));
  }
  ASSIGN_OR_RETURN(Tensor made, Tensor::Make(type, std::move(shape)));
  if (type != DType::kString && made.bytes() > 0) std::memset(made.mutable_data(), 0, made.bytes());
  return made;
}

}  // namespace

Result<engine::RunRequest> SyntheticRequest(const std::string& name, const tensorflow::SignatureDef& signature,
                                            int rows) {
  engine::RunRequest request{name, {}, {}};
  for (const auto& [input, info] : signature.inputs()) {
    if (signature.defaults().contains(input)) continue;
    ASSIGN_OR_RETURN(request.inputs[input], MakeInput(input, info, rows));
  }
  return request;
}

}  // namespace longshore::models

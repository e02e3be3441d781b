#include "serving-node/inspect/zeros.h"

#include <algorithm>
#include <cstring>

#include "serving-node/tensor/info.h"

namespace longshore::inspect {
namespace {

Result<tensor::Tensor> Zeros(const tensorflow::TensorInfo& info, int64_t rows) {
  if (info.encoding_case() != tensorflow::TensorInfo::kName)
    return Unimplemented("zeros cannot be made for a sparse or composite input");
  tensor::Shape shape = tensor::PatternOf(info).value_or(tensor::Shape{-1});
  if (!shape.empty() && shape[0] < 0) shape[0] = rows;
  for (int64_t& size : shape) {
    if (size < 0) size = 1;
  }
  ASSIGN_OR_RETURN(tensor::Tensor zeros, tensor::Tensor::Make(tensor::FromProto(info.dtype()), shape));
  if (zeros.type() != tensor::DType::kString) std::memset(zeros.mutable_data(), 0, zeros.bytes());
  return zeros;
}

}  // namespace

Result<engine::TensorMap> RowsOfZeros(const tensorflow::SignatureDef& signature, int64_t rows) {
  engine::TensorMap inputs;
  for (const auto& [name, info] : signature.inputs()) {
    if (signature.defaults().contains(name)) continue;
    auto zeros = Zeros(info, rows);
    if (!zeros) return Prefixed(zeros.error(), fmt::format("input \"{}\"", name));
    inputs[name] = std::move(*zeros);
  }
  return inputs;
}

}  // namespace longshore::inspect

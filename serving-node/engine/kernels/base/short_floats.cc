#include "serving-node/engine/kernels/base/short_floats.h"

#include <algorithm>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/tensor/half.h"

namespace longshore::engine::kernels {
namespace {

bool IsShort(const Tensor& tensor) { return (Only(tensor.type()) & kShortFloats) != 0; }

}  // namespace

bool HasShortFloats(std::span<const Tensor> inputs) { return std::ranges::any_of(inputs, IsShort); }

Result<Tensor> FromShortFloat(const Tensor& in) {
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kFloat, in.shape()));
  const auto convert = in.type() == DType::kHalf ? tensor::HalfToFloat : tensor::Bfloat16ToFloat;
  for (int64_t i = 0; i < in.elements(); ++i) Raw<float>(out)[i] = convert(Raw<uint16_t>(in)[i]);
  return out;
}

Result<Tensor> ToShortFloat(const Tensor& in, DType to) {
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(to, in.shape()));
  const auto convert = to == DType::kHalf ? tensor::FloatToHalf : tensor::FloatToBfloat16;
  for (int64_t i = 0; i < in.elements(); ++i) Raw<uint16_t>(out)[i] = convert(Raw<float>(in)[i]);
  return out;
}

// Inputs of different float types are an error, although this function could convert all of them to float.
Outputs ComputeInFloat(const Call& call, Compute compute) {
  const DType type = std::ranges::find_if(call.inputs, IsShort)->type();
  std::vector<Tensor> wide(call.inputs.begin(), call.inputs.end());
  for (Tensor& input : wide) {
    if (input.type() == type) {
      ASSIGN_OR_RETURN(input, FromShortFloat(input));
    } else if (IsShort(input) || input.type() == DType::kFloat) {
      return InvalidArgument("inputs of different types: {} and {}", DTypeName(type), DTypeName(input.type()));
    }
  }
  ASSIGN_OR_RETURN(auto outputs, compute(call.With(wide)));
  for (Tensor& output : outputs) {
    if (output.type() != DType::kFloat) continue;
    ASSIGN_OR_RETURN(output, ToShortFloat(output, type));
  }
  return outputs;
}

}  // namespace longshore::engine::kernels

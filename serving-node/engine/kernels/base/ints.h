// Reads inputs that are integers: indices, sizes, row splits.
#pragma once

#include <algorithm>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels {

// Returns the values of an int32 or int64 tensor of any rank. `what` names the input in errors.
inline Result<std::vector<int64_t>> AllIntsOf(const Tensor& tensor, std::string_view what) {
  ASSIGN_OR_RETURN(const Tensor flat, tensor.Reshaped({tensor.elements()}));
  return IntsOf(flat, what, tensor::kTensorBytesMax);
}

// Makes a tensor of `values`. Returns InvalidArgument if `type` is neither DT_INT32 nor DT_INT64.
inline Result<Tensor> IntTensor(DType type, Shape shape, std::span<const int64_t> values) {
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, std::move(shape)));
  if (type != DType::kInt32 && type != DType::kInt64)
    return InvalidArgument("{} is not an index type: it must be DT_INT32 or DT_INT64", DTypeName(type));
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == DType::kInt32)
      out.mutable_values<int32_t>()[i] = static_cast<int32_t>(values[i]);
    else
      out.mutable_values<int64_t>()[i] = values[i];
  }
  return out;
}

// Returns InvalidArgument unless `splits` are row splits of a ragged tensor with `values` values: they begin with 0,
// never decrease, and end with `values`.
inline Status CheckSplits(std::span<const int64_t> splits, int64_t values) {
  if (splits.empty() || splits.front() != 0 || splits.back() != values || !std::ranges::is_sorted(splits))
    return InvalidArgument("row splits must begin with 0, never decrease and end with {}, the number of values",
                           values);
  return {};
}

}  // namespace longshore::engine::kernels

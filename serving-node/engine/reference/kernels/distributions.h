// Distributions over Philox's numbers, as tensors: what the ops with a state and those without share.
#pragma once

#include "serving-node/engine/reference/kernels/kernel.h"
#include "serving-node/engine/reference/kernels/philox.h"

namespace longshore::engine::reference::kernels {

enum class Distribution { kUniform, kNormal, kTruncatedNormal };  // From [0, 1); around 0; the same within 2 of it.

// How many blocks of a stream an op with a state takes for each of its values: more than any value can need.
inline constexpr int64_t kBlocksPerValue = 256;

// Floats, doubles, halves or bfloat16.
Result<Tensor> RandomFloats(const Call& call, DType type, const Shape& shape, Distribution distribution, Philox philox);

// Integers from [low, high). Requires: both of one type, DT_INT32 or DT_INT64 (or their unsigned ones); one value each.
Result<Tensor> RandomInts(const Call& call, const Tensor& low, const Tensor& high, const Shape& shape, Philox philox);

// Every integer of the type.
Result<Tensor> RandomFullInts(const Call& call, DType type, const Shape& shape, Philox philox);

// For each row of logits `count` numbers of columns, of `type` DT_INT32 or DT_INT64.
Result<Tensor> RandomColumns(const Call& call, const Tensor& logits, int64_t count, DType type, Philox philox);

}  // namespace longshore::engine::reference::kernels

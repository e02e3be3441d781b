// Tensors of random numbers that are made from a Philox stream, for the stateful and the stateless random ops.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"
#include "serving-node/engine/kernels/random/philox.h"

namespace longshore::engine::kernels::random {

// kUniform: from [0, 1). kNormal: mean 0, standard deviation 1. kTruncatedNormal: the same, but only values in (-2, 2).
enum class Distribution { kUniform, kNormal, kTruncatedNormal };

// How many blocks of the stream a stateful op reserves for each of its values, although a value needs far fewer.
inline constexpr int64_t kBlocksPerValue = 256;

// Returns random numbers of a distribution. `type` is DT_FLOAT, DT_DOUBLE, DT_HALF or DT_BFLOAT16.
Result<Tensor> RandomFloats(const Call& call, DType type, const Shape& shape, Distribution distribution, Philox philox);

// Returns integers from [low, high). InvalidArgument unless `low` and `high` are scalars of the same integer type of 4
// or 8 bytes, which is also the type of the result.
Result<Tensor> RandomInts(const Call& call, const Tensor& low, const Tensor& high, const Shape& shape, Philox philox);

// Returns integers from the whole range of `type`, which has 4 or 8 bytes.
Result<Tensor> RandomFullInts(const Call& call, DType type, const Shape& shape, Philox philox);

// For each row of `logits`, draws `count` column indices with the probabilities softmax(row). The result is [rows,
// count] of `type`, which is DT_INT32 or DT_INT64.
Result<Tensor> RandomColumns(const Call& call, const Tensor& logits, int64_t count, DType type, Philox philox);

}  // namespace longshore::engine::kernels::random

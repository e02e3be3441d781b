// Stateful random ops. If a node has a seed, it has TensorFlow's stream of numbers for this seed: the stream begins
// when the model is loaded, and each run continues it where the last run ended. Without a seed, every run reads another
// stream, which std::random_device chooses.
#include <algorithm>
#include <random>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/random/distributions.h"
#include "serving-node/engine/kernels/random/families.h"

namespace longshore::engine::kernels::random {
namespace {

uint64_t RandomSeed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// Reserves the next `blocks` blocks of the node's stream, and returns the stream from these blocks on. Without a seed,
// returns a new stream.
Philox Take(const Call& call, int64_t blocks) {
  const auto seed = static_cast<uint64_t>(call.attributes().Int("seed", 0));
  const auto seed2 = static_cast<uint64_t>(call.attributes().Int("seed2", 0));
  if (seed == 0 && seed2 == 0) return {RandomSeed(), RandomSeed()};
  Philox philox(seed, seed2);
  philox.Skip(call.resources.FindOrMakeRandomStream(call.node.name)->Take(static_cast<uint64_t>(blocks)));
  return philox;
}

// Reserves as many blocks of the stream as the values of a tensor with this shape may need.
Result<Philox> TakeFor(const Call& call, DType type, const Shape& shape) {
  RETURN_IF_ERROR(call.HasRoomFor(type, shape));
  ASSIGN_OR_RETURN(const int64_t count, tensor::ElementCount(shape));
  int64_t blocks = 0;
  if (__builtin_mul_overflow(count, kBlocksPerValue, &blocks))
    return InvalidArgument("a tensor of {} random values is too large", count);
  return Take(call, blocks);
}

template <Distribution kDistribution>
Outputs Floats(const Call& call) {
  const DType type = call.attributes().Type("dtype", DType::kFloat);
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(0), "shape"));
  ASSIGN_OR_RETURN(const Philox philox, TakeFor(call, type, shape));
  return One(RandomFloats(call, type, shape, kDistribution, philox));
}

Outputs RandomUniformInt(const Call& call) {
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(0), "shape"));
  ASSIGN_OR_RETURN(const Philox philox, TakeFor(call, call.in(1).type(), shape));
  return One(RandomInts(call, call.in(1), call.in(2), shape, philox));
}

// Shuffles the rows of a tensor: swaps each row, from the first on, with itself or a random row after it.
Outputs RandomShuffle(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.rank() == 0 || in.elements() == 0 || in.dim(0) < 2) return One(in);
  const int64_t rows = in.dim(0), inner = in.elements() / rows;
  PhiloxNumbers numbers(Take(call, (rows - 1 + 3) / 4));
  std::vector<int64_t> from(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) from[static_cast<size_t>(i)] = i;
  for (int64_t i = 0; i + 1 < rows; ++i) {
    const uint32_t behind = numbers.Next() % static_cast<uint32_t>(rows - i);
    std::swap(from[static_cast<size_t>(i)], from[static_cast<size_t>(i + behind)]);
  }
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = Raw<T>(out);
    for (const int64_t row : from) to = std::copy_n(Raw<T>(in) + row * inner, inner, to);
    return One(out);
  });
}

Outputs Multinomial(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t count, IntOf(call.in(1), "num_samples"));
  const Tensor& logits = call.in(0);
  if (logits.rank() != 2 || count < 0 || count > INT32_MAX)
    return InvalidArgument(
        "cannot draw {} samples from logits of shape {}: logits must be a matrix, and num_samples from 0 to {}", count,
        ToString(logits.shape()), INT32_MAX);
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {logits.dim(0), count}));
  // Each sample needs two numbers of the stream. The number of samples per row is rounded up to a multiple of four, as
  // in TensorFlow.
  ASSIGN_OR_RETURN(const Philox philox, TakeFor(call, DType::kInt8, {logits.dim(0), (count + 3) / 4 * 8}));
  const DType type = call.attributes().Type("output_dtype", DType::kInt64);
  return One(RandomColumns(call, logits, count, type, philox));
}

Status CheckFloats(const graph::Node& node) {
  const DType type = node.attributes.Type("dtype", DType::kFloat);
  if ((Only(type) & (kFloats | kShortFloats)) != 0) return {};
  return Unimplemented("{} of {}", node.op, DTypeName(type));
}

Status CheckIntegers(const graph::Node& node) {
  const DType type = node.attributes.Type("Tout", DType::kInt32);
  return type == DType::kInt32 || type == DType::kInt64 ? Status{}
                                                        : Unimplemented("{} of {}", node.op, DTypeName(type));
}

// In the ops that have a shape as an input, the attribute T is the type of the shape and may be any type.
constexpr Kernel kKernels[] = {
    {"Multinomial", Multinomial, 2, kFloats, nullptr, false},
    {"RandomShuffle", RandomShuffle, 1, kAnyType, nullptr, false},
    {"RandomStandardNormal", Floats<Distribution::kNormal>, 1, kAnyType, CheckFloats, false},
    {"RandomUniform", Floats<Distribution::kUniform>, 1, kAnyType, CheckFloats, false},
    {"RandomUniformInt", RandomUniformInt, 3, kAnyType, CheckIntegers, false},
    {"TruncatedNormal", Floats<Distribution::kTruncatedNormal>, 1, kAnyType, CheckFloats, false},
};

}  // namespace

std::span<const Kernel> RandomKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::random

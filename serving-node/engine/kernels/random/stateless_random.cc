// Stateless random ops: the same seed always gives the same values, which equal TensorFlow's.
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/random/distributions.h"
#include "serving-node/engine/kernels/random/families.h"

namespace longshore::engine::kernels::random {
namespace {

constexpr int32_t kAlgorithmPhilox = 1;
constexpr int32_t kAlgorithmAny = 3;
constexpr Philox::Key kScramblingKey = {0x3ec8f720, 0x02461e29};  // TensorFlow's.

uint64_t Joined(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

struct KeyAndCounter {
  uint64_t key = 0;
  uint64_t counter_high = 0;  // The high 64 bits of the counter; its low 64 bits are zero.
};

// Makes a key and a counter from the two numbers of a seed, with a block of a Philox stream that has a fixed key, as
// TensorFlow does.
Result<KeyAndCounter> Scrambled(const Tensor& seed) {
  if (seed.rank() != 1) return InvalidArgument("seed must have shape [2], not {}", ToString(seed.shape()));
  ASSIGN_OR_RETURN(const auto numbers, IntsOf(seed, "seed", 2));
  if (numbers.size() != 2) return InvalidArgument("seed must have shape [2], not {}", ToString(seed.shape()));
  const auto first = static_cast<uint64_t>(numbers[0]), second = static_cast<uint64_t>(numbers[1]);
  Philox philox({Philox::Low(first), Philox::High(first), Philox::Low(second), Philox::High(second)}, kScramblingKey);
  const auto block = philox.Next();
  return KeyAndCounter{Joined(block[0], block[1]), Joined(block[2], block[3])};
}

Philox PhiloxOf(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  return {{Philox::Low(counter_low), Philox::High(counter_low), Philox::Low(counter_high), Philox::High(counter_high)},
          {Philox::Low(key), Philox::High(key)}};
}

Result<Philox> FromSeed(const Tensor& seed) {
  ASSIGN_OR_RETURN(const KeyAndCounter scrambled, Scrambled(seed));
  return PhiloxOf(scrambled.key, 0, scrambled.counter_high);
}

// Makes the stream from the inputs key, counter and alg of the V2 ops, which are the inputs 1 to 3.
Result<Philox> FromKey(const Call& call) {
  const Tensor& key = call.in(1);
  const Tensor& counter = call.in(2);
  ASSIGN_OR_RETURN(const int64_t algorithm, IntOf(call.in(3), "alg"));
  if (algorithm != kAlgorithmPhilox && algorithm != kAlgorithmAny)
    return InvalidArgument("alg {} is not Philox ({})", algorithm, kAlgorithmPhilox);
  if (key.type() != DType::kUint64 || key.shape() != Shape{1})
    return InvalidArgument("key must be DT_UINT64[1], not {}{}", DTypeName(key.type()), ToString(key.shape()));
  if (counter.type() != DType::kUint64 || counter.rank() != 1 || counter.dim(0) < 2)
    return InvalidArgument("counter must be DT_UINT64[2], not {}{}", DTypeName(counter.type()),
                           ToString(counter.shape()));
  return PhiloxOf(*Raw<uint64_t>(key), Raw<uint64_t>(counter)[0], Raw<uint64_t>(counter)[1]);
}

template <bool kHasKey>
Result<Philox> PhiloxFor(const Call& call) {
  if constexpr (kHasKey) return FromKey(call);
  if constexpr (!kHasKey) return FromSeed(call.in(1));
}

template <Distribution kDistribution, bool kHasKey>
Outputs Floats(const Call& call) {
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(0), "shape"));
  ASSIGN_OR_RETURN(const Philox philox, PhiloxFor<kHasKey>(call));
  return One(RandomFloats(call, call.attributes().Type("dtype", DType::kFloat), shape, kDistribution, philox));
}

template <bool kHasKey>
Outputs Ints(const Call& call) {
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(0), "shape"));
  ASSIGN_OR_RETURN(const Philox philox, PhiloxFor<kHasKey>(call));
  const size_t low = kHasKey ? 4 : 2;
  return One(RandomInts(call, call.in(low), call.in(low + 1), shape, philox));
}

template <bool kHasKey>
Outputs FullInts(const Call& call) {
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(0), "shape"));
  ASSIGN_OR_RETURN(const Philox philox, PhiloxFor<kHasKey>(call));
  return One(RandomFullInts(call, call.attributes().Type("dtype", DType::kUint64), shape, philox));
}

Outputs Multinomial(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t count, IntOf(call.in(1), "num_samples"));
  ASSIGN_OR_RETURN(const Philox philox, FromSeed(call.in(2)));
  const DType type = call.attributes().Type("output_dtype", DType::kInt64);
  return One(RandomColumns(call, call.in(0), count, type, philox));
}

Outputs KeyCounter(const Call& call) {
  ASSIGN_OR_RETURN(const KeyAndCounter scrambled, Scrambled(call.in(0)));
  return std::vector<Tensor>{Tensor::Of<uint64_t>({1}, {scrambled.key}),
                             Tensor::Of<uint64_t>({2}, {0, scrambled.counter_high})};
}

Outputs Algorithm(const Call&) { return One(Tensor::Of<int32_t>({}, {kAlgorithmPhilox})); }

Outputs KeyCounterAlgorithm(const Call& call) {
  ASSIGN_OR_RETURN(auto outputs, KeyCounter(call));
  outputs.push_back(Tensor::Of<int32_t>({}, {kAlgorithmPhilox}));
  return outputs;
}

template <TypeSet kTypes>
Status CheckType(const graph::Node& node) {
  const DType type = node.attributes.Type("dtype", DType::kFloat);
  return (Only(type) & kTypes) != 0 ? Status{} : Unimplemented("{} of {}", node.op, DTypeName(type));
}

constexpr TypeSet kWideIntegers =
    Only(DType::kInt32) | Only(DType::kInt64) | Only(DType::kUint32) | Only(DType::kUint64);
constexpr auto kCheckFloats = CheckType<kFloats | kShortFloats>;
constexpr auto kCheckInts = CheckType<kWideIntegers>;

// In the ops that have a shape as an input, the attribute T is the type of the shape and may be any type.
constexpr Kernel kKernels[] = {
    {"StatelessMultinomial", Multinomial, 3, kFloats},
    {"StatelessRandomGetAlg", Algorithm, 0},
    {"StatelessRandomGetKeyCounter", KeyCounter, 1},
    {"StatelessRandomGetKeyCounterAlg", KeyCounterAlgorithm, 1},
    {"StatelessRandomNormal", Floats<Distribution::kNormal, false>, 2, kAnyType, kCheckFloats},
    {"StatelessRandomNormalV2", Floats<Distribution::kNormal, true>, 4, kAnyType, kCheckFloats},
    {"StatelessRandomUniform", Floats<Distribution::kUniform, false>, 2, kAnyType, kCheckFloats},
    {"StatelessRandomUniformFullInt", FullInts<false>, 2, kAnyType, kCheckInts},
    {"StatelessRandomUniformFullIntV2", FullInts<true>, 4, kAnyType, kCheckInts},
    {"StatelessRandomUniformInt", Ints<false>, 4, kAnyType, kCheckInts},
    {"StatelessRandomUniformIntV2", Ints<true>, 6, kAnyType, kCheckInts},
    {"StatelessRandomUniformV2", Floats<Distribution::kUniform, true>, 4, kAnyType, kCheckFloats},
    {"StatelessTruncatedNormal", Floats<Distribution::kTruncatedNormal, false>, 2, kAnyType, kCheckFloats},
    {"StatelessTruncatedNormalV2", Floats<Distribution::kTruncatedNormal, true>, 4, kAnyType, kCheckFloats},
};

}  // namespace

std::span<const Kernel> StatelessRandomKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::random

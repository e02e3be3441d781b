#include "serving-node/engine/kernels/random/distributions.h"

#include <algorithm>
#include <limits>

#include "serving-node/engine/kernels/base/types.h"

namespace longshore::engine::kernels::random {
namespace {

// How many values one block of the Philox stream gives: four, or two if a value has 8 bytes.
template <typename T>
constexpr int64_t kPerBlock = sizeof(T) == 8 ? 2 : 4;

template <typename T>
std::array<T, 4> UniformOf(const Philox::Block& x) {
  if constexpr (std::is_same_v<T, double>) return {UniformDouble(x[0], x[1]), UniformDouble(x[2], x[3])};
  if constexpr (std::is_same_v<T, float>)
    return {UniformFloat(x[0]), UniformFloat(x[1]), UniformFloat(x[2]), UniformFloat(x[3])};
}

template <typename T>
std::array<T, 4> NormalOf(const Philox::Block& x) {
  const auto uniform = UniformOf<T>(x);
  const auto first = NormalPair(uniform[0], uniform[1]);
  if constexpr (std::is_same_v<T, double>) return {first[0], first[1]};
  const auto second = NormalPair(uniform[2], uniform[3]);
  return {first[0], first[1], second[0], second[1]};
}

// Draws normal numbers until one block is full of numbers in (-2, 2), and returns this block.
template <typename T>
std::array<T, 4> TruncatedOf(const Philox& philox) {
  PhiloxNumbers numbers(philox);
  std::array<T, 4> values{};
  int64_t found = 0;
  while (true) {
    Philox::Block x{};
    for (int64_t i = 0; i < 8 / kPerBlock<T>; ++i) x[static_cast<size_t>(i)] = numbers.Next();
    const auto uniform = UniformOf<T>(x);
    for (const T value : NormalPair(uniform[0], uniform[1])) {
      if (!(std::fabs(value) < T{2})) continue;
      values[static_cast<size_t>(found++)] = value;
      if (found == kPerBlock<T>) return values;
    }
  }
}

// Fills `out` with the values that block_at(0), block_at(1), and so on return. Values of the last block that do not fit
// are dropped.
template <typename T, typename F>
void FillBlocks(Tensor* out, F block_at) {
  constexpr int64_t kCount = kPerBlock<T>;
  for (int64_t first = 0; first < out->elements(); first += kCount) {
    const auto values = block_at(first / kCount);
    std::copy_n(values.begin(), std::min(kCount, out->elements() - first), Raw<T>(*out) + first);
  }
}

template <typename T>
void FillFloats(Distribution distribution, Philox philox, Tensor* out) {
  FillBlocks<T>(out, [&](int64_t block) {
    if (distribution == Distribution::kUniform) return UniformOf<T>(philox.Next());
    if (distribution == Distribution::kNormal) return NormalOf<T>(philox.Next());
    // Each block of values reads its own part of the stream. The part is long enough for any block.
    Philox own = philox;
    own.Skip(static_cast<uint64_t>(block * kPerBlock<T> * (kBlocksPerValue / 4)));
    return TruncatedOf<T>(own);
  });
}

Result<Tensor> ShortFloats(const Call& call, DType type, const Shape& shape, Distribution distribution, Philox philox) {
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, shape));
  if (distribution != Distribution::kUniform) {
    ASSIGN_OR_RETURN(const Tensor wide, RandomFloats(call, DType::kFloat, shape, distribution, philox));
    const auto narrow = type == DType::kHalf ? tensor::FloatToHalf : tensor::FloatToBfloat16;
    std::transform(Raw<float>(wide), Raw<float>(wide) + wide.elements(), Raw<uint16_t>(out), narrow);
    return out;
  }
  const auto uniform = type == DType::kHalf ? UniformHalf : UniformBfloat16;
  PhiloxNumbers numbers(philox);
  for (int64_t i = 0; i < out.elements(); ++i) Raw<uint16_t>(out)[i] = uniform(numbers.Next());
  return out;
}

// Fills `out` with make(random), where `random` has as many bits of the stream as the type U.
template <typename U, typename F>
void FillInts(Philox philox, Tensor* out, F make) {
  PhiloxNumbers numbers(philox);
  for (int64_t i = 0; i < out->elements(); ++i) {
    const U random = sizeof(U) == 8 ? static_cast<U>(numbers.NextPair()) : static_cast<U>(numbers.Next());
    Raw<U>(*out)[i] = make(random);
  }
}

// The cumulative sums of the classes' probabilities, not normalised. A class whose logit is not finite has probability
// 0.
std::vector<double> EndsOf(const float* logits, int64_t classes) {
  float most = std::numeric_limits<float>::lowest();
  for (int64_t j = 0; j < classes; ++j) {
    if (std::isfinite(logits[j])) most = std::max(most, logits[j]);
  }
  std::vector<double> ends;
  double sum = 0;
  for (int64_t j = 0; j < classes; ++j) {
    if (std::isfinite(logits[j])) sum += std::exp(static_cast<double>(logits[j]) - static_cast<double>(most));
    ends.push_back(sum);
  }
  return ends;
}

Result<std::vector<float>> LogitsOf(const Tensor& logits) {
  if (logits.type() == DType::kFloat)
    return std::vector<float>(Raw<float>(logits), Raw<float>(logits) + logits.elements());
  if (logits.type() == DType::kDouble)
    return std::vector<float>(Raw<double>(logits), Raw<double>(logits) + logits.elements());
  return WrongType(logits.type());
}

}  // namespace

Result<Tensor> RandomFloats(const Call& call, DType type, const Shape& shape, Distribution distribution,
                            Philox philox) {
  RETURN_IF_ERROR(call.HasRoomFor(type, shape));
  if ((Only(type) & kShortFloats) != 0) return ShortFloats(call, type, shape, distribution, philox);
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, shape));
  if (type == DType::kFloat)
    FillFloats<float>(distribution, philox, &out);
  else if (type == DType::kDouble)
    FillFloats<double>(distribution, philox, &out);
  else
    return WrongType(type);
  return out;
}

Result<Tensor> RandomFullInts(const Call& call, DType type, const Shape& shape, Philox philox) {
  if ((Only(type) & kIntegers) == 0 || tensor::ElementBytes(type) < 4) return WrongType(type);
  RETURN_IF_ERROR(call.HasRoomFor(type, shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, shape));
  if (tensor::ElementBytes(type) == 8)
    FillInts<uint64_t>(philox, &out, [](uint64_t x) { return x; });
  else
    FillInts<uint32_t>(philox, &out, [](uint32_t x) { return x; });
  return out;
}

Result<Tensor> RandomInts(const Call& call, const Tensor& low, const Tensor& high, const Shape& shape, Philox philox) {
  if (low.type() != high.type() || low.rank() != 0 || high.rank() != 0 || (Only(low.type()) & kIntegers) == 0)
    return InvalidArgument("minval and maxval must be scalars of one integer type");
  ASSIGN_OR_RETURN(Tensor out, RandomFullInts(call, low.type(), shape, philox));
  const auto made = ForIntegers(low.type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    using U = std::make_unsigned_t<T>;
    const T least = *Raw<T>(low), limit = *Raw<T>(high);
    if (out.elements() > 0 && least >= limit)
      return InvalidArgument("Need minval < maxval, got {} >= {}", least, limit);
    const U range = static_cast<U>(static_cast<U>(limit) - static_cast<U>(least));
    for (int64_t i = 0; i < out.elements(); ++i)
      Raw<U>(out)[i] = static_cast<U>(static_cast<U>(least) + Raw<U>(out)[i] % range);
    return One(out);
  });
  if (!made) return tl::make_unexpected(made.error());
  return out;
}

Result<Tensor> RandomColumns(const Call& call, const Tensor& logits, int64_t count, DType type, Philox philox) {
  if (logits.rank() != 2 || count < 0)
    return InvalidArgument(
        "cannot draw {} samples from logits of shape {}: logits must be a matrix, and num_samples must not be negative",
        count, ToString(logits.shape()));
  const int64_t rows = logits.dim(0), classes = logits.dim(1);
  if (classes < 1 && rows > 0) return InvalidArgument("logits of shape {} have no classes", ToString(logits.shape()));
  if (type != DType::kInt32 && type != DType::kInt64) return WrongType(type);
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, {rows, count}));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, {rows, count}));
  ASSIGN_OR_RETURN(const auto values, LogitsOf(logits));
  PhiloxNumbers numbers(philox);
  for (int64_t row = 0; row < (count == 0 ? 0 : rows); ++row) {
    const auto ends = EndsOf(values.data() + row * classes, classes);
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t pair = numbers.NextPair();
      const double at = UniformDouble(Philox::Low(pair), Philox::High(pair)) * ends.back();
      const auto column = std::upper_bound(ends.begin(), ends.end(), at) - ends.begin();
      if (type == DType::kInt32)
        Raw<int32_t>(out)[row * count + i] = static_cast<int32_t>(column);
      else
        Raw<int64_t>(out)[row * count + i] = column;
    }
  }
  return out;
}

}  // namespace longshore::engine::kernels::random

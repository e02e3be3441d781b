// Fake quantisation: rounds floats to the values that a quantised model can represent. The results are still floats.
#include <algorithm>
#include <cmath>
#include <limits>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/neural/families.h"
#include "serving-node/engine/kernels/neural/range_layout.h"

namespace longshore::engine::kernels::neural {
namespace {

// The values that the quantised model can represent: from `low` to `high` in steps of `size`. One of them is zero.
struct Steps {
  float low = 0, high = 0;
  float size = 0;

  // Size 0 means that the range is [0, 0], whose only value is zero.
  float Nearest(float x) const {
    if (size == 0) return 0;
    const float inverse = 1.0F / size;
    const float zero = std::floor(-low * inverse + 0.5F);
    const float inside = std::max(std::min(x, high), low);
    return std::floor((inside - low) * inverse - zero + 0.5F) * size;
  }
};

// The steps from `low` to `high`, after this range is shifted so that zero is one of the steps.
Steps StepsOf(float low, float high, const graph::Attributes& attributes) {
  if (low == 0 && high == 0) return {};
  const auto first = static_cast<float>(attributes.Bool("narrow_range", false) ? 1 : 0);
  const auto last = static_cast<float>((int64_t{1} << attributes.Int("num_bits", 8)) - 1);
  const float size = (high - low) / (last - first);
  const float zero = std::round(std::clamp(first - low / size, first, last));
  return {(first - zero) * size, (last - zero) * size, size};
}

Status CheckBits(const graph::Node& node) {
  const int64_t bits = node.attributes.Int("num_bits", 8);
  return bits >= 2 && bits <= 16 ? Status{} : Unimplemented("{} with num_bits {}", node.op, bits);
}

Status CheckArgs(const graph::Node& node) {
  RETURN_IF_ERROR(CheckBits(node));
  const float low = node.attributes.Float("min", -6), high = node.attributes.Float("max", 6);
  return low < high ? Status{} : Unimplemented("{} with min {} and max {}", node.op, low, high);
}

// `steps` has one entry for each index of the last axis of `in`, or a single entry for all values.
Outputs Stepped(const Tensor& in, const std::vector<Steps>& steps) {
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  for (int64_t i = 0; i < in.elements(); ++i)
    Raw<float>(out)[i] = steps[static_cast<size_t>(i) % steps.size()].Nearest(Raw<float>(in)[i]);
  return One(out);
}

Status CheckFloat(const Tensor& tensor, std::string_view what) {
  if (tensor.type() == DType::kFloat) return {};
  return InvalidArgument("{} must be of DT_FLOAT, not {}", what, DTypeName(tensor.type()));
}

Outputs FakeQuantArgs(const Call& call) {
  RETURN_IF_ERROR(CheckFloat(call.in(0), "inputs"));
  const auto& a = call.attributes();
  return Stepped(call.in(0), {StepsOf(a.Float("min", -6), a.Float("max", 6), a)});
}

Outputs FakeQuantVars(const Call& call) {
  for (const auto& input : call.inputs) RETURN_IF_ERROR(CheckFloat(input, "each input"));
  if (call.in(1).rank() != 0 || call.in(2).rank() != 0) return InvalidArgument("min and max must be scalars");
  return Stepped(call.in(0), {StepsOf(*Raw<float>(call.in(1)), *Raw<float>(call.in(2)), call.attributes())});
}

Outputs FakeQuantChannels(const Call& call) {
  for (const auto& input : call.inputs) RETURN_IF_ERROR(CheckFloat(input, "each input"));
  const Tensor& in = call.in(0);
  if (in.rank() < 1) return InvalidArgument("inputs must be at least a vector");
  const Shape channels = {in.shape().back()};
  if (call.in(1).shape() != channels || call.in(2).shape() != channels)
    return InvalidArgument("min {} and max {} must be vectors of {} channels", ToString(call.in(1).shape()),
                           ToString(call.in(2).shape()), channels[0]);
  std::vector<Steps> steps;
  for (int64_t c = 0; c < call.in(1).elements(); ++c)
    steps.push_back(StepsOf(Raw<float>(call.in(1))[c], Raw<float>(call.in(2))[c], call.attributes()));
  return steps.empty() ? One(in) : Stepped(in, steps);
}

// The lowest and the highest of the quantised integers.
struct Integers {
  double low = 0, high = 0;
};

Integers IntegersOf(const graph::Attributes& attributes, int64_t bits) {
  if (!attributes.Bool("signed_input", true)) return {0, std::ldexp(1, static_cast<int>(bits)) - 1};
  const double half = std::ldexp(1, static_cast<int>(bits) - 1);
  return {attributes.Bool("narrow_range", false) ? 1 - half : -half, half - 1};
}

template <typename T>
struct Range {
  T low = 0, high = 0;
};

// Rounds a value by scaling it to integers and back. The end of the range with the larger magnitude determines the
// scale. If the node is given a range, values beyond it are clamped to it.
template <typename T>
struct Rounding {
  Rounding(Range<T> range, const Integers& integers, bool is_given, bool half_up)
      : clamps(is_given), rounds_half_up(half_up), ends(range) {
    const T low = static_cast<T>(integers.low), high = static_cast<T>(integers.high);
    const T by_low = low * range.low > 0 ? low / range.low : std::numeric_limits<T>::max();
    const T by_high = high * range.high > 0 ? high / range.high : std::numeric_limits<T>::max();
    scale = std::min(by_low, by_high);
    inverse = by_low < by_high ? range.low / low : range.high / high;
    (by_low < by_high ? ends.high : ends.low) = by_low < by_high ? high * inverse : low * inverse;
  }
  T operator()(T x) const {
    const T scaled = (clamps ? std::max(std::min(x, ends.high), ends.low) : x) * scale;
    return (rounds_half_up ? std::floor(scaled + T(0.5)) : std::nearbyint(scaled)) * inverse;
  }

  bool clamps, rounds_half_up;
  Range<T> ends;
  T scale, inverse;
};

template <typename T>
std::vector<Range<T>> FindRanges(const Tensor& in, const RangeLayout& layout) {
  std::vector<Range<T>> ranges(static_cast<size_t>(layout.ranges),
                               {std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()});
  for (int64_t i = 0; i < in.elements(); ++i) {
    auto& range = ranges[layout.RangeOf(i)];
    range.low = std::min(range.low, Raw<T>(in)[i]);
    range.high = std::max(range.high, Raw<T>(in)[i]);
  }
  return ranges;
}

template <typename T>
Result<Range<T>> GivenRange(const Call& call) {
  for (const size_t k : {1U, 2U}) {
    if (call.in(k).type() != call.in(0).type() || call.in(k).rank() != 0)
      return InvalidArgument("input_min and input_max must be one {} each", DTypeName(call.in(0).type()));
  }
  const Range<T> range{*Raw<T>(call.in(1)), *Raw<T>(call.in(2))};
  if (range.low <= range.high) return range;
  return InvalidArgument("Invalid range: input_min {} > input_max {}", range.low, range.high);
}

template <typename T>
Outputs Rounded(const Call& call, int64_t bits) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const RangeLayout layout, RangeLayoutOf(call));
  const bool is_given = call.attributes().Bool("range_given", false);
  std::vector<Range<T>> ranges;
  if (is_given) {
    ASSIGN_OR_RETURN(const Range<T> range, GivenRange<T>(call));
    ranges.push_back(range);
  } else if (in.elements() > 0) {
    ranges = FindRanges<T>(in, layout);
  }
  const bool half_up = call.attributes().Text("round_mode", "HALF_TO_EVEN") == "HALF_UP";
  std::vector<Rounding<T>> roundings;
  for (const auto& range : ranges)
    roundings.emplace_back(range, IntegersOf(call.attributes(), bits), is_given, half_up);
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  for (int64_t i = 0; i < in.elements(); ++i) Raw<T>(out)[i] = roundings[layout.RangeOf(i)](Raw<T>(in)[i]);
  return One(out);
}

Outputs QuantizeAndDequantize(const Call& call) {
  const int64_t bits = call.attributes().Int("num_bits", 8);
  return ForFloats(call.in(0).type(), [&](auto tag) { return Rounded<typename decltype(tag)::type>(call, bits); });
}

// Like QuantizeAndDequantizeV2, but the number of bits is an input instead of an attribute.
Outputs QuantizeAndDequantizeV3(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t bits, IntOf(call.in(3), "num_bits"));
  if (bits < 1 || bits > 62) return InvalidArgument("num_bits {} is out of range: it must be from 1 to 62", bits);
  return ForFloats(call.in(0).type(), [&](auto tag) { return Rounded<typename decltype(tag)::type>(call, bits); });
}

// Unimplemented if the node is given ranges along an axis. TensorFlow does not accept that either: its checks
// contradict each other.
Status CheckRanges(const graph::Node& node) {
  if (!node.attributes.Bool("range_given", false) || node.attributes.Int("axis", -1) == -1) return {};
  return Unimplemented("{} with input_min and input_max along an axis", node.op);
}

Status CheckBitsAndRanges(const graph::Node& node) {
  const int64_t bits = node.attributes.Int("num_bits", 8);
  const int64_t least = node.attributes.Bool("signed_input", true) ? 2 : 1;
  if (bits < least || bits > 62) return Unimplemented("{} with num_bits {}", node.op, bits);
  return CheckRanges(node);
}

constexpr Kernel kKernels[] = {
    {"FakeQuantWithMinMaxArgs", FakeQuantArgs, 1, kAnyType, CheckArgs},
    {"FakeQuantWithMinMaxVars", FakeQuantVars, 3, kAnyType, CheckBits},
    {"FakeQuantWithMinMaxVarsPerChannel", FakeQuantChannels, 3, kAnyType, CheckBits},
    {"QuantizeAndDequantizeV2", QuantizeAndDequantize, 3, kFloats, CheckBitsAndRanges},
    {"QuantizeAndDequantizeV3", QuantizeAndDequantizeV3, 4, kFloats, CheckRanges},
    {"QuantizeAndDequantizeV4", QuantizeAndDequantize, 3, kFloats, CheckBitsAndRanges},
};

}  // namespace

std::span<const Kernel> QuantizeKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::neural

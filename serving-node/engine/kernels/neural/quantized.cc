// Converts floats to the small integers of a quantised model, and back.
#include <algorithm>
#include <cmath>
#include <limits>

#include "serving-node/engine/kernels/base/room.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/neural/families.h"
#include "serving-node/engine/kernels/neural/range_layout.h"

namespace longshore::engine::kernels::neural {
namespace {

// Calls f(TypeTag<T>) for a type in kQuantized. T is the integer type in which its values are stored.
template <typename F>
Outputs ForQuantized(DType type, F f) {
  switch (type) {
    case DType::kQint8: return f(TypeTag<int8_t>{});
    case DType::kQuint8: return f(TypeTag<uint8_t>{});
    case DType::kQint16: return f(TypeTag<int16_t>{});
    case DType::kQuint16: return f(TypeTag<uint16_t>{});
    case DType::kQint32: return f(TypeTag<int32_t>{});
    default: return WrongType(type);
  }
}

template <typename T>
constexpr T kLowest = std::numeric_limits<T>::lowest();
template <typename T>
constexpr T kHighest = std::numeric_limits<T>::max();

// The number of steps from the lowest integer to the highest.
template <typename T>
constexpr double kSteps = static_cast<double>(kHighest<T>) - static_cast<double>(kLowest<T>);

// The number that is added to the lowest integer of T to make it 0.
template <typename T>
constexpr float kOffset = std::is_signed_v<T> ? static_cast<float>((kSteps<T> + 1) / 2) : 0.0F;

// The range of the floats that the integers represent.
struct Range {
  float low = 0, high = 0;
};

// Converts to int32; INT32_MIN if x is out of range or NaN.
int32_t ToInt32(float x) {
  constexpr float kEnd = 2147483648.0F;
  return x >= -kEnd && x < kEnd ? static_cast<int32_t>(x) : INT32_MIN;
}

// Converts to an integer. NaN becomes 0. TensorFlow's result for NaN is not always 0: its vectorised code gives the
// lowest number.
template <typename T>
T ToInteger(float x) {
  return std::isnan(x) ? T{0} : static_cast<T>(ToInt32(x));
}

// Clamps x to the range. NaN stays NaN.
float Between(float x, Range range) { return x > range.high ? range.high : x < range.low ? range.low : x; }

// Mode MIN_COMBINED: the lowest integer represents the low end of the range, and the highest integer the high end.
template <typename T>
struct MinCombined {
  explicit MinCombined(Range ends)
      : range(ends), scale(static_cast<float>(kSteps<T> / static_cast<double>(ends.high - ends.low))) {}
  T operator()(float x) const {
    const float steps = (Between(x, range) - range.low) * scale;
    return ToInteger<T>(std::is_signed_v<T> ? std::round(steps - kOffset<T>) : steps + 0.5F);
  }
  Range range;
  float scale;
};

// Mode MIN_FIRST: like MinCombined, but zero is one of the represented numbers.
template <typename T>
struct MinFirst {
  explicit MinFirst(Range range)
      : scale(range.high == range.low ? 0
                                      : static_cast<float>(kSteps<T> / static_cast<double>(range.high - range.low))),
        first(std::round(range.low * scale) - static_cast<float>(kLowest<T>)) {}
  T operator()(float x) const {
    constexpr Range kInts = {static_cast<float>(kLowest<T>), std::min(static_cast<float>(kHighest<T>), 2147483520.0F)};
    return static_cast<T>(ToInt32(Between(std::round(x * scale) - first, kInts)));
  }
  float scale, first;
};

// Mode SCALED: the integer 0 represents the number 0.
template <typename T, bool kToEven>
struct Scaled {
  explicit Scaled(Range ends) : range(ends) {}
  T operator()(float x) const {
    const float steps = Between(x, range) * scale;
    return ToInteger<T>(kToEven ? std::nearbyint(steps) : std::round(steps));
  }
  Range range;
  float scale = 1;
};

// The lowest integer that is used: the lowest of T, or one more if narrow_range is true.
template <typename T>
float FirstOf(const Call& call) {
  return static_cast<float>(static_cast<int>(kLowest<T>) + (call.attributes().Bool("narrow_range", false) ? 1 : 0));
}

// The factor by which floats become integers; `first` is the lowest integer. The end of the range with the larger
// magnitude determines the factor. Sets `range` to the floats that the integers can represent.
template <typename T>
float ScaleOf(float first, Range* range) {
  constexpr auto kLast = static_cast<float>(kHighest<T>);
  constexpr float kAny = std::numeric_limits<float>::max();
  const float by_low = first * range->low > 0 ? first / range->low : kAny;
  const float by_high = kLast * range->high > 0 ? kLast / range->high : kAny;
  const float scale = std::min(by_low, by_high);
  *range = {first / scale, kLast / scale};
  return scale;
}

Result<RangeLayout> LayoutOf(const Call& call) {
  ASSIGN_OR_RETURN(const RangeLayout layout, RangeLayoutOf(call));
  if (layout.ranges != 1 && call.attributes().Text("mode", "") == "MIN_FIRST")
    return Unimplemented("MIN_FIRST with ranges along an axis is not supported");
  return layout;
}

Status CheckEnds(const Tensor& ends, const RangeLayout& layout, bool is_vector) {
  if (ends.type() == DType::kFloat && ends.elements() == layout.ranges && (ends.rank() == 1 || !is_vector)) return {};
  return InvalidArgument("min_range and max_range must each be {}{} floats, not {}{}", is_vector ? "a vector of " : "",
                         layout.ranges, DTypeName(ends.type()), ToString(ends.shape()));
}

// Applies functions[i] to the values of `in` that have the range i.
template <typename From, typename To, typename F>
Tensor Each(const Call& call, const RangeLayout& layout, const std::vector<F>& functions, Tensor out) {
  const Tensor& in = call.in(0);
  size_t range = 0;
  for (int64_t first = 0; first < in.elements(); first += layout.shared) {
    const From* from = Raw<From>(in) + first;
    std::transform(from, from + layout.shared, Raw<To>(out) + first, functions[range]);
    range = range + 1 == functions.size() ? 0 : range + 1;
  }
  return out;
}

// Widens the range so that it contains zero, and so that its width is at least `closest` times the largest of 1 and the
// magnitudes of its ends.
Result<Range> Widened(Range range, float closest) {
  if (range.low > range.high) return InvalidArgument("input_max_range must be larger than input_min_range");
  const float least = std::max(1.0F, std::max(std::fabs(range.low), std::fabs(range.high))) * closest;
  const float low = std::min(0.0F, range.low);
  return Range{low, std::max(0.0F, std::max(range.high, low + least))};
}

Result<std::vector<Range>> RangesOf(const Call& call, const RangeLayout& layout) {
  const bool is_vector = call.attributes().Int("axis", -1) >= 0;
  for (const size_t k : {1U, 2U}) RETURN_IF_ERROR(CheckEnds(call.in(k), layout, is_vector));
  const float closest = call.attributes().Float("ensure_minimum_range", 0.01F);
  std::vector<Range> ranges;
  for (int64_t i = 0; i < layout.ranges; ++i) {
    ASSIGN_OR_RETURN(const Range range, Widened({Raw<float>(call.in(1))[i], Raw<float>(call.in(2))[i]}, closest));
    ranges.push_back(range);
  }
  return ranges;
}

template <typename T, bool kToEven>
std::vector<Scaled<T, kToEven>> AllScaled(const Call& call, std::vector<Range>* ranges) {
  std::vector<Scaled<T, kToEven>> all;
  for (Range& range : *ranges) {
    const float scale = ScaleOf<T>(FirstOf<T>(call), &range);
    all.emplace_back(range).scale = scale;
  }
  return all;
}

// Quantises in the mode that the attribute `mode` names. Mode SCALED also sets `ranges` to what the integers can
// represent.
template <typename T>
Tensor QuantizedBy(const Call& call, const RangeLayout& layout, Tensor out, std::vector<Range>* ranges) {
  const std::string mode = call.attributes().Text("mode", "MIN_COMBINED");
  if (mode == "SCALED") {
    if (call.attributes().Text("round_mode", "") == "HALF_TO_EVEN")
      return Each<float, T>(call, layout, AllScaled<T, true>(call, ranges), out);
    return Each<float, T>(call, layout, AllScaled<T, false>(call, ranges), out);
  }
  if (mode == "MIN_FIRST")
    return Each<float, T>(call, layout, std::vector<MinFirst<T>>(ranges->begin(), ranges->end()), out);
  return Each<float, T>(call, layout, std::vector<MinCombined<T>>(ranges->begin(), ranges->end()), out);
}

Outputs Quantize(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.type() != DType::kFloat) return InvalidArgument("input must be of DT_FLOAT, not {}", DTypeName(in.type()));
  ASSIGN_OR_RETURN(const RangeLayout layout, LayoutOf(call));
  ASSIGN_OR_RETURN(auto ranges, RangesOf(call, layout));
  const DType type = call.attributes().Type("T");
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, in.shape()));
  const Shape ends = layout.ranges == 1 ? Shape{} : Shape{layout.ranges};
  ASSIGN_OR_RETURN(Tensor lows, Tensor::Make(DType::kFloat, ends));
  ASSIGN_OR_RETURN(Tensor highs, Tensor::Make(DType::kFloat, ends));
  return ForQuantized(type, [&](auto tag) -> Outputs {
    out = QuantizedBy<typename decltype(tag)::type>(call, layout, out, &ranges);
    std::ranges::transform(ranges, Raw<float>(lows), &Range::low);
    std::ranges::transform(ranges, Raw<float>(highs), &Range::high);
    return std::vector<Tensor>{out, lows, highs};
  });
}

// Computes (x + before) * scale + after, in float.
template <typename T>
struct Line {
  float operator()(T x) const { return (FloatOf(x) + before) * scale + after; }

  // Like TensorFlow in mode SCALED with a single range, converts the float to int32 and back. The largest integers,
  // which float rounds up to 2^31, thus become negative.
  float FloatOf(T x) const {
    const auto value = static_cast<float>(x);
    return wraps ? static_cast<float>(ToInt32(value)) : value;
  }

  float before = 0, scale = 1, after = 0;
  bool wraps = false;
};

template <typename T>
Line<T> LineOf(const Call& call, Range range, bool is_only) {
  const std::string mode = call.attributes().Text("mode", "MIN_COMBINED");
  constexpr auto kLast = static_cast<float>(kHighest<T>);
  if (mode == "SCALED") {
    const float by_high = range.high / kLast;
    // For unsigned integers the low end of the range is ignored.
    return {0, std::is_signed_v<T> ? std::max(range.low / FirstOf<T>(call), by_high) : by_high, 0, is_only};
  }
  if (mode == "MIN_FIRST") {
    const auto scale = static_cast<float>(static_cast<double>(range.high - range.low) / kSteps<T>);
    const float low = range.high == range.low ? range.low : std::round(range.low / scale) * scale;
    return {0, scale, low - static_cast<float>(kLowest<T>) * scale, false};
  }
  return {kOffset<T>, (range.high - range.low) / (kLast - static_cast<float>(kLowest<T>)), range.low, false};
}

Outputs Dequantize(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const RangeLayout layout, LayoutOf(call));
  for (const size_t k : {1U, 2U}) RETURN_IF_ERROR(CheckEnds(call.in(k), layout, layout.ranges != 1));
  const DType type = call.attributes().Type("dtype", DType::kFloat);
  ASSIGN_OR_RETURN(const Call rest, ReserveRoom(call, DType::kFloat, in.shape()));
  if (type != DType::kFloat) RETURN_IF_ERROR(rest.HasRoomFor(type, in.shape()));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kFloat, in.shape()));
  return ForQuantized(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<Line<T>> lines;
    for (int64_t i = 0; i < layout.ranges; ++i)
      lines.push_back(LineOf<T>(call, {Raw<float>(call.in(1))[i], Raw<float>(call.in(2))[i]}, layout.ranges == 1));
    out = Each<T, float>(call, layout, lines, out);
    return One(type == DType::kFloat ? Result<Tensor>(out) : ToShortFloat(out, type));
  });
}

Status CheckMode(const graph::Node& node) {
  const std::string mode = node.attributes.Text("mode", "MIN_COMBINED");
  if (mode == "MIN_COMBINED" || mode == "MIN_FIRST" || mode == "SCALED") return {};
  return Unimplemented("{} with mode {}", node.op, mode);
}

Status CheckRounding(const graph::Node& node) {
  RETURN_IF_ERROR(CheckMode(node));
  const std::string round_mode = node.attributes.Text("round_mode", "HALF_AWAY_FROM_ZERO");
  if (round_mode == "HALF_AWAY_FROM_ZERO") return {};
  if (round_mode == "HALF_TO_EVEN" && node.attributes.Text("mode", "") == "SCALED") return {};
  return Unimplemented("{} with round_mode {} in mode {}", node.op, round_mode,
                       node.attributes.Text("mode", "MIN_COMBINED"));
}

Status CheckFloats(const graph::Node& node) {
  RETURN_IF_ERROR(CheckMode(node));
  const DType type = node.attributes.Type("dtype", DType::kFloat);
  if (type == DType::kFloat) return {};
  if (type == DType::kBfloat16 && node.attributes.Text("mode", "MIN_COMBINED") == "MIN_COMBINED") return {};
  return Unimplemented("{} to {} in mode {}", node.op, DTypeName(type), node.attributes.Text("mode", "MIN_COMBINED"));
}

constexpr Kernel kKernels[] = {
    {"Dequantize", Dequantize, 3, kQuantized, CheckFloats},
    {"QuantizeV2", Quantize, 3, kQuantized, CheckRounding},
};

}  // namespace

std::span<const Kernel> QuantizedKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::neural

#include "serving-node/graph/shapes.h"

#include <algorithm>

namespace longshore::graph {

using tensor::Shape;

std::optional<Shape> Broadcast(const Shape& a, const Shape& b) {
  Shape both(std::max(a.size(), b.size()), 1);
  for (size_t i = 1; i <= both.size(); ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1 && x >= 0 && y >= 0) return std::nullopt;
    // If one size is unknown and the other is neither 1 nor unknown, the result has the latter.
    both[both.size() - i] = x == 1 || (x < 0 && y != 1) ? y : x;
  }
  return both;
}

std::optional<Shape> EitherShape(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Shape both = *a;
  for (size_t i = 0; i < both.size(); ++i) {
    if (both[i] != (*b)[i]) both[i] = -1;
  }
  return both;
}

bool IsWhole(const std::optional<Shape>& shape) {
  return shape && std::ranges::none_of(*shape, [](int64_t size) { return size < 0; });
}

std::optional<AxisSlice> SliceOfAxis(int64_t begin, int64_t end, int64_t step, bool no_begin, bool no_end,
                                     int64_t size) {
  if (step == 0) return std::nullopt;
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? size : size - 1;
  const auto place = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
  const int64_t from = no_begin ? (step > 0 ? low : high) : place(begin);
  const int64_t to = no_end ? (step > 0 ? high : low) : place(end);
  const int64_t span = step > 0 ? to - from : from - to;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const int64_t count = span <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride) + 1;
  return AxisSlice{from, count};
}

std::optional<int64_t> InferredSize(const Shape& given, const Shape& wanted) {
  const bool has_zero = std::ranges::find(wanted, 0) != wanted.end();
  int64_t elements = 1, known = 1;
  for (const int64_t size : given) {
    if (__builtin_mul_overflow(elements, has_zero && size == 0 ? 1 : size, &elements)) return std::nullopt;
  }
  for (const int64_t size : wanted) {
    if (__builtin_mul_overflow(known, size <= 0 ? 1 : size, &known)) return std::nullopt;
  }
  return elements % known == 0 ? std::optional(elements / known) : std::nullopt;
}

std::optional<int64_t> Times(int64_t a, int64_t b) {
  int64_t product = -1;
  if (a < 0 || b < 0) return -1;
  return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

std::optional<int64_t> Plus(int64_t a, int64_t b) {
  int64_t sum = -1;
  if (a < 0 || b < 0) return -1;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

std::optional<int64_t> DividedBy(int64_t a, int64_t b) {
  if (a < 0 || b < 1) return -1;
  return a % b == 0 ? std::optional(a / b) : std::nullopt;
}

std::optional<BroadcastKind> BroadcastKindOf(const Shape& operand, const Shape& result) {
  if (operand.size() > result.size()) return std::nullopt;
  Shape full(result.size() - operand.size(), 1);
  full.insert(full.end(), operand.begin(), operand.end());
  if (full == result) return BroadcastKind::kFull;
  if (tensor::ElementCount(operand).value_or(0) == 1) return BroadcastKind::kScalar;
  const auto is_one = [](int64_t size) { return size == 1; };
  const auto repeated = std::find_if_not(full.begin(), full.end(), is_one);
  if (std::equal(repeated, full.end(), result.begin() + (repeated - full.begin()))) return BroadcastKind::kTrailing;
  const auto differs = std::ranges::mismatch(full, result).in1;
  if (*differs != 1) return std::nullopt;  // The operand is larger than the result.
  if (differs == full.end() - 1) return BroadcastKind::kPerRow;
  const auto same_again = std::find_if_not(differs, full.end(), is_one);
  return std::equal(same_again, full.end(), result.begin() + (same_again - full.begin())) && full.back() != 1
             ? std::optional(BroadcastKind::kMiddle)
             : std::nullopt;
}

}  // namespace longshore::graph

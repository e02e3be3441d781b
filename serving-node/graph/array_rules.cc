#include "serving-node/graph/array_rules.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "serving-node/graph/limits.h"
#include "serving-node/graph/shapes.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;
using Sizes = std::optional<Shape>;

std::vector<Type> One(DType type, Sizes shape) { return {{type, std::move(shape), std::nullopt}}; }

std::optional<int64_t> NumberIn(const Type& type) {
  const auto numbers = VectorIn(type);
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

// Returns the axis as an index from 0 on; nullopt if it is out of range.
std::optional<size_t> AxisFrom(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

// Returns a shape of unknown sizes. A scalar has none, so nothing would say that it still has to be checked.
Sizes Unknown(size_t rank) { return rank == 0 ? std::nullopt : Sizes(Shape(rank, -1)); }

// Returns the shape in a vector that the run computes: only its rank is known.
Sizes UnknownIn(const Type& vector) {
  if (!vector.shape || vector.shape->size() != 1 || vector.shape->front() < 0) return std::nullopt;
  if (vector.type != DType::kInt32 && vector.type != DType::kInt64) return std::nullopt;
  if (vector.shape->front() > tensor::kRankMax) return std::nullopt;
  return Unknown(static_cast<size_t>(vector.shape->front()));
}

// Merges what two inputs say of the same size; false if they differ.
bool Merge(int64_t size, int64_t* with) {
  if (*with < 0) *with = size;
  return size < 0 || size == *with;
}

// Merges two shapes. Ignores the sizes of the axis `but`. Returns false if other sizes differ.
bool MergeBut(size_t but, const Shape& shape, Shape* with) {
  if (shape.size() != with->size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != but && !Merge(shape[i], &(*with)[i])) return false;
  }
  return true;
}

std::vector<Type> Repeated(DType type, const Sizes& shape, int64_t count) {
  if (count < 0 || count > kOutputsMax) return {};
  return std::vector<Type>(static_cast<size_t>(count), {type, shape, std::nullopt});
}

Sizes Reshaped(const Type& input, Shape wanted) {
  if (std::ranges::any_of(wanted, [](int64_t size) { return size < -1; })) return std::nullopt;
  if (std::ranges::count(wanted, -1) > 1) return std::nullopt;
  if (!IsWhole(input.shape)) return wanted;
  const auto unknown = std::ranges::find(wanted, -1);
  if (unknown != wanted.end()) {
    const auto size = InferredSize(*input.shape, wanted);
    if (!size) return std::nullopt;
    *unknown = *size;
  }
  const auto before = tensor::ElementCount(*input.shape), after = tensor::ElementCount(wanted);
  return before && after && *before == *after ? Sizes(std::move(wanted)) : std::nullopt;
}

Sizes Concatenated(std::span<const Type> parts, const Type& axis) {
  if (parts.empty() || !std::ranges::all_of(parts, [](const Type& part) { return part.shape.has_value(); }))
    return std::nullopt;
  Shape shape = *parts[0].shape;
  const auto given = NumberIn(axis);
  if (!given) return Unknown(shape.size());
  const auto at = AxisFrom(*given, shape.size());
  if (!at) return std::nullopt;
  for (const Type& part : parts.subspan(1)) {
    if (part.type != parts[0].type || !MergeBut(*at, *part.shape, &shape)) return std::nullopt;
    const auto sum = Plus(shape[*at], (*part.shape)[*at]);
    if (!sum) return std::nullopt;
    shape[*at] = *sum;
  }
  return shape;
}

// One axis of a StridedSlice. Returns its size in the output; -1 if it is unknown, nullopt if the step is zero.
std::optional<int64_t> CutSize(int64_t begin, int64_t end, int64_t step, bool no_begin, bool no_end, int64_t size) {
  if (size < 0) return step == 0 ? std::nullopt : std::optional<int64_t>(-1);
  const auto part = SliceOfAxis(begin, end, step, no_begin, no_end, size);
  return part ? std::optional(part->count) : std::nullopt;
}

struct Masks {
  int64_t begin, end, ellipsis, new_axis, shrink;
  static bool Has(int64_t mask, size_t i) { return i < 63 && ((mask >> i) & 1) != 0; }
};

// The shape of in[begin:end:steps]. -1 stands for the sizes that depend on unknown values.
class StridedCut {
 public:
  StridedCut(const Node& node, const Shape& in, std::span<const Type> inputs)
      : masks_{node.attributes.Int("begin_mask", 0), node.attributes.Int("end_mask", 0),
               node.attributes.Int("ellipsis_mask", 0), node.attributes.Int("new_axis_mask", 0),
               node.attributes.Int("shrink_axis_mask", 0)},
        in_(in),
        begin_(VectorIn(At(inputs, 1))),
        end_(VectorIn(At(inputs, 2))),
        steps_(VectorIn(At(inputs, 3))) {
    for (size_t i = 1; i <= 3; ++i) {
      const Type& input = At(inputs, i);
      if (input.shape && input.shape->size() == 1) Merge(input.shape->front(), &count_);
      if (input.shape && input.shape->empty()) Merge(1, &count_);
    }
  }

  Sizes Run() {
    if (count_ < 0 || count_ > 32 || !HaveCount(begin_) || !HaveCount(end_) || !HaveCount(steps_)) return std::nullopt;
    if ((masks_.ellipsis & (masks_.ellipsis - 1)) != 0) return std::nullopt;
    size_t named = 0;
    for (size_t i = 0; i < Count(); ++i) {
      named += static_cast<size_t>(!Masks::Has(masks_.ellipsis, i) && !Masks::Has(masks_.new_axis, i));
    }
    if (named > in_.size()) return std::nullopt;
    size_t covered = in_.size() - named;
    for (size_t i = 0; i < Count(); ++i) {
      if (Masks::Has(masks_.ellipsis, i)) {
        Keep(std::exchange(covered, 0));
      } else if (Masks::Has(masks_.new_axis, i)) {
        out_.push_back(1);
      } else if (!Cut(i)) {
        return std::nullopt;
      }
    }
    Keep(covered);
    return out_;
  }

 private:
  size_t Count() const { return static_cast<size_t>(count_); }
  bool HaveCount(const std::optional<std::vector<int64_t>>& values) const {
    return !values || values->size() == Count();
  }

  void Keep(size_t count) {
    for (size_t i = 0; i < count; ++i) out_.push_back(in_[axis_++]);
  }

  bool Cut(size_t i) {
    const int64_t size = in_[axis_++];
    const bool no_begin = Masks::Has(masks_.begin, i), no_end = Masks::Has(masks_.end, i);
    if (Masks::Has(masks_.shrink, i)) {
      if (steps_ && (*steps_)[i] <= 0) return false;
      if (!begin_ || size < 0) return true;
      const int64_t at = (*begin_)[i] < 0 ? (*begin_)[i] + size : (*begin_)[i];
      return at >= 0 && at < size;
    }
    const bool knows = steps_ && (begin_ || no_begin) && (end_ || no_end);
    const auto cut =
        knows ? CutSize(no_begin ? 0 : (*begin_)[i], no_end ? 0 : (*end_)[i], (*steps_)[i], no_begin, no_end, size)
              : std::optional<int64_t>(-1);
    if (cut) out_.push_back(*cut);
    return cut.has_value();
  }

  const Masks masks_;
  const Shape& in_;
  const std::optional<std::vector<int64_t>> begin_, end_, steps_;
  int64_t count_ = -1;
  size_t axis_ = 0;
  Shape out_;
};

Sizes Padded(const Node& node, const Shape& in, const std::vector<int64_t>& pads) {
  if (pads.size() != 2 * in.size()) return std::nullopt;
  const bool mirrors = node.op == "MirrorPad";
  const int64_t inner = node.attributes.Text("mode", "REFLECT") == "REFLECT" ? 1 : 0;
  Shape shape = in;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t before = pads[2 * i], after = pads[2 * i + 1];
    if (before < 0 || after < 0) return std::nullopt;
    if (mirrors && in[i] >= 0 && (before > in[i] - inner || after > in[i] - inner)) return std::nullopt;
    const auto both = Plus(before, after);
    const auto size = both ? Plus(in[i], *both) : std::nullopt;
    if (!size) return std::nullopt;
    shape[i] = *size;
  }
  return shape;
}

}  // namespace

std::vector<Type> LikeFirst(const Node& /*node*/, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  return One(inputs[0].type, inputs[0].shape);
}

std::vector<Type> ReshapeType(const Node& /*node*/, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  const auto wanted = VectorIn(At(inputs, 1));
  return One(input.type, wanted ? Reshaped(input, *wanted) : UnknownIn(At(inputs, 1)));
}

std::vector<Type> ExpandDimsType(const Node& /*node*/, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  if (!input.shape) return One(input.type, std::nullopt);
  const auto given = NumberIn(At(inputs, 1));
  if (!given) return One(input.type, Unknown(input.shape->size() + 1));
  const auto axis = AxisFrom(*given, input.shape->size() + 1);
  if (!axis) return One(input.type, std::nullopt);
  Shape shape = *input.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), 1);
  return One(input.type, std::move(shape));
}

std::vector<Type> SqueezeType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  if (!input.shape) return One(input.type, std::nullopt);
  const Shape& in = *input.shape;
  const std::vector<int64_t> given = node.attributes.Ints("squeeze_dims");
  if (given.empty() && !IsWhole(in)) return One(input.type, std::nullopt);
  std::vector<bool> goes(in.size());
  for (size_t i = 0; i < in.size(); ++i) goes[i] = given.empty() && in[i] == 1;
  for (const int64_t number : given) {
    const auto axis = AxisFrom(number, in.size());
    if (!axis || in[*axis] > 1 || in[*axis] == 0) return One(input.type, std::nullopt);
    goes[*axis] = true;
  }
  Shape shape;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!goes[i]) shape.push_back(in[i]);
  }
  return One(input.type, std::move(shape));
}

std::vector<Type> TransposeType(const Node& /*node*/, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  const auto order = VectorIn(At(inputs, 1));
  if (!order) return One(input.type, input.shape ? Unknown(input.shape->size()) : UnknownIn(At(inputs, 1)));
  const size_t rank = order->size();
  if (input.shape && input.shape->size() != rank) return One(input.type, std::nullopt);
  std::vector<bool> seen(rank);
  Shape shape;
  for (const int64_t given : *order) {
    const auto axis = AxisFrom(given, rank);
    if (!axis || seen[*axis]) return One(input.type, std::nullopt);
    seen[*axis] = true;
    shape.push_back(input.shape ? (*input.shape)[*axis] : -1);
  }
  return One(input.type, std::move(shape));
}

std::vector<Type> BroadcastToType(const Node& /*node*/, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  const auto wanted = VectorIn(At(inputs, 1));
  if (!wanted) return One(input.type, UnknownIn(At(inputs, 1)));
  if (At(inputs, 1).value->rank() != 1 || !IsWhole(wanted)) return One(input.type, std::nullopt);
  const bool fits = !input.shape || Broadcast(*input.shape, *wanted) == *wanted;
  return One(input.type, fits ? Sizes(*wanted) : std::nullopt);
}

std::vector<Type> TileType(const Node& /*node*/, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  const auto multiples = VectorIn(At(inputs, 1));
  if (!multiples) return One(input.type, input.shape ? Unknown(input.shape->size()) : UnknownIn(At(inputs, 1)));
  if (!input.shape || input.shape->size() != multiples->size() || !IsWhole(multiples))
    return One(input.type, std::nullopt);
  Shape shape;
  for (size_t i = 0; i < multiples->size(); ++i) {
    const auto size = Times((*input.shape)[i], (*multiples)[i]);
    if (!size) return One(input.type, std::nullopt);
    shape.push_back(*size);
  }
  return One(input.type, std::move(shape));
}

std::vector<Type> PadType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  if (!input.shape) return One(input.type, std::nullopt);
  const auto pads = IntsIn(At(inputs, 1));
  return One(input.type, pads ? Padded(node, *input.shape, *pads) : Unknown(input.shape->size()));
}

std::vector<Type> FillType(const Node& /*node*/, std::span<const Type> inputs) {
  const auto shape = VectorIn(At(inputs, 0));
  const DType type = At(inputs, 1).type;
  if (!shape) return One(type, UnknownIn(At(inputs, 0)));
  return One(type, IsWhole(shape) ? Sizes(*shape) : std::nullopt);
}

std::vector<Type> ConcatType(const Node& /*node*/, std::span<const Type> inputs) {
  if (inputs.size() < 2) return {};
  return One(inputs[1].type, Concatenated(inputs.subspan(1), inputs[0]));
}

std::vector<Type> ConcatV2Type(const Node& /*node*/, std::span<const Type> inputs) {
  if (inputs.size() < 2) return {};
  return One(inputs[0].type, Concatenated(inputs.first(inputs.size() - 1), inputs.back()));
}

std::vector<Type> PackType(const Node& node, std::span<const Type> inputs) {
  if (inputs.empty()) return {};
  Sizes shape;
  for (const Type& input : inputs) {
    if (input.type != inputs[0].type) return {};
    if (!input.shape) continue;
    if (!shape) shape = input.shape;
    if (!MergeBut(input.shape->size(), *input.shape, &*shape)) return One(inputs[0].type, std::nullopt);
  }
  const auto axis = shape ? AxisFrom(node.attributes.Int("axis", 0), shape->size() + 1) : std::nullopt;
  if (!axis) return One(inputs[0].type, std::nullopt);
  shape->insert(shape->begin() + static_cast<std::ptrdiff_t>(*axis), static_cast<int64_t>(inputs.size()));
  return One(inputs[0].type, std::move(shape));
}

std::vector<Type> UnpackType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  const int64_t count = node.attributes.Int("num", -1);
  if (!input.shape) return Repeated(input.type, std::nullopt, count);
  const auto axis = AxisFrom(node.attributes.Int("axis", 0), input.shape->size());
  if (!axis) return Repeated(input.type, std::nullopt, count);
  Shape shape = *input.shape;
  const int64_t size = shape[*axis];
  if (size >= 0 && count >= 0 && size != count) return Repeated(input.type, std::nullopt, count);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  return Repeated(input.type, std::move(shape), count >= 0 ? count : size);
}

std::vector<Type> SplitType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 1);
  const int64_t parts = node.attributes.Int("num_split", 1);
  if (!input.shape) return Repeated(input.type, std::nullopt, parts);
  const auto given = NumberIn(At(inputs, 0));
  if (!given) return Repeated(input.type, Unknown(input.shape->size()), parts);
  const auto axis = AxisFrom(*given, input.shape->size());
  const auto size = axis && parts > 0 ? DividedBy((*input.shape)[*axis], parts) : std::nullopt;
  if (!size) return Repeated(input.type, std::nullopt, parts);
  Shape shape = *input.shape;
  shape[*axis] = *size;
  return Repeated(input.type, std::move(shape), parts);
}

std::vector<Type> SplitVType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  auto sizes = VectorIn(At(inputs, 1));
  const Sizes& counted = At(inputs, 1).shape;
  const int64_t parts = sizes
                            ? static_cast<int64_t>(sizes->size())
                            : node.attributes.Int("num_split", counted && counted->size() == 1 ? counted->front() : -1);
  const auto given = NumberIn(At(inputs, 2));
  if (!input.shape) return Repeated(input.type, std::nullopt, parts);
  if (!sizes || !given) return Repeated(input.type, Unknown(input.shape->size()), parts);
  const auto axis = AxisFrom(*given, input.shape->size());
  if (!axis || std::ranges::count(*sizes, -1) > 1) return Repeated(input.type, std::nullopt, parts);
  const int64_t whole = (*input.shape)[*axis];
  std::optional<int64_t> sum = 0;
  for (const int64_t size : *sizes) {
    if (size < -1) return Repeated(input.type, std::nullopt, parts);
    sum = sum ? Plus(*sum, std::max<int64_t>(size, 0)) : std::nullopt;
  }
  const auto rest = std::ranges::find(*sizes, -1);
  const bool fits = sum && (whole < 0 || (rest == sizes->end() ? *sum == whole : *sum <= whole));
  if (!fits) return Repeated(input.type, std::nullopt, parts);
  if (rest != sizes->end() && whole >= 0) *rest = whole - *sum;
  std::vector<Type> types = Repeated(input.type, input.shape, parts);
  for (size_t i = 0; i < types.size(); ++i) (*types[i].shape)[*axis] = (*sizes)[i];
  return types;
}

std::vector<Type> SliceType(const Node& /*node*/, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  if (!input.shape) return One(input.type, UnknownIn(At(inputs, 2)));
  const Shape& in = *input.shape;
  const auto begin = VectorIn(At(inputs, 1)), size = VectorIn(At(inputs, 2));
  if ((begin && begin->size() != in.size()) || (size && size->size() != in.size()))
    return One(input.type, std::nullopt);
  Shape shape;
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t from = begin ? (*begin)[i] : 0;
    int64_t count = size ? (*size)[i] : -1;
    if (from < 0 || count < -1 || (in[i] >= 0 && from > in[i])) return One(input.type, std::nullopt);
    const bool is_rest = size && count == -1;
    if (is_rest && begin && in[i] >= 0) count = in[i] - from;
    if (in[i] >= 0 && count > in[i] - from) return One(input.type, std::nullopt);
    shape.push_back(count);
  }
  return One(input.type, std::move(shape));
}

std::vector<Type> StridedSliceType(const Node& node, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  return One(input.type, input.shape ? StridedCut(node, *input.shape, inputs).Run() : std::nullopt);
}

std::vector<Type> GatherType(const Node& node, std::span<const Type> inputs) {
  const Type& params = At(inputs, 0);
  const Type& indices = At(inputs, 1);
  const auto given = node.op == "Gather" ? std::optional<int64_t>(0) : NumberIn(At(inputs, 2));
  if (!params.shape || !indices.shape) return One(params.type, std::nullopt);
  const Shape& from = *params.shape;
  const Shape& at = *indices.shape;
  const auto rank = static_cast<int64_t>(at.size());
  int64_t batch = node.op == "Gather" ? 0 : node.attributes.Int("batch_dims", 0);
  if (batch < 0) batch += rank;
  const auto axis = given ? AxisFrom(*given, from.size()) : std::nullopt;
  if (given && !axis) return One(params.type, std::nullopt);
  if (batch < 0 || batch > rank || (axis && batch > static_cast<int64_t>(*axis))) return One(params.type, std::nullopt);
  if (!axis)
    return One(params.type,
               from.empty() ? std::nullopt : Unknown(from.size() + at.size() - 1 - static_cast<size_t>(batch)));
  Shape shape(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(*axis));
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    if (!Merge(at[i], &shape[i])) return One(params.type, std::nullopt);
  }
  shape.insert(shape.end(), at.begin() + batch, at.end());
  shape.insert(shape.end(), from.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, from.end());
  return One(params.type, std::move(shape));
}

std::vector<Type> GatherNdType(const Node& /*node*/, std::span<const Type> inputs) {
  const Type& params = At(inputs, 0);
  const Type& indices = At(inputs, 1);
  const bool knows = params.shape && indices.shape && !indices.shape->empty() && indices.shape->back() >= 0;
  if (!knows || static_cast<size_t>(indices.shape->back()) > params.shape->size())
    return One(params.type, std::nullopt);
  Shape shape(indices.shape->begin(), indices.shape->end() - 1);
  shape.insert(shape.end(), params.shape->begin() + indices.shape->back(), params.shape->end());
  return One(params.type, std::move(shape));
}

std::vector<Type> OneHotType(const Node& node, std::span<const Type> inputs) {
  const DType type = At(inputs, 2).type;
  const Sizes& indices = At(inputs, 0).shape;
  const auto axis = indices ? AxisFrom(node.attributes.Int("axis", -1), indices->size() + 1) : std::nullopt;
  const auto depth = NumberIn(At(inputs, 1));
  if (!axis || (depth && *depth < 0)) return One(type, std::nullopt);
  Shape shape = *indices;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), depth.value_or(-1));
  return One(type, std::move(shape));
}

std::vector<Type> TopKType(const Node& /*node*/, std::span<const Type> inputs) {
  const Type& input = At(inputs, 0);
  Sizes shape = input.shape;
  const auto k = NumberIn(At(inputs, 1));
  const bool fits = shape && !shape->empty() && (!k || (*k >= 0 && (shape->back() < 0 || *k <= shape->back())));
  if (fits) {
    shape->back() = k.value_or(-1);
  } else {
    shape.reset();
  }
  return {{input.type, shape, std::nullopt}, {DType::kInt32, shape, std::nullopt}};
}

std::vector<Type> IdentityNType(const Node& /*node*/, std::span<const Type> inputs) {
  std::vector<Type> types(inputs.begin(), inputs.end());
  for (Type& type : types) type.value.reset();
  return types;
}

std::vector<Type> ScatterNdType(const Node& /*node*/, std::span<const Type> inputs) {
  const auto shape = VectorIn(At(inputs, 2));
  const bool is_whole = shape && At(inputs, 2).value->rank() == 1 && IsWhole(shape);
  return One(At(inputs, 1).type, is_whole ? Sizes(*shape) : UnknownIn(At(inputs, 2)));
}

// UnsortedSegmentSum and the like: the axes of the segments become one axis, with a size that the last input holds.
std::vector<Type> SegmentsType(const Node& /*node*/, std::span<const Type> inputs) {
  const Type& data = At(inputs, 0);
  const auto& segments = At(inputs, 1).shape;
  const auto count = NumberIn(At(inputs, 2));
  const bool fits = data.shape && segments && segments->size() <= data.shape->size() && (!count || *count >= 0);
  if (!fits) return One(data.type, std::nullopt);
  Shape shape = {count.value_or(-1)};
  shape.insert(shape.end(), data.shape->begin() + static_cast<std::ptrdiff_t>(segments->size()), data.shape->end());
  return One(data.type, std::move(shape));
}

}  // namespace longshore::graph

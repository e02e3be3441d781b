// Elements moved about: transposed, sliced, joined, padded, repeated.
#include <algorithm>

#include "serving-node/engine/reference/kernels/broadcast.h"
#include "serving-node/engine/reference/kernels/types.h"

namespace longshore::engine::reference::kernels {
namespace {

std::vector<int64_t> Strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// out[i, j, ...] = in[first + i * strides[0] + j * strides[1] + ...]
Result<Tensor> StridedCopy(const Tensor& in, int64_t first, const Shape& shape, const std::vector<int64_t>& strides) {
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  const int64_t inner = shape.empty() ? 0 : strides.back();
  const auto copied = ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForEachRow(shape, std::array{strides}, [&](int64_t to, const std::array<int64_t, 1>& from, int64_t count) {
      const T* source = Raw<T>(in) + first + from[0];
      for (int64_t i = 0; i < count; ++i) Raw<T>(out)[to + i] = source[i * inner];
    });
    return Outputs{};
  });
  if (!copied) return tl::make_unexpected(copied.error());
  return out;
}

// Copies `in` into `out` so that in[0, 0, ...] lands on out[first]; `strides` are out's.
Status CopyInto(const Tensor& in, int64_t first, const std::vector<int64_t>& strides, Tensor* out) {
  const auto copied = ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t inner = in.rank() == 0 ? 0 : strides.back();
    ForEachRow(in.shape(), std::array{strides}, [&](int64_t from, const std::array<int64_t, 1>& to, int64_t count) {
      T* target = Raw<T>(*out) + first + to[0];
      for (int64_t i = 0; i < count; ++i) target[i * inner] = Raw<T>(in)[from + i];
    });
    return Outputs{};
  });
  if (!copied) return tl::make_unexpected(copied.error());
  return {};
}

Outputs Copied(Result<Tensor> out) {
  if (!out) return tl::make_unexpected(out.error());
  return One(std::move(*out));
}

Outputs Transpose(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const auto order, IntsOf(call.in(1), "perm"));
  const auto strides = Strides(in.shape());
  std::vector<bool> seen(order.size());
  Shape shape;
  std::vector<int64_t> moved;
  if (order.size() != in.shape().size()) return InvalidArgument("perm {} does not fit rank {}", ToString(order), in.rank());
  for (const int64_t given : order) {
    ASSIGN_OR_RETURN(const int axis, AxisOf(given, in.rank()));
    const auto at = static_cast<size_t>(axis);
    if (seen[at]) return InvalidArgument("perm {} names an axis twice", ToString(order));
    seen[at] = true;
    shape.push_back(in.shape()[at]);
    moved.push_back(strides[at]);
  }
  return Copied(StridedCopy(in, 0, shape, moved));
}

Outputs Slice(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const auto begin, IntsOf(call.in(1), "begin"));
  ASSIGN_OR_RETURN(Shape size, IntsOf(call.in(2), "size"));
  if (begin.size() != in.shape().size() || size.size() != begin.size()) return InvalidArgument("begin and size must have {} values", in.rank());
  const auto strides = Strides(in.shape());
  int64_t first = 0;
  for (size_t i = 0; i < begin.size(); ++i) {
    const int64_t whole = in.shape()[i];
    if (begin[i] < 0 || begin[i] > whole) return InvalidArgument("begin {} lies outside of {}", begin[i], whole);
    if (size[i] == -1) size[i] = whole - begin[i];
    if (size[i] < 0 || size[i] > whole - begin[i]) return InvalidArgument("size {} from {} lies outside of {}", size[i], begin[i], whole);
    first += begin[i] * strides[i];
  }
  return Copied(StridedCopy(in, first, size, strides));
}

// One entry of a StridedSlice, as Python has it: begin:end:step, with masks for what is left out.
struct Cut {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t step = 1;
};

Result<Cut> CutOf(int64_t begin, int64_t end, int64_t step, bool no_begin, bool no_end, int64_t size) {
  if (step == 0) return InvalidArgument("a stride must not be zero");
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? size : size - 1;
  const auto place = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
  const int64_t from = no_begin ? (step > 0 ? low : high) : place(begin);
  const int64_t to = no_end ? (step > 0 ? high : low) : place(end);
  const int64_t span = step > 0 ? to - from : from - to;
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const int64_t count = span <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride) + 1;
  return Cut{from, count, count <= 1 ? 1 : step};
}

struct SliceSpec {
  std::vector<int64_t> begin, end, steps;
  int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_mask;
  bool Has(int64_t mask, size_t i) const { return i < 63 && ((mask >> i) & 1) != 0; }
};

Result<SliceSpec> SpecOf(const Call& call) {
  ASSIGN_OR_RETURN(auto begin, IntsOf(call.in(1), "begin", 32));
  ASSIGN_OR_RETURN(auto end, IntsOf(call.in(2), "end", 32));
  ASSIGN_OR_RETURN(auto steps, IntsOf(call.in(3), "strides", 32));
  if (begin.size() != end.size() || begin.size() != steps.size()) return InvalidArgument("begin, end and strides must have one length");
  const auto& a = call.attributes();
  return SliceSpec{std::move(begin), std::move(end), std::move(steps), a.Int("begin_mask", 0), a.Int("end_mask", 0),
                   a.Int("ellipsis_mask", 0), a.Int("new_axis_mask", 0), a.Int("shrink_axis_mask", 0)};
}

// How many axes of the input the ellipsis covers; without one it stands at the end.
Result<int64_t> EllipsisSize(const SliceSpec& spec, int rank) {
  if ((spec.ellipsis_mask & (spec.ellipsis_mask - 1)) != 0) return InvalidArgument("Multiple ellipses in slice spec not allowed");
  int64_t named = 0;
  for (size_t i = 0; i < spec.begin.size(); ++i) named += !spec.Has(spec.ellipsis_mask, i) && !spec.Has(spec.new_axis_mask, i);
  if (named > rank) return InvalidArgument("a slice of {} dimensions from rank {}", named, rank);
  return rank - named;
}

struct Sliced {
  int64_t first = 0;
  Shape shape;       // Of what is copied: with the axes that shrink away (as 1) and without new ones.
  Shape out_shape;
  std::vector<int64_t> strides;
};

Status AddAxis(const SliceSpec& spec, size_t i, const Tensor& in, size_t axis, Sliced* sliced) {
  const int64_t size = in.shape()[axis];
  const bool shrinks = spec.Has(spec.shrink_mask, i);
  const int64_t begin = spec.begin[i];
  Cut cut;
  if (shrinks) {
    if (spec.steps[i] <= 0) return InvalidArgument("only stride 1 allowed on non-range indexing");
    const int64_t at = begin < 0 ? begin + size : begin;
    if (at < 0 || at >= size) return InvalidArgument("slice index {} of dimension {} out of bounds", begin, axis);
    cut = {at, 1, 1};
  } else {
    ASSIGN_OR_RETURN(cut, CutOf(begin, spec.end[i], spec.steps[i], spec.Has(spec.begin_mask, i), spec.Has(spec.end_mask, i), size));
    sliced->out_shape.push_back(cut.count);
  }
  const int64_t stride = Product(in.shape(), axis + 1, in.shape().size());
  sliced->first += cut.begin * stride;
  sliced->shape.push_back(cut.count);
  sliced->strides.push_back(cut.step * stride);
  return {};
}

void KeepAxes(const Tensor& in, size_t begin, int64_t count, Sliced* sliced) {
  for (size_t axis = begin; axis < begin + static_cast<size_t>(count); ++axis) {
    sliced->shape.push_back(in.shape()[axis]);
    sliced->out_shape.push_back(in.shape()[axis]);
    sliced->strides.push_back(Product(in.shape(), axis + 1, in.shape().size()));
  }
}

Outputs StridedSlice(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const SliceSpec spec, SpecOf(call));
  ASSIGN_OR_RETURN(int64_t covered, EllipsisSize(spec, in.rank()));
  Sliced sliced;
  size_t axis = 0;
  for (size_t i = 0; i < spec.begin.size(); ++i) {
    if (spec.Has(spec.ellipsis_mask, i)) {
      KeepAxes(in, axis, covered, &sliced);
      axis += static_cast<size_t>(covered);
      covered = 0;
    } else if (spec.Has(spec.new_axis_mask, i)) {
      sliced.out_shape.push_back(1);
    } else {
      RETURN_IF_ERROR(AddAxis(spec, i, in, axis++, &sliced));
    }
  }
  KeepAxes(in, axis, covered, &sliced);
  ASSIGN_OR_RETURN(const Tensor copied, StridedCopy(in, sliced.first, sliced.shape, sliced.strides));
  return Copied(copied.Reshaped(sliced.out_shape));
}

// The inputs one after the other along an axis. They agree in everything else.
Outputs ConcatAlong(std::span<const Tensor> parts, int64_t given_axis) {
  const Tensor& first = parts[0];
  ASSIGN_OR_RETURN(const int axis, AxisOf(given_axis, first.rank()));
  const auto at = static_cast<size_t>(axis);
  Shape shape = first.shape();
  shape[at] = 0;
  for (const auto& part : parts) {
    Shape same = part.shape();
    if (part.type() != first.type() || same.size() != shape.size()) return InvalidArgument("inputs {} and {} differ in rank or type", ToString(first.shape()), ToString(same));
    shape[at] += same[at];
    same[at] = shape[at];
    if (same != shape) return InvalidArgument("inputs {} and {} differ outside of axis {}", ToString(first.shape()), ToString(part.shape()), given_axis);
  }
  ASSIGN_OR_RETURN(Tensor out, MakeLike(first, shape));
  const auto strides = Strides(shape);
  int64_t offset = 0;
  for (const auto& part : parts) {
    RETURN_IF_ERROR(CopyInto(part, offset, strides, &out));
    offset += part.shape()[at] * strides[at];
  }
  return One(std::move(out));
}

Outputs ConcatV2(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t axis, IntOf(call.inputs.back(), "axis"));
  return ConcatAlong(call.inputs.first(call.inputs.size() - 1), axis);
}

Outputs Concat(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t axis, IntOf(call.in(0), "concat_dim"));
  return ConcatAlong(call.inputs.subspan(1), axis);
}

Outputs Pack(const Call& call) {
  ASSIGN_OR_RETURN(const int axis, AxisOf(call.attributes().Int("axis", 0), call.in(0).rank() + 1));
  std::vector<Tensor> parts;
  for (const auto& input : call.inputs) {
    if (input.shape() != call.in(0).shape()) return InvalidArgument("inputs of shapes {} and {}", ToString(call.in(0).shape()), ToString(input.shape()));
    Shape shape = input.shape();
    shape.insert(shape.begin() + axis, 1);
    ASSIGN_OR_RETURN(Tensor part, input.Reshaped(shape));
    parts.push_back(std::move(part));
  }
  return ConcatAlong(parts, axis);
}

// Parts of the given sizes along an axis.
Outputs SplitAlong(const Tensor& in, int axis, const std::vector<int64_t>& sizes) {
  const auto strides = Strides(in.shape());
  std::vector<Tensor> parts;
  int64_t offset = 0;
  for (const int64_t size : sizes) {
    Shape shape = in.shape();
    shape[static_cast<size_t>(axis)] = size;
    ASSIGN_OR_RETURN(Tensor part, StridedCopy(in, offset, shape, strides));
    parts.push_back(std::move(part));
    offset += size * strides[static_cast<size_t>(axis)];
  }
  return parts;
}

Outputs Split(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t given, IntOf(call.in(0), "split_dim"));
  ASSIGN_OR_RETURN(const int axis, AxisOf(given, call.in(1).rank()));
  const int64_t parts = call.attributes().Int("num_split", 1);
  const int64_t size = call.in(1).dim(axis);
  if (parts < 1 || size % parts != 0) return InvalidArgument("dimension {} of size {} does not split into {}", given, size, parts);
  return SplitAlong(call.in(1), axis, std::vector<int64_t>(static_cast<size_t>(parts), size / parts));
}

Outputs SplitV(const Call& call) {
  ASSIGN_OR_RETURN(auto sizes, IntsOf(call.in(1), "size_splits", 100'000));
  ASSIGN_OR_RETURN(const int64_t given, IntOf(call.in(2), "axis"));
  ASSIGN_OR_RETURN(const int axis, AxisOf(given, call.in(0).rank()));
  int64_t left = call.in(0).dim(axis);
  auto rest = sizes.end();
  for (auto size = sizes.begin(); size != sizes.end(); ++size) {
    if (*size == -1 && rest == sizes.end()) rest = size;
    else if (*size < 0 || *size > left) return InvalidArgument("size_splits {} do not fit", ToString(sizes));
    else left -= *size;
  }
  if (rest != sizes.end()) *rest = std::exchange(left, 0);
  if (left != 0) return InvalidArgument("size_splits {} do not add up to {}", ToString(sizes), call.in(0).dim(axis));
  return SplitAlong(call.in(0), axis, sizes);
}

Outputs Unpack(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const int axis, AxisOf(call.attributes().Int("axis", 0), in.rank()));
  const int64_t count = in.dim(axis);
  if (count != call.attributes().Int("num", count)) return InvalidArgument("dimension {} of {} is not {}", axis, ToString(in.shape()), call.attributes().Int("num", 0));
  ASSIGN_OR_RETURN(auto parts, SplitAlong(in, axis, std::vector<int64_t>(static_cast<size_t>(count), 1)));
  Shape shape = in.shape();
  shape.erase(shape.begin() + axis);
  for (auto& part : parts) {
    ASSIGN_OR_RETURN(part, part.Reshaped(shape));
  }
  return parts;
}

Outputs BroadcastTo(const Call& call) {
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(1), "shape"));
  ASSIGN_OR_RETURN(const Shape both, BroadcastShape(call.in(0).shape(), shape));
  if (both != shape) return InvalidArgument("{} does not broadcast to {}", ToString(call.in(0).shape()), ToString(shape));
  return Copied(StridedCopy(call.in(0), 0, shape, BroadcastStrides(call.in(0).shape(), shape)));
}

// Each axis repeats as a whole: seen as two axes, of which the first has stride zero.
Outputs Tile(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const auto multiples, IntsOf(call.in(1), "multiples"));
  if (multiples.size() != in.shape().size()) return InvalidArgument("multiples {} do not fit rank {}", ToString(multiples), in.rank());
  const auto strides = Strides(in.shape());
  Shape shape, split;
  std::vector<int64_t> split_strides;
  for (size_t i = 0; i < multiples.size(); ++i) {
    int64_t size = 0;
    if (multiples[i] < 0 || __builtin_mul_overflow(in.shape()[i], multiples[i], &size)) return InvalidArgument("multiples {}", ToString(multiples));
    shape.push_back(size);
    split.insert(split.end(), {multiples[i], in.shape()[i]});
    split_strides.insert(split_strides.end(), {0, strides[i]});
  }
  ASSIGN_OR_RETURN(const Tensor tiled, StridedCopy(in, 0, split, split_strides));
  return Copied(tiled.Reshaped(shape));
}

Outputs Padded(const Tensor& in, const Tensor& paddings, const Tensor* value) {
  ASSIGN_OR_RETURN(const Tensor flat, paddings.Reshaped({paddings.elements()}));
  ASSIGN_OR_RETURN(const auto pads, IntsOf(flat, "paddings", 2 * tensor::kRankMax));
  if (pads.size() != 2 * in.shape().size()) return InvalidArgument("paddings of shape {} do not fit rank {}", ToString(paddings.shape()), in.rank());
  if (value != nullptr && (value->type() != in.type() || value->elements() != 1)) return InvalidArgument("the padding must be one {}", DTypeName(in.type()));
  Shape shape = in.shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool too_large = pads[2 * i] > static_cast<int64_t>(tensor::kTensorBytesMax) || pads[2 * i + 1] > static_cast<int64_t>(tensor::kTensorBytesMax);
    if (pads[2 * i] < 0 || pads[2 * i + 1] < 0 || too_large) return InvalidArgument("paddings {}", ToString(pads));
    shape[i] += pads[2 * i] + pads[2 * i + 1];
  }
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  RETURN_IF_ERROR(ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), value == nullptr ? T{} : *Raw<T>(*value));
    return Outputs{};
  }).map([](const auto&) {}));
  const auto strides = Strides(shape);
  int64_t first = 0;
  for (size_t i = 0; i < shape.size(); ++i) first += pads[2 * i] * strides[i];
  RETURN_IF_ERROR(CopyInto(in, first, strides, &out));
  return One(std::move(out));
}

Outputs Pad(const Call& call) { return Padded(call.in(0), call.in(1), nullptr); }
Outputs PadV2(const Call& call) { return Padded(call.in(0), call.in(1), &call.in(2)); }

constexpr Kernel kKernels[] = {
    {"BroadcastTo", BroadcastTo, 2}, {"Concat", Concat, 2}, {"ConcatV2", ConcatV2, 2}, {"Pack", Pack, 1}, {"Pad", Pad, 2},
    {"PadV2", PadV2, 3}, {"Slice", Slice, 3}, {"Split", Split, 2}, {"SplitV", SplitV, 3}, {"StridedSlice", StridedSlice, 4},
    {"Tile", Tile, 2}, {"Transpose", Transpose, 2}, {"Unpack", Unpack, 1},
};

}  // namespace

std::span<const Kernel> MoveKernels() { return kKernels; }

}  // namespace longshore::engine::reference::kernels

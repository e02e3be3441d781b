// Joins strings: those at the same index of several tensors, those along dimensions of a tensor, and those of a
// segment.
#include <numeric>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/text/families.h"

namespace longshore::engine::kernels::text {
namespace {

Outputs Join(const Call& call) {
  RETURN_IF_ERROR(CheckTexts(call));
  const std::string separator = call.attributes().Text("separator", "");
  const Tensor* shaped = &call.in(0);
  for (const auto& input : call.inputs) {
    if (input.rank() == 0) continue;
    if (shaped->rank() > 0 && input.shape() != shaped->shape())
      return InvalidArgument("inputs have different shapes: {} and {}", ToString(shaped->shape()),
                             ToString(input.shape()));
    shaped = &input;
  }
  for (const auto& input : call.inputs) {
    if (input.rank() == 0) RETURN_IF_ERROR(HasRoomForText(call, shaped->elements(), LongestOf(input)));
  }
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kString, shaped->shape()));
  const auto texts = out.mutable_values<std::string>();
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    const auto parts = call.in(k).values<std::string>();
    for (size_t i = 0; i < texts.size(); ++i) {
      if (k > 0) texts[i] += separator;
      texts[i] += parts[call.in(k).rank() == 0 ? 0 : i];
    }
  }
  return One(out);
}

// Returns the dimensions to join. In the joined string, the index along the first of them varies fastest.
Result<std::vector<size_t>> AxesOf(const Call& call) {
  ASSIGN_OR_RETURN(const auto given, AllIntsOf(call.in(1), "reduction_indices"));
  std::vector<size_t> axes;
  for (const int64_t axis : given) {
    const int rank = call.in(0).rank();
    if (axis < -rank || axis >= rank)
      return OutOfRange("reduction dimension {} is out of range for rank {}", axis, rank);
    const auto at = static_cast<int>(axis < 0 ? axis + rank : axis);
    if (std::ranges::find(axes, static_cast<size_t>(at)) != axes.end())
      return InvalidArgument("Duplicate reduction dimension {}", at);
    axes.push_back(static_cast<size_t>(at));
  }
  return axes;
}

// Returns the offsets of all elements along `axes`, relative to the first one. The index along the first axis varies
// fastest.
std::vector<int64_t> OffsetsAlong(const Shape& shape, const std::vector<size_t>& axes) {
  std::vector<int64_t> offsets = {0};
  for (const size_t axis : axes) {
    std::vector<int64_t> next;
    for (int64_t i = 0; i < shape[axis]; ++i) {
      for (const int64_t offset : offsets) next.push_back(offset + i * Product(shape, axis + 1, shape.size()));
    }
    offsets = std::move(next);
  }
  return offsets;
}

Outputs ReduceJoin(const Call& call) {
  RETURN_IF_ERROR(CheckText(call, 0));
  const Shape& shape = call.in(0).shape();
  ASSIGN_OR_RETURN(const auto axes, AxesOf(call));
  if (axes.empty()) return One(call.in(0));
  std::vector<size_t> kept;
  Shape out_shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool is_kept = std::ranges::find(axes, axis) == axes.end();
    if (is_kept) kept.push_back(axis);
    if (is_kept || call.attributes().Bool("keep_dims", false)) out_shape.push_back(is_kept ? shape[axis] : 1);
  }
  RETURN_IF_ERROR(call.HasRoomFor(DType::kString, out_shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kString, out_shape));
  if (call.in(0).elements() == 0) return One(out);
  // OffsetsAlong varies the first axis fastest, but a row-major result varies its last dimension fastest.
  std::ranges::reverse(kept);
  const auto bases = OffsetsAlong(shape, kept), offsets = OffsetsAlong(shape, axes);
  const std::string separator = call.attributes().Text("separator", "");
  for (size_t i = 0; i < bases.size(); ++i) {
    std::string& joined = out.mutable_values<std::string>()[i];
    for (size_t k = 0; k < offsets.size(); ++k) {
      if (k > 0) joined += separator;
      joined += Raw<std::string>(call.in(0))[bases[i] + offsets[k]];
    }
  }
  return One(out);
}

Outputs UnsortedSegmentJoin(const Call& call) {
  RETURN_IF_ERROR(CheckText(call, 0));
  const Tensor& in = call.in(0);
  const Shape& ids_shape = call.in(1).shape();
  ASSIGN_OR_RETURN(const auto ids, AllIntsOf(call.in(1), "segment_ids"));
  ASSIGN_OR_RETURN(const int64_t count, IntOf(call.in(2), "num_segments"));
  if (ids_shape.size() > in.shape().size() || !std::equal(ids_shape.begin(), ids_shape.end(), in.shape().begin()))
    return InvalidArgument("the shape of segment_ids {} is not a prefix of the shape of inputs {}", ToString(ids_shape),
                           ToString(in.shape()));
  Shape shape(in.shape().begin() + static_cast<std::ptrdiff_t>(ids_shape.size()), in.shape().end());
  const int64_t inner = Product(shape, 0, shape.size());
  shape.insert(shape.begin(), count);
  RETURN_IF_ERROR(call.HasRoomFor(DType::kString, shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kString, shape));
  const std::string separator = call.attributes().Text("separator", "");
  // Checked because a client can ask for any number of empty segments.
  RETURN_IF_ERROR(call.HasRoomFor(DType::kUint8, {count}));
  std::vector<bool> has_text(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= count)
      return InvalidArgument("segment_ids[{}] = {} is out of range [0, {})", i, ids[i], count);
    for (int64_t k = 0; k < inner; ++k) {
      std::string& joined = Raw<std::string>(out)[ids[i] * inner + k];
      if (has_text[static_cast<size_t>(ids[i])]) joined += separator;
      joined += Raw<std::string>(in)[static_cast<int64_t>(i) * inner + k];
    }
    has_text[static_cast<size_t>(ids[i])] = true;
  }
  return One(out);
}

constexpr Kernel kKernels[] = {
    {.op = "ReduceJoin", .compute = ReduceJoin, .inputs_min = 2},
    {.op = "StringJoin", .compute = Join, .inputs_min = 1},
    {.op = "UnsortedSegmentJoin", .compute = UnsortedSegmentJoin, .inputs_min = 3},
};

}  // namespace

std::span<const Kernel> TextJoinKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::text

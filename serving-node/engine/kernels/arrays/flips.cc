// Kernels that reverse and roll axes, and pad axes with their mirrored elements.
#include <algorithm>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/base/strided.h"
#include "serving-node/engine/kernels/base/types.h"

namespace longshore::engine::kernels::arrays {
namespace {

// out[..., i, ...] = in[..., from[axis][i], ...] along every axis. `from` has a list of indices for each axis.
Outputs Picked(const Call& call, const std::vector<std::vector<int64_t>>& from) {
  const Tensor& in = call.in(0);
  const auto strides = Strides(in.shape());
  Shape shape;
  for (const auto& places : from) shape.push_back(static_cast<int64_t>(places.size()));
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, shape));
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<size_t> at(shape.size(), 0);
    for (int64_t i = 0; i < out.elements(); ++i) {
      int64_t offset = 0;
      for (size_t axis = 0; axis < at.size(); ++axis) offset += from[axis][at[axis]] * strides[axis];
      Raw<T>(out)[i] = Raw<T>(in)[offset];
      for (size_t axis = at.size(); axis-- > 0 && ++at[axis] == from[axis].size();) at[axis] = 0;
    }
    return One(out);
  });
}

std::vector<int64_t> AllPlaces(int64_t size) {
  std::vector<int64_t> places(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) places[static_cast<size_t>(i)] = i;
  return places;
}

std::vector<std::vector<int64_t>> AllPlaces(const Tensor& in) {
  std::vector<std::vector<int64_t>> from;
  for (const int64_t size : in.shape()) from.push_back(in.elements() == 0 ? std::vector<int64_t>() : AllPlaces(size));
  return from;
}

Outputs Reversed(const Call& call, const std::vector<bool>& reversed) {
  if (call.in(0).elements() == 0) return One(call.in(0));
  auto from = AllPlaces(call.in(0));
  for (size_t axis = 0; axis < reversed.size(); ++axis) {
    if (reversed[axis]) std::ranges::reverse(from[axis]);
  }
  return Picked(call, from);
}

Outputs ReverseV2(const Call& call) {
  if (call.in(1).rank() != 1) return InvalidArgument("axis must be a vector");
  ASSIGN_OR_RETURN(const auto axes, IntsOf(call.in(1), "axis"));
  std::vector<bool> reversed(call.in(0).shape().size());
  for (const int64_t given : axes) {
    ASSIGN_OR_RETURN(const int axis, AxisOf(given, call.in(0).rank()));
    if (reversed[static_cast<size_t>(axis)]) return InvalidArgument("axis {} occurs twice", given);
    reversed[static_cast<size_t>(axis)] = true;
  }
  return Reversed(call, reversed);
}

// The older op Reverse, which has a bool for each axis.
Outputs Reverse(const Call& call) {
  const Tensor& dims = call.in(1);
  if (dims.type() != DType::kBool || dims.shape() != Shape{call.in(0).rank()})
    return InvalidArgument("dims must be {} bools", call.in(0).rank());
  return Reversed(call, std::vector<bool>(dims.values<bool>().begin(), dims.values<bool>().end()));
}

Outputs ReverseSequence(const Call& call) {
  const Tensor& in = call.in(0);
  const int64_t seq = call.attributes().Int("seq_dim", 0), batch = call.attributes().Int("batch_dim", 0);
  ASSIGN_OR_RETURN(const auto lengths, IntsOf(call.in(1), "seq_lengths", tensor::kTensorBytesMax));
  if (seq < 0 || seq >= in.rank() || batch < 0 || batch >= in.rank() || seq == batch || call.in(1).rank() != 1)
    return InvalidArgument("seq_dim {} and batch_dim {} do not fit the shape {}, or seq_lengths is not a vector", seq,
                           batch, ToString(in.shape()));
  const auto at = [&](int64_t axis) { return static_cast<size_t>(axis); };
  if (static_cast<int64_t>(lengths.size()) != in.shape()[at(batch)])
    return InvalidArgument("there are {} seq_lengths for {} rows", lengths.size(), in.shape()[at(batch)]);
  for (const int64_t length : lengths) {
    if (length < 0 || length > in.shape()[at(seq)])
      return InvalidArgument("seq_lengths has {}, which is not in [0, {}]", length, in.shape()[at(seq)]);
  }
  const auto strides = Strides(in.shape());
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  return ForMoves(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < in.elements(); ++i) {
      const int64_t row = i / strides[at(batch)] % in.shape()[at(batch)];
      const int64_t place = i / strides[at(seq)] % in.shape()[at(seq)];
      const int64_t length = lengths[at(row)];
      const int64_t from = place < length ? length - 1 - place : place;
      Raw<T>(out)[i] = Raw<T>(in)[i + (from - place) * strides[at(seq)]];
    }
    return One(out);
  });
}

Outputs Roll(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.rank() < 1) return InvalidArgument("input must be 1-D or higher");
  ASSIGN_OR_RETURN(const auto shifts, IntsOf(call.in(1), "shift"));
  ASSIGN_OR_RETURN(const auto axes, IntsOf(call.in(2), "axis"));
  if (call.in(1).shape() != call.in(2).shape())
    return InvalidArgument("shift {} and axis {} must have the same size", ToString(shifts), ToString(axes));
  std::vector<int> places;
  for (const int64_t given : axes) {
    ASSIGN_OR_RETURN(const int axis, AxisOf(given, in.rank()));
    places.push_back(axis);
  }
  if (in.elements() == 0) return One(in);
  auto from = AllPlaces(in);
  for (size_t i = 0; i < places.size(); ++i) {
    auto& along = from[static_cast<size_t>(places[i])];
    const auto size = static_cast<int64_t>(along.size());
    const int64_t shift = (static_cast<int32_t>(shifts[i]) % size + size) % size;  // TensorFlow uses 32 bits of it.
    std::rotate(along.begin(), along.end() - shift, along.end());
  }
  return Picked(call, from);
}

// One axis with mirrored padding at both ends. The padding includes the edge itself (SYMMETRIC) or does not (REFLECT).
struct Mirror {
  int64_t size = 0, before = 0, after = 0;
  bool has_edge = false;

  Status Check() const {
    const int64_t most = has_edge ? size : size - 1;
    if (before >= 0 && after >= 0 && before <= most && after <= most && size <= INT32_MAX) return {};
    return InvalidArgument("paddings {} and {} of an axis of size {} must be in [0, {}]", before, after, size, most);
  }
  std::vector<int64_t> Places() const {
    std::vector<int64_t> places;
    const int64_t skipped = has_edge ? 0 : 1;
    for (int64_t i = before; i-- > 0;) places.push_back(i + skipped);
    for (int64_t i = 0; i < size; ++i) places.push_back(i);
    for (int64_t i = 0; i < after; ++i) places.push_back(size - 1 - skipped - i);
    return places;
  }
};

Outputs MirrorPad(const Call& call) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(const Tensor flat, call.in(1).Reshaped({call.in(1).elements()}));
  ASSIGN_OR_RETURN(const auto pads, IntsOf(flat, "paddings", 2 * tensor::kRankMax));
  if (call.in(1).shape() != Shape{in.rank(), 2})
    return InvalidArgument("paddings of shape {} do not fit rank {}", ToString(call.in(1).shape()), in.rank());
  const bool has_edge = call.attributes().Text("mode", "REFLECT") == "SYMMETRIC";
  std::vector<Mirror> mirrors;
  Shape shape;
  for (size_t i = 0; i < in.shape().size(); ++i) {
    mirrors.push_back({in.shape()[i], pads[2 * i], pads[2 * i + 1], has_edge});
    RETURN_IF_ERROR(mirrors.back().Check());
    shape.push_back(mirrors.back().before + in.shape()[i] + mirrors.back().after);
  }
  RETURN_IF_ERROR(call.HasRoomFor(in.type(), shape));
  if (in.elements() == 0) return One(MakeLike(in, shape));
  std::vector<std::vector<int64_t>> from;
  for (const Mirror& mirror : mirrors) from.push_back(mirror.Places());
  return Picked(call, from);
}

constexpr Kernel kKernels[] = {
    {"MirrorPad", MirrorPad, 2}, {"Reverse", Reverse, 2}, {"ReverseSequence", ReverseSequence, 2},
    {"ReverseV2", ReverseV2, 2}, {"Roll", Roll, 3},
};

}  // namespace

std::span<const Kernel> FlipKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::arrays

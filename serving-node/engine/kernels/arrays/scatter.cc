// Reads and writes slices at places that are given by coordinates.
#include <algorithm>
#include <type_traits>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/base/types.h"

namespace longshore::engine::kernels::arrays {
namespace {

// The slices of a tensor that the rows of `indices` name: the offset of each slice in elements, and the size of all.
struct Slices {
  std::vector<int64_t> firsts;
  int64_t size = 0;
  Shape outer;  // The shape of `indices` without its last axis.
  Shape inner;  // The shape of a slice.
};

Result<Slices> SlicesOf(const Call& call, const Tensor& indices, const Shape& shape) {
  if (indices.rank() < 1) return InvalidArgument("indices must be at least a vector");
  const auto depth = static_cast<size_t>(indices.shape().back());
  if (indices.shape().back() > static_cast<int64_t>(shape.size()))
    return InvalidArgument("index innermost dimension length must be <= rank: {} vs {}", depth, shape.size());
  ASSIGN_OR_RETURN(const Tensor flat, indices.Reshaped({indices.elements()}));
  ASSIGN_OR_RETURN(const auto values, IntsOf(flat, "indices", tensor::kTensorBytesMax));
  Slices slices;
  slices.size = Product(shape, depth, shape.size());
  slices.outer = {indices.shape().begin(), indices.shape().end() - 1};
  slices.inner = {shape.begin() + static_cast<std::ptrdiff_t>(depth), shape.end()};
  // An empty row of `indices` names the whole tensor. A client can send any number of empty rows, so it is limited
  // here.
  if (depth == 0) RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, slices.outer));
  slices.firsts.resize(static_cast<size_t>(Product(slices.outer, 0, slices.outer.size())));
  for (size_t i = 0; i < slices.firsts.size(); ++i) {
    int64_t first = 0;
    for (size_t axis = 0; axis < depth; ++axis) {
      const int64_t at = values[i * depth + axis];
      if (at < 0 || at >= shape[axis])
        return InvalidArgument("indices[{}] = {} does not index into shape {}", i, at, ToString(shape));
      first = first * shape[axis] + at;
    }
    slices.firsts[i] = first * slices.size;
  }
  return slices;
}

Shape Joined(const Shape& outer, const Shape& inner) {
  Shape shape = outer;
  shape.insert(shape.end(), inner.begin(), inner.end());
  return shape;
}

Outputs GatherNd(const Call& call) {
  const Tensor& params = call.in(0);
  if (params.rank() < 1) return InvalidArgument("params must be at least a vector");
  const bool is_empty = params.elements() == 0 && call.in(1).elements() > 0;
  if (is_empty) return InvalidArgument("Requested more than 0 entries, but params is empty.");
  ASSIGN_OR_RETURN(const Slices slices, SlicesOf(call, call.in(1), params.shape()));
  const Shape shape = Joined(slices.outer, slices.inner);
  RETURN_IF_ERROR(call.HasRoomFor(params.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(params, shape));
  return ForMoves(params.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = Raw<T>(out);
    for (const int64_t first : slices.firsts) to = std::copy_n(Raw<T>(params) + first, slices.size, to);
    return One(out);
  });
}

struct Update {
  template <typename T>
  T operator()(const T&, const T& given) const {
    return given;
  }
};
// Integers wrap around, as in TensorFlow. C++ allows that only for unsigned types.
struct Add {
  template <typename T>
  T operator()(T held, T given) const {
    if constexpr (std::is_floating_point_v<T>) return held + given;
    if constexpr (!std::is_floating_point_v<T>)
      return static_cast<T>(static_cast<uint64_t>(held) + static_cast<uint64_t>(given));
  }
};
struct Sub {
  template <typename T>
  T operator()(T held, T given) const {
    if constexpr (std::is_floating_point_v<T>) return held - given;
    if constexpr (!std::is_floating_point_v<T>)
      return static_cast<T>(static_cast<uint64_t>(held) - static_cast<uint64_t>(given));
  }
};
struct Max {
  template <typename T>
  T operator()(T held, T given) const {
    return held < given ? given : held;
  }
};
struct Min {
  template <typename T>
  T operator()(T held, T given) const {
    return given < held ? given : held;
  }
};

Status CheckUpdates(const Tensor& updates, const Slices& slices, DType type, const Shape& shape) {
  if (updates.type() == type && updates.shape() == Joined(slices.outer, slices.inner)) return {};
  return InvalidArgument("updates {}{} must be {}{}, because indices choose slices of a tensor of shape {}",
                         DTypeName(updates.type()), ToString(updates.shape()), DTypeName(type),
                         ToString(Joined(slices.outer, slices.inner)), ToString(shape));
}

// Writes the updates in order, so that a later update of the same place overwrites an earlier one.
template <typename F, typename T>
void Write(const Slices& slices, const Tensor& updates, Tensor* out) {
  const T* from = Raw<T>(updates);
  for (const int64_t first : slices.firsts) {
    T* to = Raw<T>(*out) + first;
    for (int64_t i = 0; i < slices.size; ++i, ++from) to[i] = F{}(to[i], *from);
  }
}

Result<Slices> SlicesToWrite(const Call& call, const Tensor& indices, const Shape& shape, const Tensor& updates) {
  const bool is_empty = Product(shape, 0, shape.size()) == 0;
  if (is_empty && (indices.elements() > 0 || updates.elements() > 0))
    return InvalidArgument("Indices and updates specified for empty output {}", ToString(shape));
  ASSIGN_OR_RETURN(Slices slices, SlicesOf(call, indices, shape));
  RETURN_IF_ERROR(CheckUpdates(updates, slices, updates.type(), shape));
  RETURN_IF_ERROR(call.HasRoomFor(updates.type(), shape));
  return slices;
}

// Adds the updates to zeros; several updates of one place add up.
Outputs ScatterNd(const Call& call) {
  const Tensor& updates = call.in(1);
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(2), "shape"));
  RETURN_IF_ERROR(call.HasRoomFor(updates.type(), shape));
  ASSIGN_OR_RETURN(const Slices slices, SlicesToWrite(call, call.in(0), shape, updates));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(updates, shape));
  return ForNumbers(updates.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), T{0});
    Write<Add, T>(slices, updates, &out);
    return One(out);
  });
}

// Returns a copy of the tensor in which the updates are applied to the slices.
template <typename F, typename T>
Outputs TensorScatter(const Call& call) {
  const Tensor& in = call.in(0);
  const Tensor& updates = call.in(2);
  if (in.type() != updates.type() || in.rank() < 1)
    return InvalidArgument("updates of {} do not fit a tensor {}{}: it must have the same type and at least rank 1",
                           DTypeName(updates.type()), DTypeName(in.type()), ToString(in.shape()));
  ASSIGN_OR_RETURN(const Slices slices, SlicesToWrite(call, call.in(1), in.shape(), updates));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  std::copy_n(Raw<T>(in), in.elements(), Raw<T>(out));
  Write<F, T>(slices, updates, &out);
  return One(std::move(out));
}

Outputs TensorScatterUpdate(const Call& call) {
  return ForMoves(call.in(0).type(),
                  [&](auto tag) { return TensorScatter<Update, typename decltype(tag)::type>(call); });
}

template <typename F>
Outputs ScatterNumbers(const Call& call) {
  return ForNumbers(call.in(0).type(), [&](auto tag) { return TensorScatter<F, typename decltype(tag)::type>(call); });
}

// Indices out of range are errors; the other policies of TensorFlow are not supported.
Status CheckPolicy(const graph::Node& node) {
  const std::string policy = node.attributes.Text("bad_indices_policy", "");
  return policy.empty() || policy == "DEFAULT" || policy == "ERROR"
             ? Status{}
             : Unimplemented("{} with bad_indices_policy {}", node.op, policy);
}

constexpr Kernel kKernels[] = {
    {"GatherNd", GatherNd, 2, kAnyType, CheckPolicy},
    {"ScatterNd", ScatterNd, 3, kNumbers, CheckPolicy},
    {"TensorScatterAdd", ScatterNumbers<Add>, 3, kNumbers, CheckPolicy},
    {"TensorScatterMax", ScatterNumbers<Max>, 3, kNumbers, CheckPolicy},
    {"TensorScatterMin", ScatterNumbers<Min>, 3, kNumbers, CheckPolicy},
    {"TensorScatterSub", ScatterNumbers<Sub>, 3, kNumbers, CheckPolicy},
    {"TensorScatterUpdate", TensorScatterUpdate, 3, kAnyType, CheckPolicy},
};

}  // namespace

std::span<const Kernel> ScatterKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::arrays

// Kernels for constants, fills and ranges.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "serving-node/engine/kernels/arrays/families.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/tensor/proto.h"

namespace longshore::engine::kernels::arrays {
namespace {

Outputs Const(const Call& call) {
  const auto* value = call.attributes().Find("value");
  if (value == nullptr || !value->has_tensor()) return InvalidArgument("the constant has no value");
  ASSIGN_OR_RETURN(Tensor made, tensor::FromProto(value->tensor()));
  return One(std::move(made));
}

Outputs Filled(DType type, const Shape& shape, const Tensor& value) {
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, shape));
  return ForMoves(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), *Raw<T>(value));
    return One(out);
  });
}

Outputs Fill(const Call& call) {
  ASSIGN_OR_RETURN(const Shape shape, IntsOf(call.in(0), "dims"));
  if (call.in(1).elements() != 1)
    return InvalidArgument("value must be a scalar, not of shape {}", ToString(call.in(1).shape()));
  RETURN_IF_ERROR(call.HasRoomFor(call.in(1).type(), shape));
  return Filled(call.in(1).type(), shape, call.in(1));
}

Outputs ZerosLike(const Call& call) {
  const Tensor& like = call.in(0);
  ASSIGN_OR_RETURN(Tensor out, MakeLike(like, like.shape()));
  if (like.type() != DType::kString) std::fill_n(out.mutable_data(), out.bytes(), std::byte{0});
  return One(out);
}

Outputs OnesLike(const Call& call) {
  const DType type = call.in(0).type();
  if (type == DType::kBool) return Filled(type, call.in(0).shape(), Tensor::Of<bool>({}, {true}));
  return ForNumbers(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return Filled(type, call.in(0).shape(), Tensor::Of<T>({}, {T{1}}));
  });
}

template <typename T>
Result<int64_t> RangeCount(T start, T limit, T delta) {
  if (delta == 0) return InvalidArgument("Requires delta != 0");
  const bool wrong_way = delta > 0 ? start > limit : start < limit;
  if (wrong_way) return InvalidArgument("delta has the wrong sign: start {}, limit {}, delta {}", start, limit, delta);
  const double count =
      std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
  if (!(count >= 0 && count <= static_cast<double>(tensor::kTensorBytesMax)))
    return InvalidArgument("a range of {} numbers is too large: start {}, limit {}, delta {}", count, start, limit,
                           delta);
  return static_cast<int64_t>(count);
}

Outputs Range(const Call& call) {
  for (const auto& input : call.inputs) {
    if (input.elements() != 1 || input.type() != call.in(0).type())
      return InvalidArgument("start, limit and delta must be scalars of one type");
  }
  return ForNumbers(call.in(0).type(), [&](auto tag) -> Outputs {
    using T = typename decltype(tag)::type;
    const T start = *Raw<T>(call.in(0));
    const T delta = *Raw<T>(call.in(2));
    ASSIGN_OR_RETURN(const int64_t count, RangeCount<T>(start, *Raw<T>(call.in(1)), delta));
    RETURN_IF_ERROR(call.HasRoomFor(call.in(0).type(), {count}));
    ASSIGN_OR_RETURN(Tensor out, Tensor::Make(call.in(0).type(), {count}));
    // Integers are computed as unsigned ones, because steps past the limit of the type may overflow.
    using Step = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    for (int64_t i = 0; i < count; ++i) {
      Raw<T>(out)[i] = static_cast<T>(static_cast<Step>(start) + static_cast<Step>(i) * static_cast<Step>(delta));
    }
    return One(out);
  });
}

Status CheckRange(const graph::Node& node) {
  const DType type = node.attributes.Type("Tidx", DType::kInt32);
  if ((Only(type) & (kFloats | Only(DType::kInt32) | Only(DType::kInt64))) != 0) return {};
  return Unimplemented("Range of {}", DTypeName(type));
}

constexpr Kernel kKernels[] = {
    {.op = "Const", .compute = Const},
    {.op = "Fill", .compute = Fill, .inputs_min = 2},
    {.op = "OnesLike", .compute = OnesLike, .inputs_min = 1, .types = kNumbers | Only(DType::kBool)},
    {.op = "Range", .compute = Range, .inputs_min = 3, .check = CheckRange},
    {.op = "ZerosLike", .compute = ZerosLike, .inputs_min = 1},
};

}  // namespace

std::span<const Kernel> FillKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::arrays

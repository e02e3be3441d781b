// Comparisons, logical operations, and selection by a condition.
#include <functional>

#include "serving-node/engine/kernels/base/elementwise.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/math/families.h"

namespace longshore::engine::kernels::math {
namespace {

template <template <typename> typename F>
Outputs Compares(const Call& call) {
  return ForNumbers(call.in(0).type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return BinaryOf<T, bool>(call, F<T>{});
  });
}

// Incompatible shapes are an error if the attribute incompatible_shape_error is true, the default. Otherwise, tensors
// of such shapes count as different.
template <template <typename> typename F>
Outputs Equates(const Call& call) {
  if (!call.attributes().Bool("incompatible_shape_error", true) &&
      !BroadcastShape(call.in(0).shape(), call.in(1).shape())) {
    return One(Tensor::Of<bool>({}, {F<int>{}(0, 1)}));
  }
  if (call.in(0).type() == DType::kString) return BinaryOf<std::string, bool>(call, F<std::string>{});
  if (call.in(0).type() == DType::kBool) return BinaryOf<bool, bool>(call, F<bool>{});
  return Compares<F>(call);
}

template <template <typename> typename F>
Outputs Logical(const Call& call) {
  if (call.in(0).type() != DType::kBool) return WrongType(call.in(0).type());
  return BinaryOf<bool>(call, F<bool>{});
}

Outputs LogicalNot(const Call& call) {
  if (call.in(0).type() != DType::kBool) return WrongType(call.in(0).type());
  return UnaryOf<bool>(call, [](bool x) { return !x; });
}

Status CheckChoice(const Call& call) {
  if (call.in(0).type() != DType::kBool) return InvalidArgument("the condition must be of DT_BOOL");
  if (call.in(1).type() == call.in(2).type()) return {};
  return InvalidArgument("inputs of different types: {} and {}", DTypeName(call.in(1).type()),
                         DTypeName(call.in(2).type()));
}

// All three inputs are broadcast to one shape.
Outputs SelectV2(const Call& call) {
  RETURN_IF_ERROR(CheckChoice(call));
  ASSIGN_OR_RETURN(const Shape values, BroadcastShape(call.in(1).shape(), call.in(2).shape()));
  ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(call.in(0).shape(), values));
  RETURN_IF_ERROR(call.HasRoomFor(call.in(1).type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(call.in(1), shape));
  const std::array strides = {BroadcastStrides(call.in(0).shape(), shape), BroadcastStrides(call.in(1).shape(), shape),
                              BroadcastStrides(call.in(2).shape(), shape)};
  const auto inner = [&](size_t k) { return shape.empty() ? 0 : strides[k].back(); };
  return ForMoves(out.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForEachRow(shape, strides, [&](int64_t to, const std::array<int64_t, 3>& from, int64_t count) {
      const bool* condition = Raw<bool>(call.in(0)) + from[0];
      const T* yes = Raw<T>(call.in(1)) + from[1];
      const T* no = Raw<T>(call.in(2)) + from[2];
      for (int64_t i = 0; i < count; ++i)
        Raw<T>(out)[to + i] = condition[i * inner(0)] ? yes[i * inner(1)] : no[i * inner(2)];
    });
    return One(out);
  });
}

// The op that SelectV2 replaced. The two values must have the same shape. The condition has this shape too, or is a
// scalar, or is a vector that selects rows.
Outputs Select(const Call& call) {
  RETURN_IF_ERROR(CheckChoice(call));
  const Shape& condition = call.in(0).shape();
  const Shape& shape = call.in(1).shape();
  const bool by_rows = condition.size() == 1 && shape.size() > 1 && condition[0] == shape[0];
  if (call.in(2).shape() != shape || !(condition.empty() || condition == shape || by_rows)) {
    return InvalidArgument("a condition of shape {} and values of shapes {} and {} do not fit together",
                           ToString(condition), ToString(shape), ToString(call.in(2).shape()));
  }
  if (!by_rows) return SelectV2(call);
  Shape column(shape.size(), 1);
  column[0] = shape[0];
  ASSIGN_OR_RETURN(Tensor rows, call.in(0).Reshaped(column));
  const Tensor inputs[] = {rows, call.in(1), call.in(2)};
  return SelectV2(call.With(inputs));
}

constexpr Kernel kKernels[] = {
    {"Equal", AlsoShort<Equates<std::equal_to>>, 2,
     kNumbers | kShortFloats | Only(DType::kString) | Only(DType::kBool)},
    {"NotEqual", AlsoShort<Equates<std::not_equal_to>>, 2,
     kNumbers | kShortFloats | Only(DType::kString) | Only(DType::kBool)},
    {"Less", AlsoShort<Compares<std::less>>, 2, kNumbers | kShortFloats},
    {"LessEqual", AlsoShort<Compares<std::less_equal>>, 2, kNumbers | kShortFloats},
    {"Greater", AlsoShort<Compares<std::greater>>, 2, kNumbers | kShortFloats},
    {"GreaterEqual", AlsoShort<Compares<std::greater_equal>>, 2, kNumbers | kShortFloats},
    {"LogicalAnd", Logical<std::logical_and>, 2},
    {"LogicalOr", Logical<std::logical_or>, 2},
    {"LogicalNot", LogicalNot, 1},
    {"Select", Select, 3},
    {"SelectV2", SelectV2, 3},
};

}  // namespace

std::span<const Kernel> LogicKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::math

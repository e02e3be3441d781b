// Loops over the elements of one tensor, or of two tensors with broadcasting.
#pragma once

#include "serving-node/engine/kernels/base/broadcast.h"
#include "serving-node/engine/kernels/base/types.h"

namespace longshore::engine::kernels {

inline Status CheckSameTypes(const Call& call) {
  if (call.in(0).type() == call.in(1).type()) return {};
  return InvalidArgument("inputs of different types: {} and {}", DTypeName(call.in(0).type()),
                         DTypeName(call.in(1).type()));
}

// Computes f(T) -> R for each element.
template <typename T, typename R = T, typename F>
Outputs UnaryOf(const Call& call, F f) {
  const Tensor& in = call.in(0);
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(tensor::DTypeOf<R>(), in.shape()));
  const T* from = Raw<T>(in);
  R* to = Raw<R>(out);
  for (int64_t i = 0; i < in.elements(); ++i) to[i] = f(from[i]);
  return One(std::move(out));
}

// Computes f(T, T) -> R for each pair of elements. The innermost strides are 0 or 1; a separate loop for each case lets
// the compiler vectorise it.
template <typename T, typename R = T, typename F>
Outputs BinaryOf(const Call& call, F f) {
  RETURN_IF_ERROR(CheckSameTypes(call));
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(a.shape(), b.shape()));
  RETURN_IF_ERROR(call.HasRoomFor(tensor::DTypeOf<R>(), shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(tensor::DTypeOf<R>(), shape));
  const bool is_flat = a.shape() == b.shape();
  const Shape loop = is_flat ? Shape{out.elements()} : shape;
  const std::array strides = {BroadcastStrides(is_flat ? loop : a.shape(), loop),
                              BroadcastStrides(is_flat ? loop : b.shape(), loop)};
  const bool a_moves = !loop.empty() && strides[0].back() != 0;
  const bool b_moves = !loop.empty() && strides[1].back() != 0;
  ForEachRow(loop, strides, [&](int64_t to, const std::array<int64_t, 2>& from, int64_t count) {
    const T* x = Raw<T>(a) + from[0];
    const T* y = Raw<T>(b) + from[1];
    R* z = Raw<R>(out) + to;
    if (a_moves && b_moves) {
      for (int64_t i = 0; i < count; ++i) z[i] = f(x[i], y[i]);
    } else if (a_moves) {
      for (int64_t i = 0; i < count; ++i) z[i] = f(x[i], *y);
    } else {
      for (int64_t i = 0; i < count; ++i) z[i] = f(*x, y[b_moves ? i : 0]);
    }
  });
  return One(std::move(out));
}

}  // namespace longshore::engine::kernels

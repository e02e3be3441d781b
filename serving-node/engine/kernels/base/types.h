// Turns an element type that is known at run time into a C++ type.
#pragma once

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels {

template <typename T>
struct TypeTag {
  using type = T;
};

inline tl::unexpected<Error> WrongType(DType type) {
  return InvalidArgument("the type {} is not supported", DTypeName(type));
}

// Calls f(TypeTag<T>) for float or double.
template <typename F>
Outputs ForFloats(DType type, F f) {
  switch (type) {
    case DType::kFloat: return f(TypeTag<float>{});
    case DType::kDouble: return f(TypeTag<double>{});
    default: return WrongType(type);
  }
}

// Calls f(TypeTag<T>) for a type of kIntegers.
template <typename F>
Outputs ForIntegers(DType type, F f) {
  switch (type) {
    case DType::kInt32: return f(TypeTag<int32_t>{});
    case DType::kInt64: return f(TypeTag<int64_t>{});
    case DType::kUint8: return f(TypeTag<uint8_t>{});
    case DType::kInt8: return f(TypeTag<int8_t>{});
    case DType::kInt16: return f(TypeTag<int16_t>{});
    case DType::kUint16: return f(TypeTag<uint16_t>{});
    case DType::kUint32: return f(TypeTag<uint32_t>{});
    case DType::kUint64: return f(TypeTag<uint64_t>{});
    default: return WrongType(type);
  }
}

// Calls f(TypeTag<T>) for a type of kNumbers.
template <typename F>
Outputs ForNumbers(DType type, F f) {
  return (Only(type) & kIntegers) != 0 ? ForIntegers(type, f) : ForFloats(type, f);
}

// Calls f(TypeTag<T>) for a T of the size of the elements, to move elements without interpreting them.
template <typename F>
Outputs ForMoves(DType type, F f) {
  if (type == DType::kString) return f(TypeTag<std::string>{});
  switch (tensor::ElementBytes(type)) {
    case 1: return f(TypeTag<uint8_t>{});
    case 2: return f(TypeTag<uint16_t>{});
    case 4: return f(TypeTag<uint32_t>{});
    case 8: return f(TypeTag<uint64_t>{});
    default: return WrongType(type);
  }
}

// The elements as T, without a check of the type.
template <typename T>
const T* Raw(const Tensor& tensor) {
  return reinterpret_cast<const T*>(tensor.data());
}
template <typename T>
T* Raw(Tensor& tensor) {
  return reinterpret_cast<T*>(tensor.mutable_data());
}

}  // namespace longshore::engine::kernels

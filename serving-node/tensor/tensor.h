// Tensors: a type, a shape, a buffer, and the device that the buffer is on.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace longshore::tensor {

// Element types, with TensorFlow's numbers (tensorflow/tensor.proto).
enum class DType : int {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,  // kQ... are quantised integers, which are stored like the plain ones.
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
};

// "DT_FLOAT".
std::string_view DTypeName(DType type);

// The name in TensorFlow's messages: "float".
std::string ShortName(DType type);

// Bytes of one element; 0 for strings, resources and other types without a fixed size.
size_t ElementBytes(DType type);

// The sizes of the dimensions. In a pattern, -1 means an unknown size.
using Shape = std::vector<int64_t>;

// Returns a text such as "[2,3]"; "[]" for a scalar.
std::string ToString(const Shape& shape);

// Returns the product of the sizes. InvalidArgument if a size is negative, the rank exceeds kRankMax, or the product
// does not fit into 63 bits.
Result<int64_t> ElementCount(const Shape& shape);

inline constexpr int kRankMax = 254;

// The device that a buffer is on. CPU memory is {kCpu, 0}.
struct Device {
  enum class Kind { kCpu, kCuda, kPacked };  // kPacked: in a private layout of the engine.
  Kind kind = Kind::kCpu;
  int index = 0;

  friend bool operator==(const Device&, const Device&) = default;
};

// Copies of a tensor share its buffer, so a tensor must not be written to while other copies may be in use.
class Tensor {
 public:
  Tensor() = default;

  // Returns a tensor of uninitialised numbers or of empty strings. InvalidArgument for an invalid shape or type;
  // ResourceExhausted above kTensorBytesMax.
  static Result<Tensor> Make(DType type, Shape shape);

  // Returns a tensor that uses existing memory, which `owner` keeps alive. Requires: data holds ElementCount(shape)
  // elements.
  static Tensor Wrap(DType type, Shape shape, std::byte* data, std::shared_ptr<const void> owner, Device device = {});

  template <typename T>
  static Tensor Of(Shape shape, const std::vector<T>& values);

  DType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  const Device& device() const { return device_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t dim(int axis) const { return shape_[static_cast<size_t>(axis)]; }
  int64_t elements() const { return elements_; }
  size_t bytes() const { return static_cast<size_t>(elements_) * ElementBytes(type_); }
  bool empty() const { return type_ == DType::kInvalid; }
  // True if this tensor keeps its buffer alive; false for a view of a buffer that may be freed or overwritten
  // meanwhile.
  bool owns() const { return owner_ != nullptr; }
  // True if this tensor is a part of a larger one (Rows), whose whole buffer it keeps alive.
  bool is_part() const { return is_part_; }

  // The elements. Requires: T matches type(), and the buffer is in CPU memory. Strings are std::string.
  template <typename T>
  std::span<const T> values() const;
  template <typename T>
  std::span<T> mutable_values();

  const std::byte* data() const { return data_; }
  std::byte* mutable_data() { return data_; }

  // The same elements with another shape; shares the buffer. InvalidArgument if the element counts differ.
  Result<Tensor> Reshaped(Shape shape) const;

  // Rows [begin, end) of dimension 0, sharing the buffer. Requires: rank() >= 1, 0 <= begin <= end <= dim(0).
  Tensor Rows(int64_t begin, int64_t end) const;

 private:
  DType type_ = DType::kInvalid;
  Device device_;
  Shape shape_;
  int64_t elements_ = 0;
  std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool is_part_ = false;
};

inline constexpr size_t kTensorBytesMax = size_t{8} << 30;

template <typename T>
constexpr DType DTypeOf();
template <>
constexpr DType DTypeOf<float>() {
  return DType::kFloat;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kDouble;
}
template <>
constexpr DType DTypeOf<int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType DTypeOf<uint8_t>() {
  return DType::kUint8;
}
template <>
constexpr DType DTypeOf<int16_t>() {
  return DType::kInt16;
}
template <>
constexpr DType DTypeOf<int8_t>() {
  return DType::kInt8;
}
template <>
constexpr DType DTypeOf<std::string>() {
  return DType::kString;
}
template <>
constexpr DType DTypeOf<int64_t>() {
  return DType::kInt64;
}
template <>
constexpr DType DTypeOf<bool>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<uint16_t>() {
  return DType::kUint16;
}
template <>
constexpr DType DTypeOf<uint32_t>() {
  return DType::kUint32;
}
template <>
constexpr DType DTypeOf<uint64_t>() {
  return DType::kUint64;
}

template <typename T>
std::span<const T> Tensor::values() const {
  CHECK(DTypeOf<T>() == type_ && device_.kind == Device::Kind::kCpu);
  return {reinterpret_cast<const T*>(data_), static_cast<size_t>(elements_)};
}

template <typename T>
std::span<T> Tensor::mutable_values() {
  CHECK(DTypeOf<T>() == type_ && device_.kind == Device::Kind::kCpu);
  return {reinterpret_cast<T*>(data_), static_cast<size_t>(elements_)};
}

template <typename T>
Tensor Tensor::Of(Shape shape, const std::vector<T>& values) {
  auto made = Make(DTypeOf<T>(), std::move(shape));
  CHECK(made && made->elements() == static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), made->template mutable_values<T>().begin());
  return *made;
}

}  // namespace longshore::tensor

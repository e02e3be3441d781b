// For tests: changes tensors at random, into valid and invalid inputs of an op.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/tensor/half.h"

namespace longshore::engine::interpreter {

// All element types that tensors support.
inline std::vector<tensor::DType> AllTypes() {
  std::vector<tensor::DType> types;
  for (int i = 0; i < std::numeric_limits<kernels::TypeSet>::digits; ++i) {
    if (tensor::Tensor::Make(tensor::DType{i}, {})) types.push_back(tensor::DType{i});
  }
  return types;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // Returns a tensor with another shape or type, or with other values; sometimes the given one.
  tensor::Tensor Mutate(const tensor::Tensor& tensor) {
    switch (Below(5)) {
      case 0: return WithShape(tensor.type(), AnyShape());
      case 1: return WithShape(tensor.type(), OtherSize(tensor.shape()));
      case 2: return WithShape(types_[Below(types_.size())], tensor.shape());
      case 3: return WithShape(tensor.type(), tensor.shape());
      default: return tensor;
    }
  }
  size_t Below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

 private:
  static constexpr int64_t kNumbers[] = {0, 1, -1, 2, 3, -2, -3, 4, -7, 5, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  static constexpr double kFloats[] = {NAN, INFINITY, -INFINITY, 0.5, -0.3, 1e-40, 1e30};

  tensor::Shape AnyShape() {
    tensor::Shape shape(Below(6));
    for (auto& size : shape) size = static_cast<int64_t>(Below(4));
    return shape;
  }
  tensor::Shape OtherSize(tensor::Shape shape) {
    if (shape.empty()) return {0};
    shape[Below(shape.size())] = static_cast<int64_t>(Below(5));
    return shape;
  }

  template <typename T>
  T Any() {
    if (std::is_floating_point_v<T> && Below(4) == 0) return static_cast<T>(kFloats[Below(std::size(kFloats))]);
    return static_cast<T>(kNumbers[Below(std::size(kNumbers))]);
  }
  template <typename T>
  void Fill(tensor::Tensor* tensor) {
    std::generate_n(kernels::Raw<T>(*tensor), tensor->elements(), [this] { return Any<T>(); });
  }
  void FillShort(tensor::Tensor* tensor, uint16_t (*round)(float)) {
    std::generate_n(kernels::Raw<uint16_t>(*tensor), tensor->elements(), [&] { return round(Any<float>()); });
  }
  tensor::Tensor WithShape(tensor::DType type, const tensor::Shape& shape) {
    tensor::Tensor made = *tensor::Tensor::Make(type, shape);
    switch (type) {
      case tensor::DType::kFloat: Fill<float>(&made); break;
      case tensor::DType::kDouble: Fill<double>(&made); break;
      case tensor::DType::kHalf: FillShort(&made, tensor::FloatToHalf); break;
      case tensor::DType::kBfloat16: FillShort(&made, tensor::FloatToBfloat16); break;
      case tensor::DType::kInt32:
      case tensor::DType::kQint32: Fill<int32_t>(&made); break;
      case tensor::DType::kInt64: Fill<int64_t>(&made); break;
      case tensor::DType::kUint64: Fill<uint64_t>(&made); break;
      case tensor::DType::kBool: Fill<bool>(&made); break;
      case tensor::DType::kString: break;
      default: std::fill_n(made.mutable_data(), made.bytes(), std::byte{static_cast<unsigned char>(Below(256))});
    }
    return made;
  }

  std::mt19937 random_;
  const std::vector<tensor::DType> types_ = AllTypes();
};

}  // namespace longshore::engine::interpreter

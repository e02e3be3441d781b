// For tests: inputs without elements that have large sizes in other dimensions. A client can send such tensors in a few
// bytes.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "serving-node/tensor/tensor.h"

namespace longshore::engine::interpreter {

// Changes inputs at random; the same seed gives the same inputs.
class EmptyShapes {
 public:
  explicit EmptyShapes(uint64_t seed) : random_(seed) {}

  // Changes the shapes of some tensors. Equal sizes mostly stay equal, so that inputs still fit each other and pass the
  // checks of kernels. Tensors that would get elements are not changed.
  std::map<std::string, tensor::Tensor> Mutate(std::map<std::string, tensor::Tensor> fed) {
    std::map<int64_t, int64_t> sizes;
    for (auto& [name, value] : fed) {
      if (Below(4) == 0) continue;
      tensor::Shape shape = value.shape();
      for (int64_t& size : shape) {
        const auto [at, is_new] = sizes.emplace(size, size);
        if (is_new && Below(3) != 0) at->second = AnySize();
        size = Below(16) == 0 ? AnySize() : at->second;
      }
      const auto count = tensor::ElementCount(shape);
      if (!count || *count != 0) continue;
      if (auto made = tensor::Tensor::Make(value.type(), shape)) value = std::move(*made);
    }
    return fed;
  }

 private:
  size_t Below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

  int64_t AnySize() {
    static constexpr int64_t kSizes[] = {
        1,        2, 3, 1000, 100'000, 1'000'000, INT32_MAX, 1 << 20, int64_t{1} << 31, 1'000'000'000, int64_t{1} << 40,
        INT64_MAX};
    return Below(2) == 0 ? 0 : kSizes[Below(std::size(kSizes))];
  }

  std::mt19937 random_;
};

}  // namespace longshore::engine::interpreter

// Lists of tensors, as values: what DT_VARIANT is here, and what stands for the flow of a TensorArray.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "common/error.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::reference::kernels {

// A shape of which sizes (-1) or even the rank (nullopt) are not known.
using PartialShape = std::optional<tensor::Shape>;

std::string ToString(const PartialShape& shape);
// Both hold. InvalidArgument when they contradict each other.
Result<PartialShape> Merge(const PartialShape& a, const PartialShape& b);
bool IsComplete(const PartialShape& shape);

inline constexpr int64_t kListElementsMax = 1'000'000;
inline constexpr int kListDepthMax = 32;  // Of lists within lists.

// Never changes: what sets an element gives another list, which shares most of its memory with this one.
class TensorList {
 public:
  tensor::DType type = tensor::DType::kInvalid;
  PartialShape element_shape;
  int64_t elements_max = -1;  // -1: no limit but kListElementsMax.
  bool may_grow = false;      // Of a TensorArray: writes beyond its end make it longer.

  // With other elements: the rest is as here.
  TensorList WithSize(int64_t size) const;
  TensorList With(int64_t at, tensor::Tensor element) const;

  int64_t size() const { return size_; }
  // Empty where nothing was set. Requires: 0 <= at < size().
  const tensor::Tensor& at(int64_t at) const;
  size_t bytes() const { return bytes_ + chunks_.size() * sizeof(chunks_[0]); }
  int depth() const { return depth_; }  // 0 without lists among the elements.

  // To fill a list that nobody has seen. Requires: 0 <= at < size().
  void Set(int64_t at, tensor::Tensor element);

 private:
  static constexpr int64_t kChunkSize = 32;
  using Chunk = std::array<tensor::Tensor, kChunkSize>;

  std::vector<std::shared_ptr<Chunk>> chunks_;  // nullptr: nothing set. Written to only while nobody shares it.
  int64_t size_ = 0;
  size_t bytes_ = 0;
  int depth_ = 0;
};

// A list as a scalar tensor of DT_VARIANT, which keeps it alive.
tensor::Tensor HandleOf(TensorList list);

// nullptr when the tensor is no list.
const TensorList* ListOf(const tensor::Tensor& handle);

}  // namespace longshore::engine::reference::kernels

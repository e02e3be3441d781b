// Lists of tensors, as values. The engine uses them for tensors of DT_VARIANT and for the flow values of TensorArrays.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::kernels {

// A shape in which sizes (-1) or even the rank (nullopt) may be unknown.
using PartialShape = std::optional<tensor::Shape>;

std::string ToString(const PartialShape& shape);
// Returns the shape that satisfies both; InvalidArgument if they contradict each other.
Result<PartialShape> Merge(const PartialShape& a, const PartialShape& b);
bool IsComplete(const PartialShape& shape);

inline constexpr int64_t kListElementsMax = 1'000'000;
inline constexpr int kListDepthMax = 32;  // The most levels of lists within lists.

// A list that is immutable once other code has a handle of it: With and WithSize return a new list, which shares most
// of its memory with this one.
class TensorList {
 public:
  tensor::DType type = tensor::DType::kInvalid;
  PartialShape element_shape;
  int64_t elements_max = -1;  // -1 means no limit except kListElementsMax.
  bool may_grow = false;      // Whether a write beyond the end enlarges the list, as in a TensorArray.

  // Return a copy with another size, or with another element at index `at`. Everything else is as in this list.
  TensorList WithSize(int64_t size) const;
  TensorList With(int64_t at, tensor::Tensor element) const;

  int64_t size() const { return size_; }
  // Returns the element; an empty tensor if it was never set. Requires: 0 <= at < size().
  const tensor::Tensor& at(int64_t at) const;
  size_t bytes() const { return bytes_ + chunks_.size() * sizeof(chunks_[0]); }
  int depth() const { return depth_; }  // 0 if no element is a list itself.

  // Sets an element in place. Only for a new list of which no other code has a handle. Requires: 0 <= at < size().
  void Set(int64_t at, tensor::Tensor element);

 private:
  static constexpr int64_t kChunkSize = 32;
  using Chunk = std::array<tensor::Tensor, kChunkSize>;

  // A chunk without set elements is nullptr. Shared chunks are never written.
  std::vector<std::shared_ptr<Chunk>> chunks_;
  int64_t size_ = 0;
  size_t bytes_ = 0;
  int depth_ = 0;
};

// Returns a handle of the list: a scalar tensor of DT_VARIANT, which keeps the list alive.
tensor::Tensor HandleOf(TensorList list);

// Returns the list of a handle; nullptr if the tensor is not a list.
const TensorList* ListOf(const tensor::Tensor& handle);

// Returns the memory of the tensors in bytes, as if no two of them shared a buffer. Includes the elements of lists and
// the std::string objects of strings, but not the characters of the strings.
size_t HeldBytes(std::span<const tensor::Tensor> tensors);

}  // namespace longshore::engine::kernels

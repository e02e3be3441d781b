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
// The shape that satisfies both. InvalidArgument if they contradict each other.
Result<PartialShape> Merge(const PartialShape& a, const PartialShape& b);
bool IsComplete(const PartialShape& shape);

inline constexpr int64_t kListElementsMax = 1'000'000;
inline constexpr int kListDepthMax = 32;  // Lists nested within lists.

// An immutable list once other code has a handle of it: With and WithSize return a new list, which shares most of its
// memory with this one.
class TensorList {
 public:
  tensor::DType type = tensor::DType::kInvalid;
  PartialShape element_shape;
  int64_t elements_max = -1;  // -1: no limit except kListElementsMax.
  bool may_grow = false;      // For a TensorArray: a write beyond the end enlarges it.

  // Copies with another size, or with another element at `at`. Everything else stays the same.
  TensorList WithSize(int64_t size) const;
  TensorList With(int64_t at, tensor::Tensor element) const;

  int64_t size() const { return size_; }
  // The element; an empty tensor if it was never set. Requires: 0 <= at < size().
  const tensor::Tensor& at(int64_t at) const;
  size_t bytes() const { return bytes_ + chunks_.size() * sizeof(chunks_[0]); }
  int depth() const { return depth_; }  // 0 if no element is a list.

  // Sets an element in place. Only for a new list that no other code has a handle of. Requires: 0 <= at < size().
  void Set(int64_t at, tensor::Tensor element);

 private:
  static constexpr int64_t kChunkSize = 32;
  using Chunk = std::array<tensor::Tensor, kChunkSize>;

  std::vector<std::shared_ptr<Chunk>> chunks_;  // nullptr: no element set. A shared chunk is never written.
  int64_t size_ = 0;
  size_t bytes_ = 0;
  int depth_ = 0;
};

// A handle of the list: a scalar tensor of DT_VARIANT, which keeps the list alive.
tensor::Tensor HandleOf(TensorList list);

// The list of a handle; nullptr if the tensor is not a list.
const TensorList* ListOf(const tensor::Tensor& handle);

// The memory of the tensors in bytes, as if no two of them shared a buffer. Includes the elements of lists and the
// std::string objects of strings, but not the characters of the strings.
size_t HeldBytes(std::span<const tensor::Tensor> tensors);

}  // namespace longshore::engine::kernels

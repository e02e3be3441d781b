#include "serving-node/engine/kernels/base/tensor_list.h"

#include <algorithm>

namespace longshore::engine::kernels {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

std::string ToString(const PartialShape& shape) { return shape ? tensor::ToString(*shape) : "<unknown>"; }

Result<PartialShape> Merge(const PartialShape& a, const PartialShape& b) {
  if (!a || !b) return a ? a : b;
  const auto contradict = [&] {
    return InvalidArgument("the shapes {} and {} of a list's elements do not fit together", ToString(a), ToString(b));
  };
  if (a->size() != b->size()) return contradict();
  Shape both = *a;
  for (size_t i = 0; i < both.size(); ++i) {
    if (both[i] < 0) both[i] = (*b)[i];
    if ((*b)[i] >= 0 && both[i] != (*b)[i]) return contradict();
  }
  return PartialShape(both);
}

bool IsComplete(const PartialShape& shape) {
  return shape && std::ranges::all_of(*shape, [](int64_t size) { return size >= 0; });
}

const Tensor& TensorList::at(int64_t at) const {
  static const Tensor kNothing;
  const auto& chunk = chunks_[static_cast<size_t>(at / kChunkSize)];
  return chunk == nullptr ? kNothing : (*chunk)[static_cast<size_t>(at % kChunkSize)];
}

void TensorList::Set(int64_t at, Tensor element) {
  auto& chunk = chunks_[static_cast<size_t>(at / kChunkSize)];
  if (chunk == nullptr) {
    chunk = std::make_shared<Chunk>();
    bytes_ += sizeof(Chunk);
  } else if (chunk.use_count() > 1) {
    chunk = std::make_shared<Chunk>(*chunk);
  }
  Tensor& place = (*chunk)[static_cast<size_t>(at % kChunkSize)];
  bytes_ -= HeldBytes({&place, 1});
  if (const auto* list = ListOf(element)) depth_ = std::max(depth_, list->depth() + 1);
  place = std::move(element);
  bytes_ += HeldBytes({&place, 1});
}

TensorList TensorList::With(int64_t at, Tensor element) const {
  TensorList other = *this;
  other.Set(at, std::move(element));
  return other;
}

TensorList TensorList::WithSize(int64_t size) const {
  TensorList other = *this;
  for (int64_t i = size; i < std::min(size_, (size / kChunkSize + 1) * kChunkSize); ++i) {
    if (!at(i).empty()) other.Set(i, {});
  }
  const auto chunks = static_cast<size_t>((size + kChunkSize - 1) / kChunkSize);
  for (size_t i = chunks; i < other.chunks_.size(); ++i) {
    if (other.chunks_[i] != nullptr) other.bytes_ -= HeldBytes(*other.chunks_[i]) + sizeof(Chunk);
  }
  other.chunks_.resize(chunks);
  other.size_ = size;
  return other;
}

tensor::Tensor HandleOf(TensorList list) {
  auto held = std::make_shared<TensorList>(std::move(list));
  auto* data = reinterpret_cast<std::byte*>(held.get());
  return Tensor::Wrap(DType::kVariant, {}, data, std::move(held));
}

// The cast is safe: only HandleOf makes tensors of DT_VARIANT with data; they never come from requests or files.
const TensorList* ListOf(const Tensor& handle) {
  if (handle.type() != DType::kVariant || handle.data() == nullptr) return nullptr;
  return reinterpret_cast<const TensorList*>(handle.data());
}

size_t HeldBytes(std::span<const Tensor> tensors) {
  size_t sum = 0;
  for (const auto& tensor : tensors) {
    if (const auto* list = ListOf(tensor))
      sum += list->bytes();
    else if (tensor.type() == DType::kString)
      sum += static_cast<size_t>(tensor.elements()) * sizeof(std::string);
    else
      sum += tensor.bytes();
  }
  return sum;
}

}  // namespace longshore::engine::kernels

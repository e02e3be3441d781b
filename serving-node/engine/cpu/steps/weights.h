// The packed store: the constant operands of a model's matrix products, in the layouts that oneDNN primitives need.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "serving-node/engine/kernels/base/resources.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::cpu {

const dnnl::engine& OneDnnEngine();
// Returns the oneDNN stream of the calling thread.
dnnl::stream& OneDnnStream();

// Shared by all programs of a model. Thread-safe. A form is a constant in one layout. The store keeps each stored
// constant in one layout: first in its original one, then in the first one requested through In. When no caller holds
// the kept form any more, the next request replaces it. Other forms live as long as their callers hold them.
class Weights {
 public:
  using Form = std::shared_ptr<const dnnl::memory>;

  // Stores the constant and returns its placeholder: a tensor of the same type and shape on Device::Kind::kPacked. The
  // same buffer with the same shape gets the same placeholder while the store holds its original layout. Requires: the
  // constant is of floats and not empty.
  tensor::Tensor Store(const tensor::Tensor& constant);

  // Returns the constant in the layout `wanted`; `plain` is its original layout. Callers for the same layout share one
  // form.
  Form In(const tensor::Tensor& constant, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);

  // Returns the constant as a normal tensor in CPU memory.
  tensor::Tensor Plain(const tensor::Tensor& constant);

  int64_t memory_bytes(kernels::CountedBuffers* counted) const;  // Counts the constants in all layouts.

 private:
  struct Made {
    dnnl::memory::desc plain;
    dnnl::memory::desc layout;
    std::weak_ptr<const dnnl::memory> form;
  };
  struct Entry {
    // The placeholder, or the unstored constant. The key is its address, which no other tensor gets while it is held.
    tensor::Tensor constant;
    tensor::Tensor plain;  // The original constant; empty once `kept` has it.
    Form kept;             // The form that the store holds itself.
    dnnl::memory::desc kept_plain;
    std::vector<Made> made;
  };
  using Entries = std::unordered_map<const std::byte*, Entry>;
  Entry& EntryOf(const tensor::Tensor& constant);
  static tensor::Tensor PlainOf(const Entry& entry);
  static Form FormOf(const Entry& entry, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  void KeepForm(Entry& entry, const Form& form, const dnnl::memory::desc& plain);
  static int64_t Count(const Entries& entries, kernels::CountedBuffers* counted);

  mutable std::mutex mutex_;
  Entries stored_;    // Stored constants, by the address of the placeholder.
  Entries unstored_;  // Constants that are not stored, by their address, while a caller holds a form of them.
  // Placeholders by the address and shape of the original, while the store holds the original.
  std::map<std::pair<const std::byte*, tensor::Shape>, tensor::Tensor> placeholders_;
};

}  // namespace longshore::engine::cpu

// The constants of a model's products, in the layouts that primitives want and mostly in no other.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "serving-node/engine/reference/kernels/resources.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::cpu {

const dnnl::engine& OneDnnEngine();
// Of the thread that asks.
dnnl::stream& OneDnnStream();

// Shared by all programs of a model. A constant that was taken over is held once: as it was until it is asked for in a
// layout, then in the one that was asked for last; others live as long as somebody has them. Thread-safe.
class Weights {
 public:
  using Form = std::shared_ptr<const dnnl::memory>;

  // What stands for the constant from now on: of its type and shape, on Device::Kind::kPacked. The same for the same
  // buffer, as long as that is held. Requires: float, not empty.
  tensor::Tensor TakeOver(const tensor::Tensor& constant);

  // The constant, which lies as `plain` says, in another layout; packed once for all who want the same.
  Form In(const tensor::Tensor& constant, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);

  // The constant in the memory of the CPU.
  tensor::Tensor Plain(const tensor::Tensor& constant);

  int64_t memory_bytes(reference::kernels::CountedBuffers* counted) const;

 private:
  struct Made {
    dnnl::memory::desc plain;
    dnnl::memory::desc layout;
    std::weak_ptr<const dnnl::memory> form;
  };
  struct Entry {
    tensor::Tensor constant;  // Or what stands for it; keeps the address, which is the key, from being used again.
    tensor::Tensor plain;     // Empty once the home holds it.
    Form home;
    dnnl::memory::desc home_plain;
    std::vector<Made> made;
  };
  Entry& EntryOf(const tensor::Tensor& constant);
  static tensor::Tensor PlainOf(const Entry& entry);
  void Forget();

  mutable std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace longshore::engine::cpu

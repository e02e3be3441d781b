// The constants of a model's products, in the layouts that primitives want and mostly in no other.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "serving-node/engine/reference/kernels/resources.h"
#include "serving-node/tensor/tensor.h"

namespace longshore::engine::cpu {

const dnnl::engine& OneDnnEngine();
// Of the thread that asks.
dnnl::stream& OneDnnStream();

// Shared by all programs of a model. A constant that was taken over is held as it was until it is asked for in a
// layout, then in that one; when nobody has it in that one any more, in the next that is asked for. Other layouts live
// as long as somebody has them. Thread-safe.
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
    tensor::Tensor constant;  // Or what stands for it; keeps the key from being used again.
    tensor::Tensor plain;     // Empty once the home holds it.
    Form home;
    dnnl::memory::desc home_plain;
    std::vector<Made> made;
  };
  using Entries = std::unordered_map<const std::byte*, Entry>;
  Entry& EntryOf(const tensor::Tensor& constant);
  static tensor::Tensor PlainOf(const Entry& entry);
  static Form FormOf(const Entry& entry, const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);
  void MoveHome(Entry& entry, const Form& form, const dnnl::memory::desc& plain);
  static int64_t Count(const Entries& entries, reference::kernels::CountedBuffers* counted);

  mutable std::mutex mutex_;
  Entries taken_;    // By the address of what stands for the constant.
  Entries passing_;  // Constants that were not taken over, by their address, as long as somebody has a form of them.
  // By the address and the shape of what is held as it was.
  std::map<std::pair<const std::byte*, tensor::Shape>, tensor::Tensor> stands_for_;
};

}  // namespace longshore::engine::cpu

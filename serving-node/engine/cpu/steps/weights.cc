#include "serving-node/engine/cpu/steps/weights.h"

#include <algorithm>

namespace longshore::engine::cpu {

using dnnl::memory;
using tensor::Device;
using tensor::Tensor;

namespace {

void Reorder(memory from, memory to) {
  dnnl::reorder(from, to).execute(OneDnnStream(), from, to);
  OneDnnStream().wait();
}

memory Over(const Tensor& plain, const memory::desc& layout) {
  return {layout, OneDnnEngine(), const_cast<std::byte*>(plain.data())};
}

Tensor Over(const Weights::Form& form, const Tensor& like) {
  return Tensor::Wrap(like.type(), like.shape(), static_cast<std::byte*>(form->get_data_handle()), form);
}

bool IsTaken(const Tensor& constant) { return constant.device().kind == Device::Kind::kPacked; }

}  // namespace

const dnnl::engine& OneDnnEngine() {
  static const dnnl::engine kEngine(dnnl::engine::kind::cpu, 0);
  return kEngine;
}

dnnl::stream& OneDnnStream() {
  thread_local dnnl::stream stream(OneDnnEngine());
  return stream;
}

Tensor Weights::TakeOver(const Tensor& constant) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.plain.data() == constant.data() && entry.plain.shape() == constant.shape();
  });
  if (known != entries_.end()) return known->constant;
  const auto address = std::make_shared<std::byte>();
  const Tensor stands_for_it =
      Tensor::Wrap(constant.type(), constant.shape(), address.get(), address, {.kind = Device::Kind::kPacked});
  entries_.push_back({.constant = stands_for_it, .plain = constant, .home = {}, .home_plain = {}, .made = {}});
  return stands_for_it;
}

Weights::Entry& Weights::EntryOf(const Tensor& constant) {
  const auto known =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.constant.data() == constant.data(); });
  if (known != entries_.end()) return *known;
  entries_.push_back({.constant = constant, .plain = constant, .home = {}, .home_plain = {}, .made = {}});
  return entries_.back();
}

Tensor Weights::PlainOf(const Entry& entry) {
  if (!entry.plain.empty()) return entry.plain;
  if (entry.home->get_desc() == entry.home_plain) return Over(entry.home, entry.constant);
  auto plain = Tensor::Make(entry.constant.type(), entry.constant.shape());
  CHECK(plain);
  Reorder(*entry.home, Over(*plain, entry.home_plain));
  return std::move(*plain);
}

// What was not taken over, and nobody has any more in a layout of its own.
void Weights::Forget() {
  for (Entry& entry : entries_) std::erase_if(entry.made, [](const Made& made) { return made.form.expired(); });
  entries_.remove_if([](const Entry& entry) { return !IsTaken(entry.constant) && entry.made.empty(); });
}

Weights::Form Weights::In(const Tensor& constant, const memory::desc& plain, const memory::desc& wanted) {
  struct Held {
    Tensor plain;  // That the memory lies in, where it is not its own.
    memory packed;
  };
  const std::lock_guard lock(mutex_);
  Forget();
  Entry& entry = EntryOf(constant);
  for (const Made& made : entry.made) {
    if (made.plain != plain || made.layout != wanted) continue;
    if (Form form = made.form.lock()) return form;
  }
  auto held = std::make_shared<Held>();
  held->plain = PlainOf(entry);
  held->packed = Over(held->plain, plain);
  if (plain != wanted) {
    held->packed = memory(wanted, OneDnnEngine());
    Reorder(Over(held->plain, plain), held->packed);
    held->plain = Tensor();
  }
  const Form form(held, &held->packed);
  entry.made.push_back({plain, wanted, form});
  if (IsTaken(constant)) {
    entry.home = form;
    entry.home_plain = plain;
    entry.plain = Tensor();
  }
  return form;
}

Tensor Weights::Plain(const Tensor& constant) {
  if (!IsTaken(constant)) return constant;
  const memory::desc flat({constant.elements()}, memory::data_type::f32, memory::format_tag::a);
  return Over(In(constant, flat, flat), constant);
}

int64_t Weights::memory_bytes(reference::kernels::CountedBuffers* counted) const {
  const std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const Entry& entry : entries_) {
    if (!entry.plain.empty()) sum += reference::kernels::UncountedBytes(entry.plain, counted);
    for (const Made& made : entry.made) {
      const Form form = made.form.lock();
      if (form && counted->insert(static_cast<const std::byte*>(form->get_data_handle())).second)
        sum += static_cast<int64_t>(made.layout.get_size());
    }
  }
  return sum;
}

}  // namespace longshore::engine::cpu

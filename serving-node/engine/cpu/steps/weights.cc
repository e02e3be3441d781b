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
  Tensor& stands_for_it = stands_for_[{constant.data(), constant.shape()}];
  if (stands_for_it.empty()) {
    const auto address = std::make_shared<std::byte>();
    stands_for_it =
        Tensor::Wrap(constant.type(), constant.shape(), address.get(), address, {.kind = Device::Kind::kPacked});
    taken_[address.get()] = {.constant = stands_for_it, .plain = constant, .home = {}, .home_plain = {}, .made = {}};
  }
  return stands_for_it;
}

Weights::Entry& Weights::EntryOf(const Tensor& constant) {
  if (IsTaken(constant)) return taken_.at(constant.data());
  std::erase_if(passing_, [](const auto& known) {
    return std::ranges::all_of(known.second.made, [](const Made& made) { return made.form.expired(); });
  });
  Entry& entry = passing_[constant.data()];
  entry.constant = entry.plain = constant;
  return entry;
}

Tensor Weights::PlainOf(const Entry& entry) {
  if (!entry.plain.empty()) return entry.plain;
  if (entry.home->get_desc() == entry.home_plain) return Over(entry.home, entry.constant);
  auto plain = Tensor::Make(entry.constant.type(), entry.constant.shape());
  CHECK(plain);
  Reorder(*entry.home, Over(*plain, entry.home_plain));
  return std::move(*plain);
}

// nullptr when nobody has it.
Weights::Form Weights::FormOf(const Entry& entry, const memory::desc& plain, const memory::desc& wanted) {
  for (const Made& made : entry.made) {
    if (made.plain == plain && made.layout == wanted) {
      if (Form form = made.form.lock()) return form;
    }
  }
  return nullptr;
}

void Weights::MoveHome(Entry& entry, const Form& form, const memory::desc& plain) {
  if (!IsTaken(entry.constant) || entry.home.use_count() > 1) return;
  entry.home = form;
  entry.home_plain = plain;
  stands_for_.erase({entry.plain.data(), entry.plain.shape()});
  entry.plain = Tensor();
}

Weights::Form Weights::In(const Tensor& constant, const memory::desc& plain, const memory::desc& wanted) {
  struct Held {
    Tensor plain;  // That the memory lies in, where it is not its own.
    memory packed;
  };
  const std::lock_guard lock(mutex_);
  Entry& entry = EntryOf(constant);
  Form form = FormOf(entry, plain, wanted);
  if (!form) {
    auto held = std::make_shared<Held>();
    held->plain = PlainOf(entry);
    held->packed = Over(held->plain, plain);
    if (plain != wanted) {
      held->packed = memory(wanted, OneDnnEngine());
      Reorder(Over(held->plain, plain), held->packed);
      held->plain = Tensor();
    }
    form = Form(held, &held->packed);
    std::erase_if(entry.made, [](const Made& made) { return made.form.expired(); });
    entry.made.push_back({plain, wanted, form});
  }
  MoveHome(entry, form, plain);
  return form;
}

Tensor Weights::Plain(const Tensor& constant) {
  if (!IsTaken(constant)) return constant;
  const memory::desc flat({constant.elements()}, memory::data_type::f32, memory::format_tag::a);
  return Over(In(constant, flat, flat), constant);
}

int64_t Weights::Count(const Entries& entries, reference::kernels::CountedBuffers* counted) {
  int64_t sum = 0;
  for (const auto& [_, entry] : entries) {
    if (!entry.plain.empty()) sum += reference::kernels::UncountedBytes(entry.plain, counted);
    for (const Made& made : entry.made) {
      const Form form = made.form.lock();
      if (form && counted->insert(static_cast<const std::byte*>(form->get_data_handle())).second)
        sum += static_cast<int64_t>(made.layout.get_size());
    }
  }
  return sum;
}

int64_t Weights::memory_bytes(reference::kernels::CountedBuffers* counted) const {
  const std::lock_guard lock(mutex_);
  return Count(taken_, counted) + Count(passing_, counted);
}

}  // namespace longshore::engine::cpu

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

bool IsPlaceholder(const Tensor& constant) { return constant.device().kind == Device::Kind::kPacked; }

}  // namespace

const dnnl::engine& OneDnnEngine() {
  static const dnnl::engine kEngine(dnnl::engine::kind::cpu, 0);
  return kEngine;
}

dnnl::stream& OneDnnStream() {
  thread_local dnnl::stream stream(OneDnnEngine());
  return stream;
}

Tensor Weights::Store(const Tensor& constant) {
  const std::lock_guard lock(mutex_);
  Tensor& placeholder = placeholders_[{constant.data(), constant.shape()}];
  if (placeholder.empty()) {
    const auto address = std::make_shared<std::byte>();
    placeholder =
        Tensor::Wrap(constant.type(), constant.shape(), address.get(), address, {.kind = Device::Kind::kPacked});
    stored_[address.get()] = {.constant = placeholder, .plain = constant, .kept = {}, .kept_plain = {}, .made = {}};
  }
  return placeholder;
}

Weights::Entry& Weights::EntryOf(const Tensor& constant) {
  if (IsPlaceholder(constant)) return stored_.at(constant.data());
  std::erase_if(unstored_, [](const auto& known) {
    return std::ranges::all_of(known.second.made, [](const Made& made) { return made.form.expired(); });
  });
  Entry& entry = unstored_[constant.data()];
  entry.constant = entry.plain = constant;
  return entry;
}

Tensor Weights::PlainOf(const Entry& entry) {
  if (!entry.plain.empty()) return entry.plain;
  if (entry.kept->get_desc() == entry.kept_plain) return Over(entry.kept, entry.constant);
  auto plain = Tensor::Make(entry.constant.type(), entry.constant.shape());
  CHECK(plain);
  Reorder(*entry.kept, Over(*plain, entry.kept_plain));
  return std::move(*plain);
}

// Returns the form in the layout `wanted`; nullptr if no caller holds it.
Weights::Form Weights::FormOf(const Entry& entry, const memory::desc& plain, const memory::desc& wanted) {
  for (const Made& made : entry.made) {
    if (made.plain == plain && made.layout == wanted) {
      if (Form form = made.form.lock()) return form;
    }
  }
  return nullptr;
}

void Weights::KeepForm(Entry& entry, const Form& form, const memory::desc& plain) {
  if (!IsPlaceholder(entry.constant) || entry.kept.use_count() > 1) return;
  entry.kept = form;
  entry.kept_plain = plain;
  placeholders_.erase({entry.plain.data(), entry.plain.shape()});
  entry.plain = Tensor();
}

Weights::Form Weights::In(const Tensor& constant, const memory::desc& plain, const memory::desc& wanted) {
  struct Held {
    Tensor plain;  // Owns the memory of `packed` if the original layout is the wanted one.
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
  KeepForm(entry, form, plain);
  return form;
}

Tensor Weights::Plain(const Tensor& constant) {
  if (!IsPlaceholder(constant)) return constant;
  const memory::desc flat({constant.elements()}, memory::data_type::f32, memory::format_tag::a);
  return Over(In(constant, flat, flat), constant);
}

int64_t Weights::Count(const Entries& entries, kernels::CountedBuffers* counted) {
  int64_t sum = 0;
  for (const auto& [_, entry] : entries) {
    if (!entry.plain.empty()) sum += kernels::UncountedBytes(entry.plain, counted);
    for (const Made& made : entry.made) {
      const Form form = made.form.lock();
      if (form && counted->insert(static_cast<const std::byte*>(form->get_data_handle())).second)
        sum += static_cast<int64_t>(made.layout.get_size());
    }
  }
  return sum;
}

int64_t Weights::memory_bytes(kernels::CountedBuffers* counted) const {
  const std::lock_guard lock(mutex_);
  return Count(stored_, counted) + Count(unstored_, counted);
}

}  // namespace longshore::engine::cpu

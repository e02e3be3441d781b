#include "serving-node/engine/cpu/programs.h"

#include <algorithm>

#include "serving-node/graph/prune.h"

namespace longshore::engine::cpu {
namespace {

graph::Graph Only(const graph::Graph& graph, std::span<const size_t> wanted) {
  graph::Graph some{.nodes = graph.nodes, .fed = graph.fed, .outputs = {}, .arguments = graph.arguments, .bodies = {}};
  for (const size_t output : wanted) some.outputs.push_back(graph.outputs[output]);
  return graph::PruneNodes(std::move(some));
}

std::map<std::string, graph::Type> TypesOf(const std::map<std::string, Tensor>& fed, bool with_shapes) {
  std::map<std::string, graph::Type> types;
  for (const auto& [name, value] : fed) {
    types[name] = {value.type(), with_shapes ? std::optional(value.shape()) : std::nullopt, std::nullopt};
  }
  return types;
}

}  // namespace

bool Programs::Entry::IsFor(const std::map<std::string, Tensor>& fed, std::span<const size_t> outputs) const {
  const auto type = [](const auto& named) { return named.second.type(); };
  const auto shape = [](const auto& named) -> const Shape& { return named.second.shape(); };
  return std::ranges::equal(wanted, outputs) && std::ranges::equal(types, fed, {}, {}, type) &&
         (!knows_shapes() || std::ranges::equal(shapes, fed, {}, {}, shape));
}

std::list<Programs::Entry>::iterator Programs::Find(const std::map<std::string, Tensor>& fed,
                                                    std::span<const size_t> wanted) const {
  const auto serves = [&](const Entry& entry) { return entry.IsFor(fed, wanted); };
  const auto serves_best = [&](const Entry& entry) { return entry.knows_shapes() && serves(entry); };
  const auto known = std::ranges::find_if(entries_, serves_best);
  return known != entries_.end() ? known : std::ranges::find_if(entries_, serves);
}

void Programs::CountUse(std::list<Entry>::iterator entry) const {
  entry->uses = std::min(entry->uses + 1, kUsesMax);
  entries_.splice(entries_.begin(), entries_, entry);
  const auto others = std::ranges::subrange(std::next(entries_.begin()), entries_.end());
  const auto is_kept = [](const Entry& of) { return of.uses > 1; };
  const size_t places = options_.programs_max - options_.programs_max / kTrialPart;
  if (static_cast<size_t>(std::ranges::count_if(others, is_kept)) < places) return;
  auto least = others.end();
  for (auto other = others.begin(); other != others.end(); ++other) {
    if (is_kept(*other) && (least == others.end() || other->uses <= least->uses)) least = other;
  }
  least->uses = 1;
}

bool Programs::EvictOneUsedOnce() const {
  const auto may_go = [](const Entry& entry) { return entry.uses == 1 && entry.slot->made != nullptr; };
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), may_go);
  if (last == entries_.rend()) return false;
  entries_.erase(std::prev(last.base()));
  return true;
}

void Programs::Age() const {
  if (++finds_ < kFindsOfAnAge) return;
  finds_ = 0;
  for (Entry& entry : entries_) entry.uses = std::max<size_t>(1, entry.uses / 2);
}

Programs::FoundSlot Programs::SlotFor(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted) const {
  const std::lock_guard lock(mutex_);
  Age();
  const auto known = Find(fed, wanted);
  if (known != entries_.end()) {
    CountUse(known);
  } else {
    Entry entry{.types = {}, .shapes = {}, .wanted = {wanted.begin(), wanted.end()}, .slot = std::make_shared<Slot>()};
    for (const auto& [name, value] : fed) {
      entry.types.push_back(value.type());
      if (shapes_met_ < options_.shapes_max) entry.shapes.push_back(value.shape());
    }
    ++shapes_met_;
    while (entries_.size() >= options_.programs_max && EvictOneUsedOnce()) {
    }
    entries_.push_front(std::move(entry));
  }
  const Entry& found = entries_.front();
  return {found.slot, found.knows_shapes(), found.slot->made != nullptr};
}

std::shared_ptr<const Programs::Made> Programs::IfMade(const std::map<std::string, Tensor>& fed,
                                                       std::span<const size_t> wanted) const {
  const std::lock_guard lock(mutex_);
  const auto found = Find(fed, wanted);
  if (found == entries_.end()) return nullptr;
  CountUse(found);  // So it is not evicted before the caller's run.
  return found->slot->made;
}

Programs::Found Programs::For(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                              Resources& resources, size_t bytes_max) const {
  const auto [slot, knows_shapes, is_made] = SlotFor(fed, wanted);
  std::call_once(slot->once, [&, &slot = *slot, with_shapes = knows_shapes] {
    auto made = std::make_shared<const Made>(Make(fed, wanted, with_shapes, resources, bytes_max));
    const std::lock_guard lock(mutex_);  // Because memory_bytes reads `slot.made`.
    slot.made = std::move(made);
  });
  return {slot->made, !is_made};
}

Programs::Made Programs::Make(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                              bool with_shapes, Resources& resources, size_t bytes_max) const {
  Program::Options options = options_.program;
  options.may_cut = options_.parts_max > 1;
  const auto make = [&](const graph::Graph& graph) {
    return Program::Make(graph, bodies_, TypesOf(fed, with_shapes), weights_, resources, options, bytes_max);
  };
  Made made{.program = wanted.empty() ? make(graph_) : make(Only(graph_, wanted)), .tail = nullptr};
  if (!made.program->cut()) return made;
  const Options of_tail{.program = options_.program, .parts_max = options_.parts_max - 1, .programs_max = kOfTailMax};
  made.tail = std::make_unique<const Programs>(made.program->cut()->tail, bodies_, weights_, of_tail);
  return made;
}

std::shared_ptr<const Programs::Made> Programs::Newest() const {
  const std::lock_guard lock(mutex_);
  const auto newest = std::ranges::find_if(entries_, [](const Entry& of) { return of.slot->made != nullptr; });
  return newest == entries_.end() ? nullptr : newest->slot->made;
}

std::unique_ptr<const Program> Programs::ForTracing(const std::map<std::string, Tensor>& fed, Resources& resources,
                                                    size_t bytes_max) const {
  return Program::Make(graph_, bodies_, TypesOf(fed, true), weights_, resources, {}, bytes_max);
}

int64_t Programs::memory_bytes(kernels::CountedBuffers* counted) const {
  int64_t sum = 0;
  for (const graph::Node& node : graph_.nodes) {
    for (const Tensor& value : node.values) {
      if (value.device() == tensor::Device{}) sum += kernels::UncountedBytes(value, counted);
    }
  }
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    if (!entry.slot->made) continue;
    sum += entry.slot->made->program->memory_bytes(counted);
    if (entry.slot->made->tail) sum += entry.slot->made->tail->memory_bytes(counted);
  }
  return sum;
}

}  // namespace longshore::engine::cpu

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
  if (std::ranges::count_if(others, is_kept) < static_cast<int64_t>(kProgramsMax - kProgramsOnTrial)) return;
  auto least = others.end();
  for (auto other = others.begin(); other != others.end(); ++other) {
    if (is_kept(*other) && (least == others.end() || other->uses <= least->uses)) least = other;
  }
  least->uses = 1;
}

void Programs::EvictOneUsedOnce() const {
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& entry) { return entry.uses == 1; });
  entries_.erase(std::prev(last.base()));
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
    entries_.push_front(std::move(entry));
    if (entries_.size() > kProgramsMax) EvictOneUsedOnce();
  }
  const Entry& found = entries_.front();
  return {found.slot, found.knows_shapes(), found.slot->program != nullptr};
}

std::shared_ptr<const Program> Programs::IfMade(const std::map<std::string, Tensor>& fed,
                                                std::span<const size_t> wanted) const {
  const std::lock_guard lock(mutex_);
  const auto found = Find(fed, wanted);
  return found == entries_.end() ? nullptr : found->slot->program;
}

Programs::Found Programs::For(const std::map<std::string, Tensor>& fed, std::span<const size_t> wanted,
                              Resources& resources, size_t bytes_max) const {
  const auto [slot, knows_shapes, is_made] = SlotFor(fed, wanted);
  std::call_once(slot->made, [&, &slot = *slot, with_shapes = knows_shapes] {
    const auto make = [&](const graph::Graph& graph) {
      return Program::Make(graph, bodies_, TypesOf(fed, with_shapes), weights_, resources, options_.program, bytes_max);
    };
    auto program = wanted.empty() ? make(graph_) : make(Only(graph_, wanted));
    const std::lock_guard lock(mutex_);  // Because memory_bytes reads `slot.program`.
    slot.program = std::move(program);
  });
  return {slot->program, !is_made};
}

std::shared_ptr<const Program> Programs::Newest() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty() ? nullptr : entries_.front().slot->program;
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
    if (entry.slot->program) sum += entry.slot->program->memory_bytes(counted);
  }
  return sum;
}

}  // namespace longshore::engine::cpu

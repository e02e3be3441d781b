#include "controller/reconcile/fleet_book.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace longshore::reconcile {
namespace {

// Verdicts count only in a report about the state last sent, so with them it matters whether it is one.
bool HasVerdict(const control::VersionReport& version) {
  using control::VersionReport;
  return version.has_golden() || version.guard().tripped() || version.state() == VersionReport::FAILED ||
         version.state() == VersionReport::QUARANTINED || version.state() == VersionReport::NOT_FOUND;
}

// The state of a node that concerns all models that it has something to do with.
auto StandingOf(const KnownNode& node) {
  return std::tuple(node.attached, IsDraining(node), std::string_view(node.view->hello.peer_address()));
}

}  // namespace

News FleetBook::Update(const std::vector<nodes::ViewPtr>& views, const std::vector<fleet::NodeInfo>& machines,
                       MonotonicPoint now) {
  std::map<std::string, bool> leaving;  // Of the machines that are there.
  for (const fleet::NodeInfo& machine : machines) leaving[machine.node] = fleet::IsLeaving(machine);
  News news;
  std::set<std::string> attached;
  for (const nodes::ViewPtr& view : views) {
    const auto machine = leaving.find(view->hello.node());
    if (machine == leaving.end() || !view->connected || !view->reported) continue;
    attached.insert(machine->first);
    Take(view, machine->second, news);
  }
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    auto& [name, node] = *at++;
    if (attached.contains(name)) continue;
    if (std::exchange(node.attached, false)) {
      node.lost_at = now;
      news.nodes.insert(name);
    }
    if (!leaving.contains(name) || now - node.lost_at > patience_) Forget(std::string(name), news);
  }
  if (news.nodes.empty()) return news;
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) {
    if (!IsDraining(node)) names.push_back(name);
  }
  if (names != staying_->names) staying_ = rollout::MakeNodeNames(std::move(names));
  return news;
}

void FleetBook::Take(const nodes::ViewPtr& view, bool leaving, News& news) {
  const auto [at, is_new] = nodes_.try_emplace(view->hello.node());
  auto& [name, node] = *at;
  if (node.view == view && node.attached && node.leaving == leaving) return;
  const KnownNode before = std::exchange(node, KnownNode{view, true, leaving, {}, false});
  const bool reports = is_new || before.view->report != view->report;
  const bool freshens = !is_new && IsFresh(*before.view) != IsFresh(*view);
  if (is_new || StandingOf(before) != StandingOf(node)) news.nodes.insert(name);
  if (reports) news.reported.push_back(view);
  if (reports || freshens) Hear(name, node, news);
  node.ready = IsReady(*view);
}

void FleetBook::Hear(const std::string& name, const KnownNode& node, News& news) {
  const bool fresh = IsFresh(*node.view);
  std::map<std::string, std::string> texts;
  std::map<std::string, Said> said;
  for (const control::VersionReport& version : node.view->report->versions()) {
    control::VersionReport plain = version;
    plain.clear_evidence();
    std::string& text = texts[version.served_name()];
    text += plain.SerializeAsString();
    if (HasVerdict(version)) text += fresh ? '1' : '0';
    said[version.served_name()].versions.push_back(&version);
  }
  for (const control::SourceReport& source : node.view->report->sources()) {
    texts[source.served_name()] += source.SerializeAsString();
    said[source.served_name()].source = &source;
  }
  Heard next;
  for (const auto& [model, text] : texts) next[model] = std::hash<std::string>()(text);
  Heard before = std::exchange(heard_[name], next);
  for (auto& [model, words] : said) {
    const auto known = before.extract(model);
    if (known.empty() || known.mapped() != next.at(model)) news.models.insert(model);
    words_[model][name] = std::move(words);
  }
  for (const auto& [model, _] : before) Unsay(name, model, news);
}

// The node speaks of this model no more.
void FleetBook::Unsay(const std::string& name, const std::string& model, News& news) {
  news.models.insert(model);
  const auto words = words_.find(model);
  words->second.erase(name);
  if (words->second.empty()) words_.erase(words);
}

void FleetBook::Forget(const std::string& name, News& news) {
  news.nodes.insert(name);
  for (const auto& [model, _] : heard_[name]) Unsay(name, model, news);
  heard_.erase(name);
  nodes_.erase(name);
}

std::optional<MonotonicPoint> FleetBook::patient_until() const {
  std::optional<MonotonicPoint> until;
  for (const auto& [_, node] : nodes_) {
    if (!node.attached) until = std::min(until.value_or(MonotonicPoint::max()), node.lost_at + patience_);
  }
  return until;
}

const KnownNode* FleetBook::Find(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

const FleetBook::Words* FleetBook::WordsOf(const std::string& served_name) const {
  const auto found = words_.find(served_name);
  return found == words_.end() ? nullptr : &found->second;
}

}  // namespace longshore::reconcile

#include "controller/reconcile/fleet_book.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace longshore::reconcile {
namespace {

// Whether the report contains a verdict on the version, such as a failure. Verdicts are used only from fresh reports
// (see IsFresh), so a report with a verdict counts as changed when it becomes fresh.
bool HasVerdict(const control::VersionReport& version) {
  using control::VersionReport;
  return version.has_golden() || version.guard().tripped() || version.state() == VersionReport::FAILED ||
         version.state() == VersionReport::QUARANTINED || version.state() == VersionReport::NOT_FOUND;
}

// The properties of a node whose changes affect all its Models.
auto StandingOf(const KnownNode& node) {
  return std::tuple(node.attached, IsDraining(node), std::string_view(node.view->hello.peer_address()),
                    node.view->hello.match_rules());
}

}  // namespace

Changes FleetBook::Update(const std::vector<nodes::ViewPtr>& views, const std::vector<fleet::NodeInfo>& node_infos,
                          MonotonicPoint now) {
  std::map<std::string, bool> leaving;  // Key: node. Value: whether it is leaving.
  for (const fleet::NodeInfo& node_info : node_infos) leaving[node_info.node] = fleet::IsLeaving(node_info);
  Changes changes;
  std::set<std::string> attached;
  for (const nodes::ViewPtr& view : views) {
    const auto node_info = leaving.find(view->hello.node());
    if (node_info == leaving.end() || !view->connected || !view->reported) continue;
    attached.insert(node_info->first);
    Take(view, node_info->second, changes);
  }
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    auto& [name, node] = *at++;
    if (attached.contains(name)) continue;
    if (std::exchange(node.attached, false)) {
      node.lost_at = now;
      changes.nodes.insert(name);
    }
    if (!leaving.contains(name) || now - node.lost_at > reconnect_grace_) Forget(std::string(name), changes);
  }
  if (!changes.nodes.empty()) UpdateStaying();
  return changes;
}

void FleetBook::UpdateStaying() {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) {
    if (!IsDraining(node) && !node.departing) names.push_back(name);
  }
  if (names != staying_->names) staying_ = rollout::MakeNodeNames(std::move(names));
}

std::set<std::string> FleetBook::SetDeparting(std::set<std::string> nodes) {
  departing_ = std::move(nodes);
  std::set<std::string> changed;
  for (auto& [name, node] : nodes_) {
    if (node.departing == departing_.contains(name)) continue;
    node.departing = !node.departing;
    changed.insert(name);
  }
  if (!changed.empty()) UpdateStaying();
  return changed;
}

void FleetBook::Take(const nodes::ViewPtr& view, bool leaving, Changes& changes) {
  const auto [at, is_new] = nodes_.try_emplace(view->hello.node());
  auto& [name, node] = *at;
  if (node.view == view && node.attached && node.leaving == leaving) return;
  const KnownNode before = std::exchange(
      node, KnownNode{.view = view, .attached = true, .leaving = leaving, .departing = departing_.contains(name)});
  const bool reports = is_new || before.view->report != view->report;
  const bool freshens = !is_new && IsFresh(*before.view) != IsFresh(*view);
  if (is_new || StandingOf(before) != StandingOf(node)) changes.nodes.insert(name);
  if (reports) changes.reported.push_back(view);
  if (reports || freshens) TakeReport(name, node, changes);
  node.ready = IsReady(*view);
}

void FleetBook::TakeReport(const std::string& name, const KnownNode& node, Changes& changes) {
  const bool fresh = IsFresh(*node.view);
  std::map<std::string, std::string> texts;
  std::map<std::string, ModelReports> said;
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
  for (const control::RulesReport& rules : node.view->report->rules()) {
    texts[rules.served_name()] += rules.SerializeAsString();
    said[rules.served_name()].rules = &rules;
  }
  ReportHashes next;
  for (const auto& [model, text] : texts) next[model] = std::hash<std::string>()(text);
  ReportHashes before = std::exchange(hashes_[name], next);
  for (auto& [model, reports] : said) {
    const auto known = before.extract(model);
    if (known.empty() || known.mapped() != next.at(model)) changes.models.insert(model);
    reports_[model][name] = std::move(reports);
  }
  for (const auto& [model, _] : before) RemoveReport(name, model, changes);
}

FleetBook::ModelReports FleetBook::ReportsIn(const control::Report& report, const std::string& served_name) {
  ModelReports found;
  for (const control::VersionReport& version : report.versions()) {
    if (version.served_name() == served_name) found.versions.push_back(&version);
  }
  for (const control::SourceReport& source : report.sources()) {
    if (source.served_name() == served_name) found.source = &source;
  }
  for (const control::RulesReport& rules : report.rules()) {
    if (rules.served_name() == served_name) found.rules = &rules;
  }
  return found;
}

// Removes the report of the node `name` on `model`.
void FleetBook::RemoveReport(const std::string& name, const std::string& model, Changes& changes) {
  changes.models.insert(model);
  const auto reports = reports_.find(model);
  reports->second.erase(name);
  if (reports->second.empty()) reports_.erase(reports);
}

void FleetBook::Forget(const std::string& name, Changes& changes) {
  changes.nodes.insert(name);
  for (const auto& [model, _] : hashes_[name]) RemoveReport(name, model, changes);
  hashes_.erase(name);
  nodes_.erase(name);
}

std::optional<MonotonicPoint> FleetBook::grace_until() const {
  std::optional<MonotonicPoint> until;
  for (const auto& [_, node] : nodes_) {
    if (!node.attached) until = std::min(until.value_or(MonotonicPoint::max()), node.lost_at + reconnect_grace_);
  }
  return until;
}

const KnownNode* FleetBook::Find(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

const FleetBook::ReportsByNode* FleetBook::ReportsFor(const std::string& served_name) const {
  const auto found = reports_.find(served_name);
  return found == reports_.end() ? nullptr : &found->second;
}

}  // namespace longshore::reconcile

#include "controller/console/sampler.h"

#include <limits>
#include <set>

#include "common/base/buckets.h"
#include "controller/decide/analysis/histogram.h"
#include "controller/decide/analysis/tolerance.h"
#include "controller/reconcile/evidence.h"

namespace longshore::console {
namespace {

float Milliseconds(const analysis::Buckets& run_times, double quantile) {
  if (analysis::Total(run_times) == 0) return 0;
  const int bucket = analysis::QuantileBucket(run_times, quantile);
  return static_cast<float>(TimeBucketUpperMicroseconds(bucket) / 1000);
}

TrafficPoint PointOf(const api::ArmEvidence& counts, Duration elapsed, TimePoint now) {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const analysis::Buckets run_times = analysis::Sum(counts.run_times);
  return {.at = now,
          .requests_per_second = static_cast<float>(static_cast<double>(counts.requests) / seconds),
          .errors_per_second = static_cast<float>(static_cast<double>(counts.errors) / seconds),
          .median_ms = Milliseconds(run_times, 0.5),
          .p90_ms = Milliseconds(run_times, 0.9)};
}

constexpr int64_t kFirstVersion = std::numeric_limits<int64_t>::min();

// The versions that people want to see even if they have no requests.
std::set<int64_t> ShownVersions(const api::Model& model) {
  const api::ModelStatus& status = model.status;
  std::set<int64_t> versions = {status.stable_version};
  for (const auto& [label, version] : model.spec.version_labels) versions.insert(version);
  if (IsUnderWay(status.rollout.phase)) versions.insert({status.rollout.stable, status.rollout.candidate});
  versions.erase(0);
  return versions;
}

// Key of the counts: served name and version.
void AddTraffic(const api::Model& model, const std::map<std::pair<std::string, int64_t>, api::ArmEvidence>& counts,
                Duration elapsed, TimePoint now, History& history) {
  std::map<int64_t, api::ArmEvidence> shown;
  for (const int64_t version : ShownVersions(model)) shown[version] = {};
  const std::string& served_name = model.spec.served_name;
  for (auto at = counts.lower_bound({served_name, kFirstVersion}); at != counts.end(); ++at) {
    if (at->first.first != served_name) break;
    if (at->second.requests > 0 || shown.contains(at->first.second)) shown[at->first.second] = at->second;
  }
  for (const auto& [version, since] : shown) history.Add(model.metadata.uid, version, PointOf(since, elapsed, now));
}

std::optional<double> NumberOf(const api::Verdict& verdict, const char* name) {
  const auto found = verdict.numbers.find(name);
  return found == verdict.numbers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<float> Float(std::optional<double> number) {
  return number ? std::optional(static_cast<float>(*number)) : std::nullopt;
}

}  // namespace

std::optional<EvidencePoint> EvidenceOf(const api::Model& model, TimePoint now) {
  const api::Verdict& verdict = model.status.rollout.verdict;
  const auto low = NumberOf(verdict, "errorDifferenceLow");
  const auto high = NumberOf(verdict, "errorDifferenceHigh");
  if (!low || !high) return std::nullopt;
  const double requests = NumberOf(verdict, "stableRequests").value_or(0);
  const double stable_rate = requests > 0 ? NumberOf(verdict, "stableErrors").value_or(0) / requests : 0;
  const api::Rollout& rollout = model.spec.rollout;
  return EvidencePoint{
      .at = IsUnderWay(model.status.rollout.phase) ? now : model.status.rollout.step_started_at,
      .error_low = static_cast<float>(*low),
      .error_high = static_cast<float>(*high),
      .error_limit = rollout.error_rate.enabled
                         ? Float(analysis::ToleranceOf(rollout.error_rate).LimitFor(stable_rate) - stable_rate)
                         : std::nullopt,
      .ratio_low = Float(NumberOf(verdict, "runTimeRatioLow")),
      .ratio_high = Float(NumberOf(verdict, "runTimeRatioHigh")),
      .ratio_limit = rollout.latency.enabled ? Float(1 + rollout.latency.tolerance) : std::nullopt};
}

namespace {

// A rollout that ended too long ago is not shown.
void AddEvidence(const api::Model& model, TimePoint now, History& history) {
  const api::RolloutStatus& rollout = model.status.rollout;
  const auto evidence = EvidenceOf(model, now);
  if (!evidence) return;
  if (IsUnderWay(rollout.phase)) return history.Add(model.metadata.uid, rollout.attempt, *evidence);
  if (evidence->at > now - kHistoryAge) history.AddEnd(model.metadata.uid, rollout.attempt, *evidence);
}

}  // namespace

// The counts between two reports of a node are those that the decisions would use. Two reports suffice, so nothing
// accumulates here.
void Sampler::AddCounts(const Reported& before, const Reported& now, Counts& counts) {
  if (before.report == now.report) return;
  reconcile::EvidenceBook book;
  book.Take("", "", before.incarnation, *before.report);
  book.Take("", "", now.incarnation, *now.report);
  for (const control::VersionReport& version : now.report->versions()) {
    const VersionName name{version.served_name(), version.version()};
    analysis::Add(book.Past("", name.first, name.second, ""), counts[name]);
  }
}

// Returns what each version did on the nodes of each fleet since the last call.
std::map<std::string, Sampler::Counts> Sampler::TakeReports(const NodesOfFleets& nodes) {
  std::map<std::string, Counts> counts;
  decltype(reported_) reported;
  for (const auto& [fleet, views] : nodes) {
    for (const nodes::ViewPtr& view : views) {
      const std::pair key(fleet, view->hello.node());
      const auto before = reported_.find(key);
      // A node that has started again and has not reported yet keeps the report of its earlier process.
      if (view->report == nullptr && before == reported_.end()) continue;
      const Reported now = view->report != nullptr ? Reported{view->hello.incarnation(), view->report} : before->second;
      if (before != reported_.end()) AddCounts(before->second, now, counts[fleet]);
      reported.emplace(key, now);
    }
  }
  reported_ = std::move(reported);
  return counts;
}

void Sampler::Sample(const std::vector<api::Model>& models, const NodesOfFleets& nodes, TimePoint now,
                     History& history) {
  const std::map<std::string, Counts> counts = TakeReports(nodes);
  const Duration elapsed = sampled_at_ ? now - *sampled_at_ : Duration(0);
  const Counts none;
  std::map<std::string, PairReports> pairs;
  for (const auto& [fleet, views] : nodes) pairs[fleet] = PairReportsOf(views);
  for (const api::Model& model : models) {
    const std::string fleet = api::FleetOf(model.metadata, model.spec);
    const auto of_fleet = counts.find(fleet);
    const Counts& of_model = of_fleet == counts.end() ? none : of_fleet->second;
    if (elapsed > Duration(0)) AddTraffic(model, of_model, elapsed, now, history);
    AddEvidence(model, now, history);
    history.Add(model.metadata.uid, model.status.rollout.id, ReportedPairs(model, pairs[fleet]));
  }
  sampled_at_ = now;
  history.Expire(now);
}

}  // namespace longshore::console

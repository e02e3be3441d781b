#include "controller/console/sampler.h"

#include "common/base/buckets.h"
#include "controller/decide/analysis/histogram.h"
#include "controller/decide/analysis/tolerance.h"

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

std::string NameOf(const api::Model& model) { return model.metadata.namespace_ + "/" + model.metadata.name; }

// The versions that people want to see even if they have no requests.
std::set<int64_t> ShownVersions(const api::ModelStatus& status) {
  std::set<int64_t> versions = {status.stable_version};
  if (IsUnderWay(status.rollout.phase)) versions.insert({status.rollout.stable, status.rollout.candidate});
  versions.erase(0);
  return versions;
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
  if (!IsUnderWay(model.status.rollout.phase) || !low || !high) return std::nullopt;
  const double requests = NumberOf(verdict, "stableRequests").value_or(0);
  const double stable_rate = requests > 0 ? NumberOf(verdict, "stableErrors").value_or(0) / requests : 0;
  const api::Rollout& rollout = model.spec.rollout;
  return EvidencePoint{
      .at = now,
      .error_low = static_cast<float>(*low),
      .error_high = static_cast<float>(*high),
      .error_limit = static_cast<float>(analysis::ToleranceOf(rollout.error_rate).LimitFor(stable_rate) - stable_rate),
      .ratio_low = Float(NumberOf(verdict, "runTimeRatioLow")),
      .ratio_high = Float(NumberOf(verdict, "runTimeRatioHigh")),
      .ratio_limit = static_cast<float>(1 + rollout.latency.tolerance)};
}

void Sampler::TakeReports(const NodesOfFleets& nodes) {
  std::set<std::pair<std::string, std::string>> present;
  for (const auto& [fleet, views] : nodes) {
    for (const nodes::ViewPtr& view : views) {
      const std::string& node = view->hello.node();
      present.emplace(fleet, node);
      if (view->report != nullptr) book_.Take(fleet, node, view->hello.incarnation(), *view->report);
    }
  }
  for (const auto& [fleet, node] : known_) {
    if (!present.contains({fleet, node})) book_.ForgetNode(fleet, node);
  }
  known_ = std::move(present);
}

void Sampler::SampleVersions(const api::Model& model, Duration elapsed, TimePoint now, History& history,
                             std::map<VersionName, api::ArmEvidence>& counted) const {
  const std::string name = NameOf(model);
  const std::string fleet = api::FleetOf(model.metadata, model.spec);
  const std::set<int64_t> shown = ShownVersions(model.status);
  std::set<int64_t> versions = shown;
  versions.insert({model.status.rollout.stable, model.status.rollout.candidate});
  for (const int64_t version : versions) {
    const api::ArmEvidence now_counted = book_.Past(fleet, model.spec.served_name, version, "");
    const auto before = counted_.find({name, version});
    counted[{name, version}] = now_counted;
    if (elapsed <= Duration(0)) continue;
    const api::ArmEvidence since =
        reconcile::Difference(now_counted, before == counted_.end() ? api::ArmEvidence() : before->second);
    if (shown.contains(version) || since.requests > 0) history.Add(name, version, PointOf(since, elapsed, now));
  }
}

void Sampler::Sample(const std::vector<api::Model>& models, const NodesOfFleets& nodes, TimePoint now,
                     History& history) {
  TakeReports(nodes);
  const Duration elapsed = sampled_at_ ? now - *sampled_at_ : Duration(0);
  std::map<VersionName, api::ArmEvidence> counted;
  for (const api::Model& model : models) {
    SampleVersions(model, elapsed, now, history, counted);
    if (const auto evidence = EvidenceOf(model, now)) {
      history.Add(NameOf(model), model.status.rollout.attempt, *evidence);
    }
  }
  counted_ = std::move(counted);
  sampled_at_ = now;
  history.Expire(now);
}

}  // namespace longshore::console

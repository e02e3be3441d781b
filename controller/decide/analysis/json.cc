#include "controller/decide/analysis/analysis.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {
namespace {

// Writes only the counts from the first to the last non-zero one, because the run times of a model are close together.
Json BucketsToJson(const Buckets& buckets) {
  size_t first = 0;
  size_t end = buckets.size();
  while (first < end && buckets[first] == 0) ++first;
  while (end > first && buckets[end - 1] == 0) --end;
  return {{"first", first},
          {"counts", Buckets(buckets.begin() + static_cast<std::ptrdiff_t>(first),
                             buckets.begin() + static_cast<std::ptrdiff_t>(end))}};
}

Buckets BucketsFrom(const Json& json) {
  const auto counts = json.at("counts").get<Buckets>();
  const auto first = json.at("first").get<size_t>();
  if (counts.empty() || first + counts.size() > kBucketsMax) return {};
  Buckets buckets(first);
  buckets.insert(buckets.end(), counts.begin(), counts.end());
  return buckets;
}

Json ArmToJson(const api::ArmEvidence& arm) {
  return {{"requests", arm.requests},
          {"errors", arm.errors},
          {"nonFinite", arm.non_finite},
          {"runTimes", BucketsToJson(arm.run_time_buckets)},
          {"drift", {arm.drift.pairs, arm.drift.difference_sum, arm.drift.difference_max, arm.drift.top1_changed}}};
}

api::ArmEvidence ArmFrom(const Json& json) {
  api::ArmEvidence arm;
  arm.requests = json.at("requests").get<int64_t>();
  arm.errors = json.at("errors").get<int64_t>();
  arm.non_finite = json.at("nonFinite").get<int64_t>();
  arm.run_time_buckets = BucketsFrom(json.at("runTimes"));
  const Json& drift = json.at("drift");
  arm.drift = {drift.at(0).get<int64_t>(), drift.at(1).get<double>(), drift.at(2).get<double>(),
               drift.at(3).get<int64_t>()};
  return arm;
}

Json WindowsToJson(const Windows& windows) {
  Json json = Json::object();
  for (const auto& [node, window] : windows) {
    json[node] = {{"candidate", ArmToJson(window.candidate)}, {"stable", ArmToJson(window.stable)}};
  }
  return json;
}

Windows WindowsFrom(const Json& json) {
  Windows windows;
  for (const auto& [node, window] : json.items()) {
    windows[node] = {ArmFrom(window.at("candidate")), ArmFrom(window.at("stable"))};
  }
  return windows;
}

Json ProcessesToJson(const std::array<EProcess, 4>& processes) {
  Json json = Json::array();
  for (const EProcess& process : processes) json.push_back(process.log_e);
  return json;
}

std::array<EProcess, 4> ProcessesFrom(const Json& json) {
  std::array<EProcess, 4> processes;
  for (size_t i = 0; i < processes.size(); ++i) processes[i].log_e = json.at(i).get<std::vector<double>>();
  return processes;
}

Analysis Read(const Json& json) {
  Analysis analysis;
  analysis.tolerance_buckets = json.at("toleranceBuckets").get<int>();
  if (json.contains("sloBucket")) analysis.slo_bucket = json.at("sloBucket").get<int>();
  analysis.slo_quantile = json.at("sloQuantile").get<double>();
  analysis.slo_missed = json.at("sloMissed").get<std::set<std::string>>();
  analysis.baseline = ArmFrom(json.at("baseline"));
  analysis.candidate = ArmFrom(json.at("candidate"));
  analysis.stable = ArmFrom(json.at("stable"));
  analysis.open = WindowsFrom(json.at("open"));
  analysis.errors.log_e = json.at("errors").get<std::vector<double>>();
  analysis.latency = ProcessesFrom(json.at("latency"));
  analysis.latency_baseline = ProcessesFrom(json.at("latencyBaseline"));
  return analysis;
}

}  // namespace

Json ToJson(const Analysis& analysis) {
  Json json{{"toleranceBuckets", analysis.tolerance_buckets},
            {"sloQuantile", analysis.slo_quantile},
            {"sloMissed", analysis.slo_missed},
            {"baseline", ArmToJson(analysis.baseline)},
            {"candidate", ArmToJson(analysis.candidate)},
            {"stable", ArmToJson(analysis.stable)},
            {"open", WindowsToJson(analysis.open)},
            {"errors", analysis.errors.log_e},
            {"latency", ProcessesToJson(analysis.latency)},
            {"latencyBaseline", ProcessesToJson(analysis.latency_baseline)}};
  if (analysis.slo_bucket) json["sloBucket"] = *analysis.slo_bucket;
  return json;
}

Result<Analysis> FromJson(const Json& json) {
  if (json.is_null()) return Analysis{};
  try {
    return Read(json);
  } catch (const Json::exception& error) {
    return DataLoss("rollout.analysis: {}", error.what());
  }
}

}  // namespace longshore::analysis

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

Json BinsToJson(const api::BinEvidence& bins) {
  return {{"salt", bins.salt}, {"requests", bins.requests}, {"bad", bins.bad}};
}

api::BinEvidence BinsFrom(const Json& json) {
  return {json.at("salt").get<std::string>(), json.at("requests").get<std::vector<int64_t>>(),
          json.at("bad").get<std::vector<int64_t>>()};
}

Json DropsToJson(const api::PairDrops& drops) { return {drops.busy, drops.budget, drops.queue}; }

api::PairDrops DropsFrom(const Json& json) {
  const auto counts = json.get<std::array<int64_t, 3>>();
  return {counts[0], counts[1], counts[2]};
}

// "runTimes", the sum over all numbers of rows, is for the previous release, which reads nothing else.
Json ArmToJson(const api::ArmEvidence& arm) {
  Json json{{"requests", arm.requests},
            {"errors", arm.errors},
            {"nonFinite", arm.non_finite},
            {"overloaded", arm.overloaded},
            {"runTimes", BucketsToJson(Sum(arm.run_times))},
            {"runTimesOfRows", Json::object()},
            {"drift", {arm.drift.pairs, arm.drift.difference_sum, arm.drift.difference_max, arm.drift.top1_changed}}};
  for (const auto& [rows, buckets] : arm.run_times)
    json["runTimesOfRows"][std::to_string(rows)] = BucketsToJson(buckets);
  if (const api::PairEvidence& pairs = arm.pairs; pairs.pairs > 0 || pairs.dropped.total() > 0) {
    json["pairs"] = {{"counts", {pairs.pairs, pairs.candidate_failed, pairs.stable_failed, pairs.both_failed}},
                     {"ratios", BucketsToJson(pairs.ratio_buckets)}};
    if (pairs.mismatched > 0) json["pairs"]["mismatched"] = pairs.mismatched;
    if (pairs.mismatched > 0) json["pairs"]["mismatch"] = pairs.mismatch;
    if (pairs.dropped.total() > 0) json["pairs"]["dropped"] = DropsToJson(pairs.dropped);
  }
  if (!arm.bins.salt.empty()) json["bins"] = BinsToJson(arm.bins);
  return json;
}

api::PairEvidence PairsFrom(const Json& json) {
  const auto counts = json.at("counts").get<std::array<int64_t, 4>>();
  return {.pairs = counts[0],
          .candidate_failed = counts[1],
          .stable_failed = counts[2],
          .both_failed = counts[3],
          .ratio_buckets = BucketsFrom(json.at("ratios")),
          .mismatched = json.value("mismatched", int64_t{0}),
          .mismatch = json.value("mismatch", ""),
          .dropped = json.contains("dropped") ? DropsFrom(json.at("dropped")) : api::PairDrops{}};
}

// An analysis of the previous release has neither overloaded requests nor rows, pairs or bins.
api::ArmEvidence ArmFrom(const Json& json) {
  api::ArmEvidence arm;
  arm.requests = json.at("requests").get<int64_t>();
  arm.errors = json.at("errors").get<int64_t>();
  arm.non_finite = json.at("nonFinite").get<int64_t>();
  arm.overloaded = json.value("overloaded", int64_t{0});
  if (json.contains("runTimesOfRows")) {
    for (const auto& [rows, buckets] : json.at("runTimesOfRows").items()) {
      arm.run_times[std::stoi(rows)] = BucketsFrom(buckets);
    }
  } else if (Buckets run_times = BucketsFrom(json.at("runTimes")); !run_times.empty()) {
    arm.run_times[0] = std::move(run_times);
  }
  const Json& drift = json.at("drift");
  arm.drift = {drift.at(0).get<int64_t>(), drift.at(1).get<double>(), drift.at(2).get<double>(),
               drift.at(3).get<int64_t>()};
  if (json.contains("pairs")) arm.pairs = PairsFrom(json.at("pairs"));
  if (json.contains("bins")) arm.bins = BinsFrom(json.at("bins"));
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

// The arrays of the previous release, which cannot read the object "processes".
constexpr std::pair<const char*, size_t> kArraysBefore[] = {{"latency", kQuantiles.size()},
                                                            {"latencyBaseline", kQuantiles.size()}};

void AddProcesses(const Analysis& analysis, Json& json) {
  Json& processes = json["processes"] = Json::object();
  ForEachProcess(analysis, [&](const std::string& name, const EProcess& process) { processes[name] = process.log_e; });
  json["errors"] = analysis.errors.log_e;
  for (const auto& [name, size] : kArraysBefore) {
    for (size_t i = 0; i < size; ++i) json[name].push_back(processes[name + std::to_string(i)]);
  }
}

void ReadProcesses(const Json& json, Analysis& analysis) {
  Json processes = json.value("processes", Json::object());
  if (!json.contains("processes")) {
    processes["errors"] = json.at("errors");
    for (const auto& [name, size] : kArraysBefore) {
      for (size_t i = 0; i < size; ++i) processes[name + std::to_string(i)] = json.at(name).at(i);
    }
  }
  ForEachProcess(analysis, [&](const std::string& name, EProcess& process) {
    if (processes.contains(name)) process.log_e = processes.at(name).get<std::vector<double>>();
  });
}

Json PhaseToJson(const PhaseRequirements& phase) {
  return {{"proof", static_cast<int>(phase.proof)},
          {"pairsMin", phase.pairs_min},
          {"holdUs", phase.hold.count()},
          {"errors", phase.errors},
          {"latency", phase.latency}};
}

PhaseRequirements PhaseFrom(const Json& json) {
  return {static_cast<api::Proof>(json.at("proof").get<int>()), json.at("pairsMin").get<int64_t>(),
          Duration(json.at("holdUs").get<int64_t>()), json.at("errors").get<bool>(), json.at("latency").get<bool>()};
}

DropsSincePair ReadDropsSincePair(const Json& json) {
  if (!json.contains("dropsSincePair")) return {};
  const Json& drops = json.at("dropsSincePair");
  return {FromUnixMillis(drops.at("sinceMs").get<int64_t>()), FromUnixMillis(drops.at("lastMs").get<int64_t>()),
          DropsFrom(drops.at("dropped"))};
}

Analysis Read(const Json& json) {
  Analysis analysis;
  analysis.tolerances.latency_buckets = json.at("toleranceBuckets").get<int>();
  if (json.contains("errorTolerance")) {
    analysis.tolerances.errors = {json.at("errorTolerance").at(0).get<double>(),
                                  json.at("errorTolerance").at(1).get<double>()};
  }
  if (json.contains("phase")) analysis.phase = PhaseFrom(json.at("phase"));
  analysis.drops_since_pair = ReadDropsSincePair(json);
  if (json.contains("sloBucket")) analysis.slo_bucket = json.at("sloBucket").get<int>();
  analysis.slo_quantile = json.at("sloQuantile").get<double>();
  analysis.slo_missed = json.at("sloMissed").get<std::set<std::string>>();
  analysis.baseline = ArmFrom(json.at("baseline"));
  analysis.candidate = ArmFrom(json.at("candidate"));
  analysis.stable = ArmFrom(json.at("stable"));
  analysis.open = WindowsFrom(json.at("open"));
  ReadProcesses(json, analysis);
  if (json.contains("outputs")) analysis.outputs = OutputTestsFrom(json.at("outputs"));
  if (json.contains("bins")) analysis.bins = Bins::FromJson(json.at("bins"));
  if (json.contains("errorDifference")) {
    const auto difference = json.at("errorDifference").get<std::array<double, 3>>();
    analysis.error_difference = {difference[0], difference[1], difference[2]};
  }
  return analysis;
}

}  // namespace

Json ToJson(const Analysis& analysis) {
  const RateDifference& difference = analysis.error_difference;
  Json json{{"toleranceBuckets", analysis.tolerances.latency_buckets},
            {"errorTolerance", {analysis.tolerances.errors.absolute, analysis.tolerances.errors.relative}},
            {"phase", PhaseToJson(analysis.phase)},
            {"sloQuantile", analysis.slo_quantile},
            {"sloMissed", analysis.slo_missed},
            {"baseline", ArmToJson(analysis.baseline)},
            {"candidate", ArmToJson(analysis.candidate)},
            {"stable", ArmToJson(analysis.stable)},
            {"open", WindowsToJson(analysis.open)},
            {"errorDifference", {difference.weight, difference.sum, difference.variance}}};
  AddProcesses(analysis, json);
  if (!analysis.outputs.empty()) json["outputs"] = ToJson(analysis.outputs);
  if (const DropsSincePair& drops = analysis.drops_since_pair; drops.since != TimePoint{})
    json["dropsSincePair"] = {{"sinceMs", ToUnixMillis(drops.since)},
                              {"lastMs", ToUnixMillis(drops.last)},
                              {"dropped", DropsToJson(drops.dropped)}};
  if (Json bins = analysis.bins.ToJson(); !bins.is_null()) json["bins"] = std::move(bins);
  if (analysis.slo_bucket) json["sloBucket"] = *analysis.slo_bucket;
  return json;
}

DropsSincePair DropsSincePairIn(const Json& json) {
  try {
    return ReadDropsSincePair(json);
  } catch (const Json::exception&) {
    return {};
  }
}

Result<Analysis> FromJson(const Json& json) {
  if (json.is_null()) return Analysis{};
  try {
    return Read(json);
  } catch (const Json::exception& error) {
    return DataLoss("rollout.analysis: {}", error.what());
  } catch (const std::logic_error& error) {  // std::stoi throws it if the number of rows is not a number.
    return DataLoss("rollout.analysis: runTimesOfRows: {}", error.what());
  }
}

}  // namespace longshore::analysis

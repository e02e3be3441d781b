#include "controller/reconcile/evidence.h"

#include <algorithm>
#include <limits>

#include "common/base/text.h"
#include "common/node_contract/output_rules.h"

namespace longshore::reconcile {
namespace {

constexpr size_t kMismatchBytesMax = 1024;
constexpr int64_t kFirstVersion = std::numeric_limits<int64_t>::min();

api::TimeBuckets BucketsFrom(const google::protobuf::RepeatedField<int64_t>& buckets) {
  return {buckets.begin(), buckets.end()};
}

// Nodes of release 0.1 do not report the rows.
std::map<int, api::TimeBuckets> RunTimesFrom(const control::Evidence& evidence) {
  std::map<int, api::TimeBuckets> run_times;
  for (const control::RunTimesOfRows& of_rows : evidence.run_times_of_rows()) {
    run_times[of_rows.rows()] = BucketsFrom(of_rows.buckets());
  }
  if (run_times.empty() && !evidence.run_time_buckets().empty())
    run_times[0] = BucketsFrom(evidence.run_time_buckets());
  return run_times;
}

api::PairEvidence PairsFrom(const control::PairEvidence& pairs) {
  api::PairEvidence out{.pairs = pairs.pairs(),
                        .candidate_failed = pairs.candidate_failed(),
                        .stable_failed = pairs.stable_failed(),
                        .both_failed = pairs.both_failed(),
                        .ratio_buckets = BucketsFrom(pairs.ratio_buckets()),
                        .mismatched = pairs.mismatched(),
                        .mismatch = CutText(pairs.mismatch(), kMismatchBytesMax),
                        .dropped = {pairs.dropped_busy(), pairs.dropped_budget(), pairs.dropped_queue()}};
  for (const control::OutputEvidence& output : pairs.outputs()) {
    if (out.outputs.size() >= node_contract::kOutputRulesMax) break;
    out.outputs.push_back({output.rule(), output.pairs(), output.differs(), output.noise(), output.both()});
  }
  return out;
}

api::ArmEvidence FromProto(const control::Evidence& evidence) {
  api::ArmEvidence arm;
  arm.requests = evidence.requests();
  arm.errors = evidence.errors();
  arm.non_finite = evidence.non_finite();
  arm.overloaded = evidence.overloaded();
  arm.run_times = RunTimesFrom(evidence);
  arm.drift.pairs = evidence.drift().pairs();
  arm.drift.difference_sum = evidence.drift().difference_sum();
  arm.drift.difference_max = evidence.drift().difference_max();
  arm.drift.top1_changed = evidence.drift().top1_changed();
  arm.pairs = PairsFrom(evidence.pairs());
  const control::BinEvidence& bins = evidence.bins();
  arm.bins = {bins.salt(), BucketsFrom(bins.requests()), BucketsFrom(bins.bad())};
  return arm;
}

template <typename T>
T Less(T more, T less) {
  return std::max(more - less, T{0});
}

api::TimeBuckets Less(api::TimeBuckets more, const api::TimeBuckets& less) {
  for (size_t i = 0; i < std::min(more.size(), less.size()); ++i) more[i] = Less(more[i], less[i]);
  return more;
}

// The counts of a new salt start at zero.
api::BinEvidence Less(api::BinEvidence more, const api::BinEvidence& less) {
  if (more.salt != less.salt) return more;
  return {std::move(more.salt), Less(std::move(more.requests), less.requests), Less(std::move(more.bad), less.bad)};
}

// The counts of a new rule start at zero.
std::vector<api::OutputEvidence> Less(std::vector<api::OutputEvidence> more,
                                      const std::vector<api::OutputEvidence>& less) {
  for (api::OutputEvidence& output : more) {
    const auto earlier = std::ranges::find(less, output.rule, &api::OutputEvidence::rule);
    if (earlier == less.end()) continue;
    output.pairs = Less(output.pairs, earlier->pairs);
    output.differs = Less(output.differs, earlier->differs);
    output.noise = Less(output.noise, earlier->noise);
    output.both = Less(output.both, earlier->both);
  }
  return more;
}

api::PairDrops Less(const api::PairDrops& more, const api::PairDrops& less) {
  return {Less(more.busy, less.busy), Less(more.budget, less.budget), Less(more.queue, less.queue)};
}

// The first mismatch may be one that `less` has already.
api::PairEvidence Less(const api::PairEvidence& more, const api::PairEvidence& less) {
  return {.pairs = Less(more.pairs, less.pairs),
          .candidate_failed = Less(more.candidate_failed, less.candidate_failed),
          .stable_failed = Less(more.stable_failed, less.stable_failed),
          .both_failed = Less(more.both_failed, less.both_failed),
          .ratio_buckets = Less(more.ratio_buckets, less.ratio_buckets),
          .outputs = Less(more.outputs, less.outputs),
          .mismatched = Less(more.mismatched, less.mismatched),
          .mismatch = more.mismatch,
          .dropped = Less(more.dropped, less.dropped)};
}

}  // namespace

api::ArmEvidence Difference(const api::ArmEvidence& more, const api::ArmEvidence& less) {
  api::ArmEvidence difference;
  difference.requests = Less(more.requests, less.requests);
  difference.errors = Less(more.errors, less.errors);
  difference.non_finite = Less(more.non_finite, less.non_finite);
  difference.overloaded = Less(more.overloaded, less.overloaded);
  for (const auto& [rows, buckets] : more.run_times) {
    const auto earlier = less.run_times.find(rows);
    difference.run_times[rows] = Less(buckets, earlier == less.run_times.end() ? api::TimeBuckets{} : earlier->second);
  }
  difference.pairs = Less(more.pairs, less.pairs);
  difference.bins = Less(more.bins, less.bins);
  difference.drift.pairs = Less(more.drift.pairs, less.drift.pairs);
  difference.drift.difference_sum = Less(more.drift.difference_sum, less.drift.difference_sum);
  // The maximum within a window cannot be computed from two cumulative maxima, so this is the later one.
  difference.drift.difference_max = more.drift.difference_max;
  difference.drift.top1_changed = Less(more.drift.top1_changed, less.drift.top1_changed);
  return difference;
}

void EvidenceBook::Take(const std::string& fleet, const std::string& node, const std::string& incarnation,
                        const control::Report& report) {
  Incarnation& known = nodes_[{fleet, node}];
  const bool first = known.id != incarnation;
  // When a known node restarts, its counts start from zero, so all of them are new. The counts of a node that was
  // unknown may be from before this controller started.
  const bool was_running_before_us = first && known.id.empty();
  std::map<VersionName, api::ArmEvidence> before = std::move(known.counted);
  known = {incarnation, {}};
  for (const control::VersionReport& version : report.versions()) {
    const VersionName name{version.served_name(), version.version()};
    api::ArmEvidence now = FromProto(version.evidence());
    const auto earlier = first ? before.end() : before.find(name);
    const bool counts_for_nothing = earlier == before.end() && was_running_before_us;
    if (!counts_for_nothing) {
      analysis::Add(earlier == before.end() ? now : Difference(now, earlier->second),
                    sums_[{fleet, name.first, name.second, node}].past);
    }
    known.counted[name] = std::move(now);
  }
  for (const auto& [name, _] : before) {
    if (!known.counted.contains(name)) ForgetUnnamed(fleet, name);
  }
}

void EvidenceBook::ForgetUnnamed(const std::string& fleet, const VersionName& version) {
  for (auto node = nodes_.lower_bound({fleet, ""}); node != nodes_.end() && node->first.first == fleet; ++node) {
    if (node->second.counted.contains(version)) return;
  }
  std::erase_if(sums_, [&](const auto& entry) {
    const VersionKey& key = entry.first;
    return key.fleet == fleet && key.served_name == version.first && key.version == version.second;
  });
}

template <typename Visit>
void EvidenceBook::ForEach(const std::string& fleet, const std::string& served_name, int64_t version,
                           Visit visit) const {
  for (auto it = sums_.lower_bound({fleet, served_name, version, ""}); it != sums_.end(); ++it) {
    const VersionKey& key = it->first;
    if (key.fleet != fleet || key.served_name != served_name || key.version != version) return;
    visit(key.node, it->second);
  }
}

analysis::Windows EvidenceBook::Windows(const std::string& fleet, const std::string& served_name, int64_t candidate,
                                        int64_t stable) const {
  analysis::Windows windows;
  ForEach(fleet, served_name, candidate, [&](const std::string& node, const Sums& sums) {
    windows[node].candidate = Difference(sums.past, sums.used);
  });
  ForEach(fleet, served_name, stable,
          [&](const std::string& node, const Sums& sums) { windows[node].stable = Difference(sums.past, sums.used); });
  std::erase_if(windows, [](const auto& entry) {
    const analysis::WindowEvidence& window = entry.second;
    return window.candidate.requests == 0 && window.candidate.non_finite == 0 && window.candidate.drift.pairs == 0 &&
           window.candidate.pairs.pairs == 0 && window.candidate.overloaded == 0 && window.stable.requests == 0;
  });
  return windows;
}

api::ArmEvidence EvidenceBook::Past(const std::string& fleet, const std::string& served_name, int64_t version,
                                    const std::string& salt) const {
  api::ArmEvidence past;
  ForEach(fleet, served_name, version, [&](const std::string&, const Sums& sums) {
    api::ArmEvidence of_node = sums.past;
    if (of_node.bins.salt != salt) of_node.bins = {};
    analysis::Add(of_node, past);
  });
  return past;
}

api::ArmEvidence EvidenceBook::Total(const std::string& fleet, const std::string& served_name) const {
  api::ArmEvidence total;
  for (auto it = sums_.lower_bound({fleet, served_name, kFirstVersion, ""}); it != sums_.end(); ++it) {
    if (it->first.fleet != fleet || it->first.served_name != served_name) break;
    total.requests += it->second.past.requests;
    total.errors += it->second.past.errors;
  }
  return total;
}

void EvidenceBook::Use(const std::string& fleet, const std::string& served_name, int64_t candidate, int64_t stable,
                       const analysis::Windows& used) {
  for (const auto& [node, window] : used) {
    analysis::Add(window.candidate, sums_[{fleet, served_name, candidate, node}].used);
    analysis::Add(window.stable, sums_[{fleet, served_name, stable, node}].used);
  }
}

void EvidenceBook::EmptyWindows(const std::string& fleet, const std::string& served_name) {
  const auto is_of_model = [&](const auto& entry) {
    return entry->first.fleet == fleet && entry->first.served_name == served_name;
  };
  for (auto at = sums_.lower_bound({fleet, served_name, kFirstVersion, ""}); at != sums_.end() && is_of_model(at);) {
    const auto entry = at++;
    const VersionKey key = entry->first;
    if (!key.node.empty() && !nodes_.contains({fleet, key.node})) {
      analysis::Add(entry->second.past, sums_[{fleet, served_name, key.version, ""}].past);
      sums_.erase(entry);
    }
  }
  auto at = sums_.lower_bound({fleet, served_name, kFirstVersion, ""});
  for (; at != sums_.end() && is_of_model(at); ++at) at->second.used = at->second.past;
}

void EvidenceBook::ForgetNode(const std::string& fleet, const std::string& node) {
  auto known = nodes_.extract({fleet, node});
  if (known.empty()) return;
  for (const auto& [version, _] : known.mapped().counted) ForgetUnnamed(fleet, version);
}

}  // namespace longshore::reconcile

#include "tests/sim/service.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/base/buckets.h"
#include "common/base/sampled.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::sim {
namespace {

// Buckets as in common/base/buckets.h, from the binary logarithm of a time.
size_t BucketOfLog(double log_us) {
  return static_cast<size_t>(std::clamp(std::ceil(8 * log_us), 0.0, static_cast<double>(analysis::kBucketsMax - 1)));
}

void Count(size_t bucket, analysis::Buckets& buckets) {
  buckets.reserve(analysis::kBucketsMax);  // Growing a vector often is slow.
  if (buckets.size() <= bucket) buckets.resize(bucket + 1);
  ++buckets[bucket];
}

void CountInBin(double assigned_at, bool bad, api::BinEvidence& bins) {
  bins.salt = kSalt;
  const size_t bin = std::min<size_t>(static_cast<size_t>(assigned_at * analysis::kBins), analysis::kBins - 1);
  Count(bin, bins.requests);
  if (bad) Count(bin, bins.bad);
}

std::string NameOf(size_t node) { return std::string(1, static_cast<char>('a' + node)); }

}  // namespace

Service::Service(const World& world, const Pairs& pairs, uint64_t seed, Only only)
    : world_(world), pairs_(pairs), only_(only), random_(seed), nodes_(static_cast<size_t>(world.conditions.nodes)) {
  const Conditions& conditions = world_.conditions;
  for (Node& node : nodes_) {
    if (conditions.node_sigma > 0) node.log_speed = conditions.node_sigma * normal_(random_);
    if (conditions.drift_sigma > 0) node.log_drift = conditions.drift_sigma * normal_(random_);
    if (conditions.burst_every_seconds > 0) node.burst_begins_at = Exponential(conditions.burst_every_seconds);
  }
  double sum = 0;
  for (int i = 0; i < world_.users.count; ++i) {
    users_.push_back({world_.users.run_time_sigma * normal_(random_), uniform_(random_),
                      uniform_(random_) < world_.users.failing_share});
    activity_.push_back(sum += 1.0 / (i + 1));
  }
}

// Advances the node's drift and bursts by a second.
void Service::Advance(Node& node) {
  const Conditions& conditions = world_.conditions;
  if (conditions.drift_sigma > 0) {
    const double kept = std::exp(-1 / conditions.drift_seconds);
    node.log_drift = kept * node.log_drift + conditions.drift_sigma * std::sqrt(1 - kept * kept) * normal_(random_);
  }
  if (conditions.burst_every_seconds > 0 && now_ >= node.burst_begins_at) {
    node.burst_ends_at = node.burst_begins_at + Exponential(conditions.burst_seconds);
    node.burst_begins_at = node.burst_ends_at + Exponential(conditions.burst_every_seconds);
  }
}

Service::Input Service::Draw(const Node& node) {
  Input input;
  input.log_run_time = node.log_speed + node.log_drift;
  input.assigned_at = uniform_(random_);
  if (now_ < node.burst_ends_at) {
    input.log_run_time += std::log(world_.conditions.burst_slowdown);
    input.errors = world_.conditions.burst_errors;
  }
  if (!users_.empty()) {
    const auto at = std::ranges::lower_bound(activity_, uniform_(random_) * activity_.back());
    const User& user = users_[static_cast<size_t>(at - activity_.begin())];
    input.of_first_user = at == activity_.begin();
    input.log_run_time += user.log_run_time;
    if (user.fails) input.errors = std::max(input.errors, world_.users.failing_rate);
    if (world_.keyed) input.assigned_at = user.assigned_at;
  }
  if (world_.hidden.class_share > 0) input.of_class = uniform_(random_) < world_.hidden.class_share;
  if (only_ == Only::kRunTimes) return input;
  const double shared = std::max(world_.stable_errors * world_.errors_of_inputs, input.errors);
  input.fails_anywhere = shared > 0 && uniform_(random_) < shared;
  return input;
}

// The probability of an error that is not due to the input.
double Service::ErrorsOf(const Input& input, bool candidate, bool first_node) const {
  const double of_inputs = world_.stable_errors * world_.errors_of_inputs;
  if (!candidate) return (world_.stable_errors - of_inputs) / (1 - of_inputs);
  const HiddenFault& hidden = world_.hidden;
  double errors = (world_.candidate_errors - of_inputs) / (1 - of_inputs);
  if (input.of_class) errors = std::max(errors, hidden.class_errors);
  if (hidden.tenant_fails && input.of_first_user) errors = 1;
  if (hidden.node_fails && first_node) errors = std::max(errors, 0.2);
  return errors;
}

bool Service::Fails(const Input& input, bool candidate, bool first_node) {
  const double errors = ErrorsOf(input, candidate, first_node);
  return input.fails_anywhere || (errors > 0 && uniform_(random_) < errors);
}

void Service::CountRequest(const Input& input, bool candidate, bool first_node, api::ArmEvidence& arm) {
  const bool refused = candidate && world_.hidden.refused_share > 0 && uniform_(random_) < world_.hidden.refused_share;
  const bool failed = !refused && Fails(input, candidate, first_node);
  ++(refused ? arm.overloaded : arm.requests);
  if (failed) ++arm.errors;
  if (world_.keyed) CountInBin(input.assigned_at, refused || failed, arm.bins);
}

double Service::RunTime(const Input& input, bool candidate, int rows) {
  const double fixed = world_.batches.fixed_share;
  double factor = fixed + (1 - fixed) * rows * (candidate ? world_.hidden.row_slowdown : 1);
  if (candidate) factor *= world_.slowdown * (input.of_class ? world_.hidden.class_slowdown : 1);
  return std::log2(world_.run_time_median_us * factor) +
         (input.log_run_time + world_.run_time_sigma * normal_(random_)) * std::numbers::log2e;
}

int Service::RowsOf(double requests_per_second) {
  if (world_.batches.rows_max == 1) return 1;
  std::poisson_distribution<int> waiting(requests_per_second * world_.batches.wait_seconds);
  return std::min(1 + waiting(random_), world_.batches.rows_max);
}

void Service::Pair(const Input& input, int rows, bool first_node, api::PairEvidence& pairs) {
  ++pairs.pairs;
  const bool candidate = Fails(input, true, first_node);
  const bool stable = Fails(input, false, first_node);
  if (candidate || stable) {
    ++(candidate && stable ? pairs.both_failed : candidate ? pairs.candidate_failed : pairs.stable_failed);
    return;
  }
  const double log2_ratio = RunTime(input, true, rows) - RunTime(input, false, rows);
  Count(static_cast<size_t>(RatioBucketOf(log2_ratio)), pairs.ratio_buckets);
}

void Service::CountRequests(std::span<const Input> inputs, bool candidate, size_t node, int rows,
                            analysis::WindowEvidence& window) {
  Node& of = nodes_[node];
  for (const Input& input : inputs) {
    CountRequest(input, candidate, node == 0, candidate ? window.candidate : window.stable);
    if (Sampled(of.requests++, pairs_.share) && ++of.paired <= pairs_.per_second_max) {
      Pair(input, std::max(rows, 1), node == 0, window.candidate.pairs);
    }
  }
}

void Service::RunBatches(const std::vector<Input>& inputs, bool candidate, size_t node, Period& period, bool keep) {
  analysis::WindowEvidence& window = period.windows[NameOf(node)];
  api::ArmEvidence& arm = candidate ? window.candidate : window.stable;
  if (only_ == Only::kErrors) return CountRequests(inputs, candidate, node, 1, window);
  std::vector<double>& run_times = candidate ? period.candidate_run_times_us : period.stable_run_times_us;
  const auto per_second = static_cast<double>(inputs.size());
  for (size_t begin = 0; begin < inputs.size();) {
    const size_t count = std::min(static_cast<size_t>(RowsOf(per_second)), inputs.size() - begin);
    const int rows = world_.batches.rows_max == 1 ? 0 : static_cast<int>(std::bit_ceil(count));
    const double log_us = RunTime(inputs[begin], candidate, std::max(rows, 1));
    if (keep) run_times.insert(run_times.end(), count, std::exp2(log_us));
    if (only_ == Only::kRunTimes) {
      arm.requests += static_cast<int64_t>(count);
    } else {
      Count(BucketOfLog(log_us), arm.run_times[rows]);
      CountRequests({inputs.begin() + static_cast<std::ptrdiff_t>(begin), count}, candidate, node, rows, window);
    }
    begin += count;
  }
}

void Service::AddSecond(double candidate_share, bool keep_run_times, Period& period) {
  now_ += 1;
  std::poisson_distribution<int> arrivals(world_.requests_per_second / static_cast<double>(nodes_.size()));
  std::vector<Input> inputs[2];
  for (size_t node = 0; node < nodes_.size(); ++node) {
    Advance(nodes_[node]);
    nodes_[node].paired = 0;
    for (auto& of_arm : inputs) of_arm.clear();
    for (int left = arrivals(random_); left > 0; --left) {
      const Input input = Draw(nodes_[node]);
      inputs[input.assigned_at < candidate_share ? 1 : 0].push_back(input);
    }
    for (const bool candidate : {false, true}) {
      if (!inputs[candidate].empty()) RunBatches(inputs[candidate], candidate, node, period, keep_run_times);
    }
  }
}

Service::Flows Service::EqualFlows(double candidate_share) const {
  Flows flows;
  const auto add = [&](double share, double errors_of_user, bool candidate) {
    for (const bool burst : {false, true}) {
      const double errors = std::max(errors_of_user, burst ? world_.conditions.burst_errors : 0);
      const double shared = std::max(world_.stable_errors * world_.errors_of_inputs, errors);
      Flow& flow = flows[candidate][burst];
      flow.requests += share;
      flow.errors += share * (shared + (1 - shared) * ErrorsOf({}, false, false));
    }
  };
  const auto split = [&](double share, double errors_of_user) {
    add(share * candidate_share, errors_of_user, true);
    add(share * (1 - candidate_share), errors_of_user, false);
  };
  double before = 0;
  for (size_t i = 0; i < users_.size(); ++i) {
    const double share = (activity_[i] - std::exchange(before, activity_[i])) / activity_.back();
    const double errors = users_[i].fails ? world_.users.failing_rate : 0;
    world_.keyed ? add(share, errors, users_[i].assigned_at < candidate_share) : split(share, errors);
  }
  if (users_.empty()) split(1, 0);
  return flows;
}

int64_t Service::Arrivals(double mean) { return mean > 0 ? std::poisson_distribution<int64_t>(mean)(random_) : 0; }

void Service::AddCounts(const Flows& flows, Period& period) {
  now_ += 1;
  const double per_node = world_.requests_per_second / static_cast<double>(nodes_.size());
  for (size_t node = 0; node < nodes_.size(); ++node) {
    Advance(nodes_[node]);
    analysis::WindowEvidence& window = period.windows[NameOf(node)];
    for (const bool candidate : {false, true}) {
      const Flow& flow = flows[candidate][now_ < nodes_[node].burst_ends_at];
      api::ArmEvidence& arm = candidate ? window.candidate : window.stable;
      const int64_t errors = Arrivals(per_node * flow.errors);
      arm.errors += errors;
      arm.requests += errors + Arrivals(per_node * (flow.requests - flow.errors));
    }
  }
}

double Service::StableErrors() const {
  const auto [outside, during] = EqualFlows(0)[false];
  const Conditions& conditions = world_.conditions;
  if (conditions.burst_every_seconds == 0) return outside.errors;
  const double cycle = conditions.burst_every_seconds + conditions.burst_seconds;
  return (outside.errors * conditions.burst_every_seconds + during.errors * conditions.burst_seconds) / cycle;
}

}  // namespace longshore::sim

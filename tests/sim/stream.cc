#include "tests/sim/stream.h"

#include <algorithm>

namespace longshore::sim {

Stream::Stream(const World& world, uint64_t seed)
    : world_(world), random_(seed), nodes_(static_cast<size_t>(world.conditions.nodes)) {
  const Conditions& conditions = world_.conditions;
  for (Node& node : nodes_) {
    if (conditions.node_sigma > 0) node.log_speed = conditions.node_sigma * normal_(random_);
    if (conditions.drift_sigma > 0) node.log_drift = conditions.drift_sigma * normal_(random_);
    if (conditions.burst_every_seconds > 0) node.burst_begins_at = Exponential(conditions.burst_every_seconds);
  }
}

// Advances the node's drift and bursts to the time now_.
void Stream::Advance(Node& node) {
  const Conditions& conditions = world_.conditions;
  if (conditions.drift_sigma > 0) {
    const double kept = std::exp((node.seen_at - now_) / conditions.drift_seconds);
    node.log_drift = kept * node.log_drift + conditions.drift_sigma * std::sqrt(1 - kept * kept) * normal_(random_);
  }
  node.seen_at = now_;
  if (conditions.burst_every_seconds > 0 && now_ >= node.burst_begins_at) {
    node.burst_ends_at = node.burst_begins_at + Exponential(conditions.burst_seconds);
    node.burst_begins_at = node.burst_ends_at + Exponential(conditions.burst_every_seconds);
  }
}

Request Stream::Next() {
  now_ += 1 / world_.requests_per_second;
  Request request;
  if (nodes_.size() > 1) request.node = static_cast<int>(uniform_(random_) * static_cast<double>(nodes_.size()));
  Node& node = nodes_[static_cast<size_t>(request.node)];
  Advance(node);
  const bool burst = now_ < node.burst_ends_at;
  request.candidate = uniform_(random_) < world_.candidate_share;
  const double errors = request.candidate ? world_.candidate_errors : world_.stable_errors;
  request.error = uniform_(random_) < (burst ? std::max(errors, world_.conditions.burst_errors) : errors);
  Batch& batch = node.batches[request.candidate ? 1 : 0];
  request.first_of_batch = batch.left == 0;
  if (request.first_of_batch) {
    batch.left = world_.conditions.batch_size;
    const double scale = world_.run_time_median_us * (request.candidate ? world_.slowdown : 1) *
                         (burst ? world_.conditions.burst_slowdown : 1);
    batch.run_time_us = scale * std::exp(node.log_speed + node.log_drift + world_.run_time_sigma * normal_(random_));
  }
  --batch.left;
  request.run_time_us = batch.run_time_us;
  return request;
}

}  // namespace longshore::sim

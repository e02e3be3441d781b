// What nodes have counted about the versions of a Model, as the controller keeps it (Evidence of control.proto).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace longshore::api {

// The differences between the answers of candidate and stable to the same sampled inputs. Only the candidate's evidence
// has these counts.
struct DriftEvidence {
  int64_t pairs = 0;
  double difference_sum = 0;  // Sum of max|a-b| / max(1, max|b|) over the pairs (a, b).
  double difference_max = 0;
  int64_t top1_changed = 0;

  friend bool operator==(const DriftEvidence&, const DriftEvidence&) = default;
};

// The pairs whose outputs were compared by one rule.
struct OutputEvidence {
  std::string rule{};  // The rule as text (common/node_contract/output_rules.h).
  int64_t pairs = 0;   // The other counts are parts of it, as in OutputEvidence of control.proto.
  int64_t differs = 0;
  int64_t noise = 0;
  int64_t both = 0;

  friend bool operator==(const OutputEvidence&, const OutputEvidence&) = default;
};

// Sampled requests that did not run as pairs, by reason, as in PairEvidence of control.proto.
struct PairDrops {
  int64_t busy = 0;    // No run slot was idle for a second.
  int64_t budget = 0;  // The share of the run slots for pairs was used up.
  int64_t queue = 0;   // Too many pairs waited already.

  int64_t total() const { return busy + budget + queue; }
  friend bool operator==(const PairDrops&, const PairDrops&) = default;
};

// Inputs that both versions ran on the same node, one right after the other, in alternating order. Only the candidate's
// evidence has these counts.
struct PairEvidence {
  int64_t pairs = 0;             // All pairs, also those on which a version failed.
  int64_t candidate_failed = 0;  // Only the candidate failed.
  int64_t stable_failed = 0;     // Only stable failed.
  int64_t both_failed = 0;
  // Counts the candidate's run time divided by stable's, for the pairs that both versions answered. The buckets are
  // those of PairEvidence in control.proto.
  std::vector<int64_t> ratio_buckets{};
  std::vector<OutputEvidence> outputs{};  // Each rule once. The counts of a rule say nothing about another one.
  int64_t mismatched = 0;                 // Pairs whose outputs have other names, types or shapes.
  std::string mismatch{};                 // The first of them, for people.
  PairDrops dropped{};                    // Not part of `pairs`.

  friend bool operator==(const PairEvidence&, const PairEvidence&) = default;
};

// Counts by bins of keys, as in BinEvidence of control.proto. The counts of one salt say nothing about the bins of
// another one.
struct BinEvidence {
  std::string salt{};  // Empty if nothing was counted.
  std::vector<int64_t> requests{};
  std::vector<int64_t> bad{};

  friend bool operator==(const BinEvidence&, const BinEvidence&) = default;
};

// Counts of run times. Buckets as in Evidence of control.proto.
using TimeBuckets = std::vector<int64_t>;

// Cumulative counts of one version. They survive restarts of nodes: they are sums over all incarnations of nodes that
// the controller observed.
struct ArmEvidence {
  int64_t requests = 0;
  int64_t errors = 0;
  int64_t non_finite = 0;
  int64_t overloaded = 0;  // Requests that were refused or too late because of the version's queue.
  // Key: the number of rows that ran together, padding included, rounded up to a power of two; 0 without batching.
  std::map<int, TimeBuckets> run_times;
  DriftEvidence drift;
  PairEvidence pairs;
  BinEvidence bins;

  friend bool operator==(const ArmEvidence&, const ArmEvidence&) = default;
};

}  // namespace longshore::api

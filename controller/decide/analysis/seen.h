// What an analysis has seen so far: e-values and estimates. Internal to analysis/.
#pragma once

#include "controller/decide/analysis/analysis.h"

namespace longshore::analysis {

inline constexpr double kConfidence = 0.95;

struct OutputSeen {
  const OutputTest* test = nullptr;  // One of Analysis::outputs.
  double worse = 1;                  // E-values.
  double proof = 1;
};

struct Seen {
  api::ArmEvidence candidate;  // Counts of the whole rollout, including those of open windows.
  api::ArmEvidence stable;

  // E-values of the tests and of the proofs.
  double errors = 1;
  double latency = 1;
  double latency_baseline = 1;
  double errors_proof = 1;
  double latency_proof = 1;
  std::vector<OutputSeen> outputs{};
  std::optional<BinLook> bins{};  // Only if users are assigned.

  // The candidate's error rate less stable's.
  double stable_error_rate = 0;
  Interval error_difference{-1, 1};
  double error_detectable = 1;
  // The candidate's median run time divided by stable's.
  Interval run_time_ratio{0, 0};  // Both 0: unknown.
  int64_t run_time_pairs = 0;     // The pairs that the ratio is of; 0: it is of the requests.
};

Seen SeenIn(const Analysis& analysis, const api::ModelSpec& spec, const StepFacts& step);

}  // namespace longshore::analysis

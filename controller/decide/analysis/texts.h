// The numbers and the sentences of a verdict. Internal to analysis/.
#pragma once

#include <map>
#include <string>

#include "controller/decide/analysis/seen.h"

namespace longshore::analysis {

std::map<std::string, double> Numbers(const Seen& seen, const Analysis& analysis, const Alphas& alphas);

// "e-value about 84 million, limit 222". A value above the largest one in Numbers is "above a trillion".
std::string EValueText(double e, double limit);

// Why a test failed.
std::string ErrorsMessage(const Seen& seen, double alpha);
// `other`: the run times with which the candidate is compared; `than`: whose they are.
struct LatencyComparison {
  const api::ArmEvidence& other;
  const char* than;
  double e = 0;
  double limit = 0;
};
std::string LatencyMessage(const Seen& seen, const LatencyComparison& comparison, const api::ModelSpec& spec);
double DriftMean(const Seen& seen);

// How far the candidate differs from stable, with intervals: "its error rate is 0.21 percentage points lower to 0.38
// higher than stable's, ...". Leaves out an interval that contains every difference.
std::string DifferenceText(const Seen& seen, const api::ModelSpec& spec);

}  // namespace longshore::analysis

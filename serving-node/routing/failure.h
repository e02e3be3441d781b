// Receives requests that failed when this node ran them, or that a candidate answered differently from stable, so that
// they can be stored and replayed later.
#pragma once

#include <string>

#include "common/base/error.h"
#include "serving-node/evidence/agreement.h"
#include "serving-node/models/models.h"
#include "serving-node/routing/predict.h"

namespace longshore::routing {

struct Failure {
  const PredictCall& call;
  const models::Handle& ready;
  Error error;  // The code is kOk if the run succeeded but an output is NaN or Inf.
};

// A pair of runs in which an output differs, by a rule or because it cannot be stable's.
struct Difference {
  const inference::Request& request;
  const models::Handle& candidate;
  int64_t stable_version;
  const evidence::OutputRules& rules;
  std::string what;        // Names the outputs and the rules by which they differ.
  double severity = 0;     // From 0 to 1: the largest evidence::OutputOutcome::severity; 1 for a mismatch.
  size_t differences_max;  // How many differences of this candidate may be stored; those that differ most are kept.
};

// Thread-safe.
class FailureSink {
 public:
  virtual ~FailureSink() = default;
  // Never blocks. Called for server errors (INTERNAL, UNKNOWN, DATA_LOSS) and for answers with NaN or Inf.
  virtual void Offer(const Failure& failure) = 0;
  // Never blocks. Called if stable's outputs were the same in two runs, but the candidate's differ.
  virtual void Offer(const Difference& difference) = 0;
};

}  // namespace longshore::routing

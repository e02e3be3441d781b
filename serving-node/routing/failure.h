// Requests that a run of this node failed, for whoever keeps them to look at later.
#pragma once

#include "common/error.h"
#include "serving-node/models/models.h"
#include "serving-node/routing/predict.h"

namespace longshore::routing {

struct Failure {
  const PredictCall& call;
  const models::Handle& ready;
  Error error;  // kOk: an output is NaN or Inf.
};

// Thread-safe.
class FailureSink {
 public:
  virtual ~FailureSink() = default;
  // Never waits. Called for faults of the server (INTERNAL, UNKNOWN, DATA_LOSS), and answers that are not finite.
  virtual void Offer(const Failure& failure) = 0;
};

}  // namespace longshore::routing

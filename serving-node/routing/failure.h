// Receives requests that failed when this node ran them, so that they can be stored and replayed later.
#pragma once

#include "common/base/error.h"
#include "serving-node/models/models.h"
#include "serving-node/routing/predict.h"

namespace longshore::routing {

struct Failure {
  const PredictCall& call;
  const models::Handle& ready;
  Error error;  // The code is kOk if the run succeeded but an output is NaN or Inf.
};

// Thread-safe.
class FailureSink {
 public:
  virtual ~FailureSink() = default;
  // Never blocks. Called for server errors (INTERNAL, UNKNOWN, DATA_LOSS) and for answers with NaN or Inf.
  virtual void Offer(const Failure& failure) = 0;
};

}  // namespace longshore::routing

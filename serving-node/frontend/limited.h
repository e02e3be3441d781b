// Refuses predictions at once while too many are under way: an overloaded node that answers soon recovers soon.
#pragma once

#include <atomic>
#include <cstddef>

#include "serving-node/routing/predict.h"

namespace longshore::frontend {

// Thread-safe. `next` outlives it and its requests. ResourceExhausted for those beyond the limit.
class LimitedPredictor final : public routing::Predictor {
 public:
  LimitedPredictor(routing::Predictor& next, size_t in_flight_max) : next_(next), in_flight_max_(in_flight_max) {}

  void Predict(routing::PredictCall call, routing::PredictDone done) override;

 private:
  routing::Predictor& next_;
  const size_t in_flight_max_;
  std::atomic<size_t> in_flight_ = 0;
};

// Whether the same request may succeed a little later, at this node or another: it was not looked at, or nobody could
// take it.
bool MayRetry(const Error& error);

}  // namespace longshore::frontend

// Counts and times every prediction on its way to another predictor.
//
//   longshore_requests_total{model, version, signature, protocol, code}
//   longshore_request_seconds{model, version, signature}: from arrival to answer, of the requests that were answered
//   well.
//
// Model, version and signature are what the answer says; a request that failed has none but its model, where that
// exists.
#pragma once

#include "common/metrics/metrics.h"
#include "serving-node/routing/predict.h"

namespace longshore::frontend {

// Thread-safe. `next` and the registry outlive it and its requests.
class MeteredPredictor final : public routing::Predictor {
 public:
  MeteredPredictor(routing::Predictor& next, metrics::Registry& registry);

  void Predict(routing::PredictCall call, routing::PredictDone done) override;

 private:
  routing::Predictor& next_;
  metrics::Family<metrics::Counter> requests_;
  metrics::Family<metrics::Histogram> seconds_;
};

}  // namespace longshore::frontend

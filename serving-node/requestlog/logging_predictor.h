// Offers what clients ask and get to the request log, on the way to another predictor.
#pragma once

#include "serving-node/requestlog/request_log.h"
#include "serving-node/routing/predict.h"

namespace longshore::requestlog {

// Thread-safe. Both outlive it and its requests.
class LoggingPredictor final : public routing::Predictor {
 public:
  LoggingPredictor(routing::Predictor& next, RequestLog& log) : next_(next), log_(log) {}

  void Predict(routing::PredictCall call, routing::PredictDone done) override;

 private:
  routing::Predictor& next_;
  RequestLog& log_;
};

}  // namespace longshore::requestlog

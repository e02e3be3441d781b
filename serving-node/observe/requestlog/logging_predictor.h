// A Predictor that passes requests on to another one and offers a sample of requests and answers to the request log.
#pragma once

#include "serving-node/observe/requestlog/request_log.h"
#include "serving-node/routing/predict.h"

namespace longshore::requestlog {

// Thread-safe. `next` and `log` must outlive it and its requests.
class LoggingPredictor final : public routing::Predictor {
 public:
  LoggingPredictor(routing::Predictor& next, RequestLog& log) : next_(next), log_(log) {}

  void Predict(routing::PredictCall call, routing::PredictDone done) override;

 private:
  routing::Predictor& next_;
  RequestLog& log_;
};

}  // namespace longshore::requestlog

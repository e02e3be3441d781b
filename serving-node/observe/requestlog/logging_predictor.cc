#include "serving-node/observe/requestlog/logging_predictor.h"

#include <utility>

namespace longshore::requestlog {

void LoggingPredictor::Predict(routing::PredictCall call, routing::PredictDone done) {
  if (!log_.Samples(call.request.model_spec().name())) return next_.Predict(std::move(call), std::move(done));
  Pieces request = call.request.Detached().ToPieces();
  next_.Predict(std::move(call), [this, request = std::move(request),
                                  done = std::move(done)](Result<routing::PredictAnswer> answer) mutable {
    if (answer) log_.Offer(std::move(request), *answer);
    done(std::move(answer));
  });
}

}  // namespace longshore::requestlog

#include "serving-node/frontend/limited.h"

#include <utility>

namespace longshore::frontend {
namespace {

constexpr const char* kTooMany = "too many requests are under way on this node";

}  // namespace

void LimitedPredictor::Predict(routing::PredictCall call, routing::PredictDone done) {
  if (in_flight_.fetch_add(1) >= in_flight_max_) {
    --in_flight_;
    return done(ResourceExhausted("{}", kTooMany));
  }
  next_.Predict(std::move(call), [this, done = std::move(done)](Result<routing::PredictAnswer> answer) {
    --in_flight_;
    done(std::move(answer));
  });
}

bool MayRetry(const Error& error) {
  return error.code == Code::kUnavailable || (error.code == Code::kResourceExhausted && error.message == kTooMany);
}

}  // namespace longshore::frontend

#include "serving-node/frontend/metered.h"

#include <chrono>
#include <utility>

namespace longshore::frontend {
namespace {

using std::chrono::steady_clock;
using tensorflow::serving::ModelSpec;

const char* NameOf(routing::Protocol protocol) {
  switch (protocol) {
    case routing::Protocol::kGrpc: return "grpc";
    case routing::Protocol::kRest: return "rest";
    case routing::Protocol::kPeer: return "peer";
  }
  return "";
}

metrics::Labels LabelsOf(const ModelSpec& spec) {
  return {{"model", spec.name()},
          {"version", spec.has_version() ? std::to_string(spec.version().value()) : ""},
          {"signature", spec.signature_name().empty() ? "serving_default" : spec.signature_name()}};
}

// What clients make up must not fill the registry: of a failed request only a model that exists is named.
metrics::Labels LabelsOf(const ModelSpec& asked, const Error& error) {
  return {{"model", error.code == Code::kNotFound ? "" : asked.name()}, {"version", ""}, {"signature", ""}};
}

}  // namespace

MeteredPredictor::MeteredPredictor(routing::Predictor& next, metrics::Registry& registry)
    : next_(next),
      requests_(registry.Counters("longshore_requests_total", "Predictions by their outcome.")),
      seconds_(registry.Histograms("longshore_request_seconds", "From arrival to answer of a prediction.")) {}

void MeteredPredictor::Predict(routing::PredictCall call, routing::PredictDone done) {
  const auto arrived = steady_clock::now();
  const routing::Protocol protocol = call.protocol;
  ModelSpec asked = call.request.model_spec();
  next_.Predict(std::move(call), [this, arrived, protocol, asked = std::move(asked),
                                  done = std::move(done)](Result<routing::PredictAnswer> answer) {
    metrics::Labels labels = answer ? LabelsOf(answer->model_spec) : LabelsOf(asked, answer.error());
    if (answer) {
      seconds_.With(labels).Observe(std::chrono::duration<double>(steady_clock::now() - arrived).count());
    }
    labels["protocol"] = NameOf(protocol);
    labels["code"] = CodeName(answer ? Code::kOk : answer.error().code);
    requests_.With(labels).Add();
    done(std::move(answer));
  });
}

}  // namespace longshore::frontend

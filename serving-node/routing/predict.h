// The path of every prediction through a node: each frontend converts its request into a PredictCall and passes it to a
// Predictor. The Predictor chooses the version, runs it here or forwards the call to a peer, and calls back with the
// answer.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "common/net/auth/caller.h"
#include "serving-node/engine/engine.h"
#include "serving-node/inference/request.h"
#include "serving-node/tracing/trace.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::routing {

// kGrpc and kRest are TensorFlow Serving's protocol, kOipGrpc and kOipRest the Open Inference Protocol, kPeer a hop.
enum class Protocol { kGrpc, kRest, kPeer, kOipGrpc, kOipRest };

// The method that the client called. Classify, Regress and MultiInference are converted to Predict.
enum class Api { kPredict, kClassify, kRegress, kMultiInference };
const char* NameOf(Api api);  // "Predict", "Classify", ...

// HTTP headers or gRPC metadata: names in lower case, and their values.
using Headers = std::vector<std::pair<std::string, std::string>>;

// Returns the first value of the header; nullopt if it is missing. `name` is in lower case.
inline std::optional<std::string_view> HeaderValue(const Headers& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

struct PredictCall {
  inference::Request request;
  Headers headers;
  auth::Caller caller{};  // Set by the router if a match rule or a home node needs it.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  Protocol protocol = Protocol::kGrpc;
  Api api = Api::kPredict;
  // Stop is requested when the client no longer waits for the answer.
  std::stop_token cancelled{};
  tracing::TracePtr trace{};  // Null if the node exports no traces.
};

struct PredictAnswer {
  tensorflow::serving::ModelSpec model_spec;  // Name, resolved version, signature.
  engine::TensorMap outputs;                  // Empty if `serialized` holds the answer.
  Pieces serialized;                          // The PredictResponse of a peer; empty if this node ran the request.
};

// Checks the ModelSpec of a request: InvalidArgument if it is missing or has no model name.
template <typename Message>
Status CheckModelSpec(const Message& message) {
  if (!message.has_model_spec()) return InvalidArgument("Missing ModelSpec");
  if (message.model_spec().name().empty()) return InvalidArgument("ModelSpec has no name specified.");
  return {};
}

using PredictDone = std::function<void(Result<PredictAnswer>)>;

class Predictor {
 public:
  virtual ~Predictor() = default;
  // Calls `done` exactly once, on any thread. The message of an error that TensorFlow Serving also returns is the same
  // as there.
  virtual void Predict(PredictCall call, PredictDone done) = 0;
};

}  // namespace longshore::routing

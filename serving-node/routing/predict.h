// The one way a request takes through a node: every frontend turns what it received into a PredictCall and hands it to
// a Predictor, which picks the version, runs it here or forwards it to a peer, and calls back with the answer.
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

#include "common/error.h"
#include "serving-node/engine/engine.h"
#include "tensorflow_serving/apis.pb.h"

namespace longshore::routing {

enum class Protocol { kGrpc, kRest, kPeer };

// What the client called; the others become predictions on their way.
enum class Api { kPredict, kClassify, kRegress, kMultiInference };
const char* NameOf(Api api);  // "Predict" and so on.

// Header or metadata names in lower case, with their values.
using Headers = std::vector<std::pair<std::string, std::string>>;

// The first value of the header; name in lower case.
inline std::optional<std::string_view> HeaderValue(const Headers& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &Headers::value_type::first);
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

struct PredictCall {
  tensorflow::serving::PredictRequest request;
  // The request's bytes as they came, so that forwarding does not serialize again; "" when they did not come as
  // protobuf.
  std::string serialized;
  Headers headers;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  Protocol protocol = Protocol::kGrpc;
  Api api = Api::kPredict;
  // Requested to stop once nobody waits for the answer any more.
  std::stop_token cancelled{};
};

struct PredictAnswer {
  tensorflow::serving::ModelSpec model_spec;  // Name, resolved version, signature.
  engine::TensorMap outputs;                  // Empty when `serialized` holds the answer.
  std::string serialized;                     // A PredictResponse as a peer sent it.
};

// Of a message with a ModelSpec. InvalidArgument without one, or without its name.
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
  // Calls done exactly once, on any thread. Error texts are TensorFlow Serving's where clients know them.
  virtual void Predict(PredictCall call, PredictDone done) = 0;
};

}  // namespace longshore::routing

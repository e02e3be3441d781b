// Takes every request of a node: picks the version, then runs it here, or hands the bytes to a peer, one hop at most.
// What is for a model that this node knows nothing of goes to a home of it first, which does the same.
//
// The order of a request:  Predict -> table (a snapshot) -> version -> here / peer -> guard -> evidence -> answer.
// Managed, the table comes from the controller's state (SetState). Alone, it is what the ModelStore holds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/budget.h"
#include "common/clock.h"
#include "common/metrics/metrics.h"
#include "longshore/control.pb.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/guard.h"
#include "serving-node/routing/predict.h"

namespace longshore::batching {
class Admission;
}
namespace longshore::evidence {
class DriftSampler;
}
namespace longshore::models {
class ModelStore;
}
namespace longshore::trial {
class Journal;
}

namespace longshore::routing {

class FailureSink;
class OriginSearch;
class RunMeter;

struct RouterDeps {
  models::ModelStore& store;
  batching::Admission& admission;
  evidence::Recorder& recorder;
  evidence::DriftSampler& drift;
  metrics::Registry& metrics;
  RunMeter& runs;
  Forwarder& forwarder;
  GuardBook& guards;
  OriginSearch& origins;
  const Clock& clock;
  trial::Journal* journal = nullptr;  // Notes the first user's run of a version; none when the node is alone.
  FailureSink* failures = nullptr;    // Keeps requests that failed; null: nobody does.
  Budget budget = {};                 // Of a request.
};

struct RouterOptions {
  std::string node;                               // This one among the peers.
  std::chrono::milliseconds queue_delay_max{50};  // Above it requests spill to a peer, for models without an SLO.
};

// Who has a version ready beside this node, by their addresses.
struct Holders {
  int64_t version = 0;
  std::vector<std::string> peers;
};

// Thread-safe. Waits for its requests before it goes: the Forwarder ends before it, and so cuts those at peers; all
// else in its RouterDeps outlives it.
class Router final : public Predictor {
 public:
  Router(RouterDeps deps, RouterOptions options);
  ~Router() override;

  // From the next request on. Never blocks a request.
  void SetState(std::shared_ptr<const control::DesiredState> state);

  void Predict(PredictCall call, PredictDone done) override;

  // What this node really applies to requests without a version: the state's weight, or 0 after a guard tripped.
  int32_t AppliedWeight(const std::string& model, int64_t version) const;

  // Of the version that the spec names, or of stable without one; nullopt when the state names no such version.
  std::optional<Holders> HoldersOf(const tensorflow::serving::ModelSpec& spec) const;

  // The versions of the model that other nodes hold ready.
  std::vector<int64_t> VersionsAtPeers(const std::string& model) const;

  // Whether the state is about the model. False for a node that is alone.
  bool Knows(const std::string& model) const;
  // Whether another node is known to know it, though this one does not: no name that a client made up.
  bool KnownElsewhere(const std::string& model) const;

  // Hands a question about a model that this node does not know to its homes: HomeSearch::Ask.
  void AskHomes(const std::string& model, ForwardCall call, ForwardDone done) const;

  // Trips what the state allows to trip without a request: candidates that had weight for so long without a controller.
  void CheckSilence(Duration since_heard);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace longshore::routing

// Handles every prediction of a node: chooses the version, then runs the request here or forwards its bytes to a peer,
// which runs it and never forwards it again. A request for a model that this node does not know goes to a home node of
// the model first; the home node then chooses the version and runs or forwards the request.
//
// The steps of a request:  Predict -> snapshot of the routing table -> version -> run here or at a peer -> guard ->
// evidence -> answer. On a managed node the routing table comes from the controller's state (SetState). A standalone
// node has no routing table and uses the versions in the ModelStore.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/budget.h"
#include "common/base/clock.h"
#include "common/metrics/metrics.h"
#include "longshore/control.pb.h"
#include "serving-node/evidence/recorder.h"
#include "serving-node/routing/forwarder.h"
#include "serving-node/routing/guard.h"
#include "serving-node/routing/predict.h"
#include "serving-node/routing/router_deps.h"

namespace longshore::routing {

struct RouterOptions {
  std::string node;  // The name of this node.
  // If the queue delay is longer, requests for models without a latency objective are forwarded to a less loaded peer.
  std::chrono::milliseconds queue_delay_max{50};
};

// A version and the addresses of the other nodes that have it ready.
struct Holders {
  int64_t version = 0;
  std::vector<std::string> peers;
};

// Thread-safe. The destructor waits for all requests. Destroy the Forwarder first, because that cancels the requests at
// peers. Everything else in RouterDeps must outlive the Router.
class Router final : public Predictor {
 public:
  Router(RouterDeps deps, RouterOptions options);
  ~Router() override;

  // Sets the desired state for requests that arrive from now on. Does not block requests.
  void SetState(std::shared_ptr<const control::DesiredState> state);

  // From now on, clients that ask for a model or version which the node does not have get UNAVAILABLE instead of
  // NOT_FOUND: this node is about to end and has not heard of newer models, so its clients should ask another one.
  void SetLeaving();

  void Predict(PredictCall call, PredictDone done) override;

  // The weight that this node applies to requests that name no version, in hundredths of a percent: the weight in the
  // desired state, corrected for tripped guards (0 for a tripped candidate, whose weight stable gets) and for match
  // rules that this node cannot compile (0 for each version but stable).
  int32_t AppliedWeight(const std::string& model, int64_t version) const;

  // The models whose match rules do not work on this node, ordered by name.
  std::vector<control::RulesReport> RulesProblems() const;

  // The holders of the version that the spec names, or of stable if it names none. nullopt if the state has no such
  // version.
  std::optional<Holders> HoldersOf(const tensorflow::serving::ModelSpec& spec) const;

  // The versions of the model that at least one other node holds ready.
  std::vector<int64_t> VersionsAtPeers(const std::string& model) const;

  // Returns true if the state contains the model. False on a standalone node.
  bool Knows(const std::string& model) const;
  // The models that the state contains, sorted by name; none on a standalone node.
  std::vector<std::string> Models() const;
  // Returns true if a home node knew the model when it was last asked; see HomeSearch::KnownElsewhere.
  bool KnownElsewhere(const std::string& model) const;

  // Forwards a request about a model that this node does not know to its home nodes; see HomeSearch::Ask.
  void AskHomes(const std::string& model, ForwardCall call, ForwardDone done) const;

  // `since_heard` is the time since the last message from the controller. For each candidate with a weight above 0,
  // trips the guard if this time exceeds the guard's controller_silence_max_ms, unless a person paused the rollout.
  void TripIfControllerSilent(Duration since_heard);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace longshore::routing

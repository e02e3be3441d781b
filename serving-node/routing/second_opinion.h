// If a candidate answers a request badly, runs the request on the stable version as well, on this node or at a peer.
// The result tells whether the candidate or the request is at fault. These runs do not count as evidence about stable.
#pragma once

#include <chrono>
#include <memory>

#include "serving-node/batching/batching.h"
#include "serving-node/models/models.h"
#include "serving-node/routing/request.h"
#include "serving-node/routing/router_deps.h"

namespace longshore::routing {

class SecondOpinion {
 public:
  // The time limit for the run on stable, during which the user waits. It replaces the deadline of the request, which
  // may be too close to judge the candidate.
  static constexpr std::chrono::seconds kTimeMax{5};
  static constexpr size_t kPeersMax = 2;

  explicit SecondOpinion(const RouterDeps& deps) : deps_(deps) {}

  // Runs the request on stable and passes the result to `done`; `said` is the code of the candidate's answer. Calls
  // `done` exactly once, on any thread. If `said` is an error and the node has a backlog, `done` gets Unavailable.
  // Requires: the request's model has a stable version.
  void Ask(const RequestPtr& request, Code said, PredictDone done) const;

  // Returns true if the error means that the request could not run on stable (full queues, no node, no time). The error
  // then says nothing about the request.
  static bool CouldNotAsk(Code code);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Question {
    RequestPtr request;
    Code said;
    TimePoint deadline;
    PredictDone done;
  };
  using QuestionPtr = std::shared_ptr<const Question>;
  void AskHere(const QuestionPtr& question, const models::Handle& stable) const;
  void AskPeer(const QuestionPtr& question, size_t peer) const;

  const RouterDeps deps_;
};

}  // namespace longshore::routing

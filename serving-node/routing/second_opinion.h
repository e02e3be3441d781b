// What stable says to a request that its candidate answered badly: it runs again, here or at a peer, and is no traffic
// of stable's for the evidence.
#pragma once

#include <chrono>
#include <memory>

#include "serving-node/batching/batching.h"
#include "serving-node/models/models.h"
#include "serving-node/routing/request.h"
#include "serving-node/routing/router.h"

namespace longshore::routing {

class SecondOpinion {
 public:
  // The user waits meanwhile, and the request's own deadline may be too near for an answer that judges.
  static constexpr std::chrono::seconds kTimeMax{5};
  static constexpr size_t kPeersMax = 2;

  explicit SecondOpinion(const RouterDeps& deps) : deps_(deps) {}

  // What stable says to a request that the candidate answered with the code `said`. Calls done exactly once, on any
  // thread. A refusal is looked into only while users leave room for it. Requires: the request's model has a stable
  // version.
  void Ask(const RequestPtr& request, Code said, PredictDone done) const;

  // Whether the error says nothing about the request: stable could not be asked (full queues, no node, no time).
  static bool IsNone(Code code);

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

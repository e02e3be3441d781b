#include "serving-node/routing/second_opinion.h"

#include <algorithm>

#include "serving-node/models/model_store.h"
#include "serving-node/routing/answer.h"
#include "serving-node/routing/hop.h"
#include "serving-node/routing/inputs.h"

namespace longshore::routing {

bool SecondOpinion::IsNone(Code code) {
  return code == Code::kUnavailable || code == kHopFull || code == Code::kDeadlineExceeded ||
         code == Code::kCancelled || code == Code::kResourceExhausted || code == Code::kNotFound;
}

void SecondOpinion::Ask(const RequestPtr& request, PredictDone done) const {
  const TimePoint deadline = std::chrono::steady_clock::now() + kTimeMax;
  const auto ready = deps_.store.Find(request->model_name(), request->model->stable()->version);
  if (!ready) return AskPeer(request, 0, deadline, std::move(done));
  auto inputs = ToRunRequest(request->call.request, (*ready)->loaded->signatures());
  if (!inputs) return done(tl::make_unexpected(std::move(inputs.error())));
  (*ready)->queue->Submit(
      std::move(*inputs), deadline,
      [this, request, deadline, held = *ready, done = std::move(done)](auto outcome) mutable {
        if (outcome)
          return done(AnswerOf(request->call.request.model_spec(), held->version, std::move(outcome->outputs)));
        if (IsNone(outcome.error().code)) return AskPeer(request, 0, deadline, std::move(done));
        done(tl::make_unexpected(std::move(outcome.error())));
      });
}

void SecondOpinion::AskPeer(const RequestPtr& request, size_t peer, TimePoint deadline, PredictDone done) const {
  const Entry& stable = *request->model->stable();
  if (peer >= std::min(stable.peers.size(), kPeersMax)) {
    return done(
        Unavailable("no node could run \"{}\" version {} for comparison", request->model_name(), stable.version));
  }
  ForwardCall call =
      HopCall(*request, {.version = stable.version, .entry = &stable, .pinned = true}, stable.peers[peer]);
  call.deadline = deadline;
  deps_.forwarder.Forward(std::move(call), [this, request, peer, deadline, done = std::move(done)](auto reply) mutable {
    if (reply) return done(AnswerOf(request->call.request.model_spec(), std::move(*reply)));
    if (IsNone(reply.error().code)) return AskPeer(request, peer + 1, deadline, std::move(done));
    done(tl::make_unexpected(std::move(reply.error())));
  });
}

}  // namespace longshore::routing

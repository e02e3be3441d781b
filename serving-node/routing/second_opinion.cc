#include "serving-node/routing/second_opinion.h"

#include <algorithm>

#include "serving-node/evidence/recorder.h"
#include "serving-node/inference/inputs.h"
#include "serving-node/models/model_store.h"
#include "serving-node/routing/answer.h"
#include "serving-node/routing/hop.h"
#include "serving-node/routing/origin_search.h"

namespace longshore::routing {

bool SecondOpinion::CouldNotAsk(Code code) { return code == kHopFull || evidence::IsTooBusy(code); }

void SecondOpinion::Ask(const RequestPtr& request, Code said, PredictDone done) const {
  const auto question = std::make_shared<const Question>(
      Question{request, said, std::chrono::steady_clock::now() + kTimeMax, std::move(done)});
  const bool busy = HasBacklog(deps_.admission);
  if (busy && said != Code::kOk) return question->done(Unavailable("the node has a backlog of requests"));
  const auto ready = deps_.store.Find(request->model_name(), request->model->stable()->version);
  ready && !busy ? AskHere(question, *ready) : AskPeer(question, 0);
}

void SecondOpinion::AskHere(const QuestionPtr& question, const models::Handle& stable) const {
  auto inputs =
      inference::ToRunRequest(question->request->call.request, stable->loaded->signatures(), deps_.budget.elements_max);
  if (!inputs) return question->done(tl::make_unexpected(std::move(inputs.error())));
  stable->queue->Submit(std::move(*inputs), {.deadline = question->deadline}, [this, question, stable](auto outcome) {
    if (outcome) {
      const auto& spec = question->request->call.request.model_spec();
      return question->done(AnswerOf(spec, stable->version, std::move(outcome->outputs)));
    }
    if (CouldNotAsk(outcome.error().code)) return AskPeer(question, 0);
    question->done(tl::make_unexpected(std::move(outcome.error())));
  });
}

void SecondOpinion::AskPeer(const QuestionPtr& question, size_t peer) const {
  const Request& request = *question->request;
  const Entry& stable = *request.model->stable();
  if (peer >= std::min(stable.peers.size(), kPeersMax)) {
    return question->done(Unavailable("model \"{}\" version {}: no node could run it for comparison",
                                      request.model_name(), stable.version));
  }
  ForwardCall call =
      HopCall(request, {.version = stable.version, .entry = &stable, .pinned = true}, stable.peers[peer]);
  call.deadline = question->deadline;
  call.cancelled = {};  // The candidate must be judged even if the client no longer waits.
  deps_.forwarder.Forward(std::move(call), [this, question, peer](auto reply) {
    if (reply) return question->done(AnswerOf(question->request->call.request.model_spec(), std::move(*reply)));
    const Code code = reply.error().code;
    // NotFound may mean that the peer no longer holds stable, so the next peer is asked. But if the candidate also
    // returned NotFound, the peer's NotFound counts as stable's answer: both versions agree.
    const bool lost = code == Code::kNotFound && question->said != Code::kNotFound;
    if (CouldNotAsk(code) || lost) return AskPeer(question, peer + 1);
    question->done(tl::make_unexpected(std::move(reply.error())));
  });
}

}  // namespace longshore::routing

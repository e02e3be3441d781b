// The parts of a gRPC call that all services of the node have in common: its metadata, its answer, its cancellation.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/base/pieces.h"
#include "common/net/grpc_server/call.h"
#include "common/net/grpc_server/messages.h"
#include "serving-node/frontend/headers.h"
#include "serving-node/frontend/in_flight.h"
#include "serving-node/frontend/inference_call.h"
#include "serving-node/frontend/metered.h"
#include "serving-node/frontend/refusals.h"
#include "serving-node/routing/predict.h"

namespace longshore::frontend {

using grpc_server::Call;
using CallPtr = std::shared_ptr<Call>;

// What all calls of a server to models have in common.
struct CallOptions {
  routing::Protocol protocol = routing::Protocol::kGrpc;
  std::string node;                     // "": answers have neither x-longshore-node nor x-longshore-version.
  const RequestMeter* meter = nullptr;  // Null: requests are not counted.
  InFlight* in_flight = nullptr;        // Limits the predictions in flight. Null: no limit.
};

routing::Headers HeadersOf(const Call& call);

// What the node knows about a call besides its message and its cancellation.
CallInfo InfoOf(const Call& call, const MeteredRequest& metered, routing::Protocol protocol);

// Begins to meter a request whose model is unknown until the request is parsed.
MeteredRequest Meter(const Call& call, const CallOptions& options, routing::Api api);

// Takes a slot for a prediction, as InFlight::Enter.
Result<InFlight::Slot> Enter(const CallOptions& options);

// Adds the metadata that all answers have.
void AddNode(Call& call, const CallOptions& options);

// Returns with which code a call ended before its answer: kDeadlineExceeded or kCancelled. Clients end a call at its
// deadline, too.
Code CodeOfEnd(const Call& call, std::chrono::steady_clock::time_point now);

// Ends a call with an error; tells the client after which time it may try again.
void RefuseForNow(Call& call, const Error& error);
// Ends a call with an error, and tells the client the time if MayRetry.
void Refuse(Call& call, const Error& error);

// A method that answers later, as grpc_server::LaterUnary. Its errors are those of Refuse.
template <typename Request, typename Response, typename Handler>
grpc_server::Method Query(Handler handler) {
  return grpc_server::LaterUnary<Request, Response>(
      [handler = std::move(handler)](const CallPtr& call, Request request, grpc_server::Done<Response> done) {
        handler(call, std::move(request), [call, done = std::move(done)](Result<Response> answer) {
          answer ? done(std::move(answer)) : Refuse(*call, answer.error());
        });
      });
}

// An answer as bytes, and the model spec with the version that answered.
struct Encoded {
  tensorflow::serving::ModelSpec model_spec;
  Pieces bytes;
};

// A prediction in progress. Either the end of the call or the answer ends it, whichever comes first. It has its slot
// until it has an answer that was written; if the call ends before, until the run has ended. The callback that answers
// owns it.
class Prediction {
 public:
  // `options` must outlive the prediction.
  Prediction(CallPtr call, const CallOptions& options, MeteredRequest metered, InFlight::Slot slot);
  Prediction(const Prediction&) = delete;
  Prediction& operator=(const Prediction&) = delete;

  Pieces TakeRequest() { return call_->TakeRequest(); }  // Once.
  // Use it only before the run begins.
  MeteredRequest& metered() { return metered_; }
  // What the node knows about the call besides its message.
  CallInfo Info() const;

  // Ends the call with an error.
  void Fail(const Error& error) { Finish(Result<Encoded>(tl::make_unexpected(error))); }
  // Ends the call with encode(answer), which is an Encoded, or with an error: ResourceExhausted above
  // grpc_server::kAnswerBytesMax.
  // Call it or Fail once. May run on a thread of the engine, which catches no exceptions.
  template <typename Answer, typename ToEncoded>
  void Finish(Result<Answer> answer, const ToEncoded& encode) {
    try {
      answer ? Finish(Result<Encoded>(encode(std::move(*answer)))) : Fail(answer.error());
    } catch (const std::bad_alloc&) {
      Fail(OutOfMemory().value());
    }
  }

 private:
  struct OnCancel {
    Prediction* self;
    void operator()() const { self->Cancel(); }
  };

  void Finish(Result<Encoded> answer);
  void Cancel();
  Status Check(const Encoded& answer, const InFlight::Slot& slot) const;

  const CallPtr call_;
  const CallOptions& options_;
  MeteredRequest metered_;
  InFlight::Slot slot_;
  std::atomic<bool> finished_ = false;
  const std::stop_token cancelled_;
  const std::stop_callback<OnCancel> on_cancel_;  // Last member, because it uses the others.
};

// A method that predicts: a unary one whose calls take a slot. An overloaded node refuses a call before it parses the
// body, and, if no slot is free when the head arrives, before it reads the body. If memory does not suffice for the
// handler, the call ends with ResourceExhausted. `options` must outlive the method.
using PredictHandler = std::function<void(const std::shared_ptr<Prediction>& prediction)>;
grpc_server::Method Predicting(const CallOptions& options, routing::Api api, PredictHandler predict);

}  // namespace longshore::frontend

// Calls that a gRPC server takes from a completion queue, on one thread.
//
// gRPC's callback API has at least two threads, which wake one another at every request: at 2,000 requests/s seven
// switches and 34 us of processor time each that this does without (docs/performance.md).
//
//   rpc::CallQueue queue(builder);
//   auto server = builder.BuildAndStart();
//   queue.Start();
//   UnaryCall<Request, Response, State>::Await(method, queue, 16);
//   ...
//   server->Shutdown(std::chrono::system_clock::now());
//   queue.Stop();  // Before the server goes.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stop_token>
#include <thread>
#include <utility>

#include "common/error.h"

namespace longshore::rpc {

// What a completion queue gives back.
class Tag {
 public:
  virtual void Proceed(bool ok) = 0;
  void* raw() { return this; }  // What the queue is given: a Tag*, whatever derives from it.

 protected:
  ~Tag() = default;
};

// A tag that goes on with a member function of its owner.
template <typename Owner, void (Owner::*kStep)(bool ok)>
class StepTag final : public Tag {
 public:
  explicit StepTag(Owner* owner) : owner_(owner) {}
  void Proceed(bool ok) override { (owner_->*kStep)(ok); }

 private:
  Owner* const owner_;
};

class CallQueue {
 public:
  explicit CallQueue(::grpc::ServerBuilder& builder);  // Before BuildAndStart.
  ~CallQueue();

  void Start();  // After BuildAndStart.
  // Returns when every call is over; before the server goes. Requires: the server's Shutdown returned, from when on no
  // call comes and each that came is told that it is done. Not every one is over by then: an answer may be on its way.
  void Stop();

  ::grpc::ServerCompletionQueue* get() { return queue_.get(); }

  // A call that waits in the queue, or came by it: until it is over it may use queue and server.
  void Enter() { calls_.fetch_add(1); }
  void Leave();

 private:
  void ProceedUntilStopped();

  const std::unique_ptr<::grpc::ServerCompletionQueue> queue_;
  std::atomic<int64_t> calls_ = 0;
  std::thread thread_;
};

// One call with one request and one answer. The client's cancellation and the answer race: whoever claims the call ends
// it, and an answer that comes later finds the call gone, so it may look at nothing but its ticket. `State` is what the
// service keeps of a call: default-constructible, with a member Ended(Code) that is called where not the service ended
// it: kCancelled when the client won, another code when the service threw.
template <typename Request, typename Response, typename State>
class UnaryCall {
 public:
  struct Method {
    // RequestX of the service.
    std::function<void(::grpc::ServerContext*, Request*, ::grpc::ServerAsyncResponseWriter<Response>*,
                       ::grpc::CompletionQueue*, ::grpc::ServerCompletionQueue*, void* tag)>
        ask;
    // A request came, on the queue's thread: must not block. Claims the ticket and calls Finish, at once or later.
    std::function<void(UnaryCall& call)> begin;
  };

  // From now on so many calls wait in the queue. `method` outlives the queue.
  static void Await(const Method& method, CallQueue& queue, int count) {
    for (int i = 0; i < count; ++i) (new UnaryCall(method, queue))->Ask();  // Which owns itself from now on.
  }

  using Ticket = std::shared_ptr<std::atomic<bool>>;
  const Ticket& ticket() const { return ticket_; }
  // Whether the call is the caller's now, to set metadata and to finish.
  static bool Claim(const Ticket& ticket) { return !ticket->exchange(true); }

  ::grpc::ServerContext& context() { return context_; }
  const Request& request() const { return request_; }
  State& state() { return state_; }
  // Requested to stop when the client cancels, or goes.
  std::stop_token cancelled() const { return cancelled_.get_token(); }

  // The end, after which the call may be gone. Requires: the ticket was claimed.
  void Finish(const Response& response) { writer_.Finish(response, ::grpc::Status::OK, finished_tag_.raw()); }
  void Finish(const ::grpc::Status& error) { writer_.FinishWithError(error, finished_tag_.raw()); }

 private:
  UnaryCall(const Method& method, CallQueue& queue) : method_(method), queue_(queue) { queue_.Enter(); }
  ~UnaryCall() = default;  // By End.

  void Ask() {
    context_.AsyncNotifyWhenDone(done_tag_.raw());
    method_.ask(&context_, &request_, &writer_, queue_.get(), queue_.get(), came_tag_.raw());
  }

  void Came(bool ok) {
    if (!ok) return End();  // The server shuts down, and tells nothing more of this call.
    AskForNext();
    const Ticket ticket = ticket_;  // What begins may be over before `begin` returns, or throws.
    try {
      method_.begin(*this);
    } catch (const std::bad_alloc&) {
      Fail(ticket, Code::kResourceExhausted, "memory does not suffice for this request");
    } catch (const std::exception&) {
      Fail(ticket, Code::kInternal, "the request could not be handled");
    }
  }

  // Where there is no memory, the end of this call is the next time to try.
  void AskForNext() {
    try {
      Await(method_, queue_, 1);
      owes_next_ = false;
    } catch (const std::bad_alloc&) {
      owes_next_ = true;
    }
  }

  void Fail(const Ticket& ticket, Code code, const char* message) {
    if (!Claim(ticket)) return;
    state_.Ended(code);
    Finish({static_cast<::grpc::StatusCode>(code), message});
  }

  // Told once of every call that came, when it is over for the client.
  void Done(bool) {
    const bool cancelled = context_.IsCancelled();
    const bool won = cancelled && Claim(ticket_);
    if (won) state_.Ended(Code::kCancelled);
    if (cancelled) cancelled_.request_stop();
    Release(won ? 2 : 1);
  }
  void Finished(bool) { Release(1); }

  void Release(int users) {
    users_ -= users;
    if (users_ > 0) return;
    if (owes_next_) AskForNext();
    End();
  }

  void End() {
    CallQueue& queue = queue_;
    delete this;
    queue.Leave();
  }

  const Method& method_;
  CallQueue& queue_;
  StepTag<UnaryCall, &UnaryCall::Came> came_tag_{this};
  StepTag<UnaryCall, &UnaryCall::Done> done_tag_{this};
  StepTag<UnaryCall, &UnaryCall::Finished> finished_tag_{this};
  const Ticket ticket_ = std::make_shared<std::atomic<bool>>(false);
  std::stop_source cancelled_;
  // What tells that it is done; who claims it. They leave on the queue's thread.
  int users_ = 2;
  bool owes_next_ = false;
  Request request_;
  State state_;
  ::grpc::ServerContext context_;
  ::grpc::ServerAsyncResponseWriter<Response> writer_{&context_};
};

}  // namespace longshore::rpc

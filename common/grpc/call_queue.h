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

namespace longshore::rpc {

// What a completion queue gives back.
class Tag {
 public:
  virtual void Proceed(bool ok) = 0;

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
  // Once, and before the server goes. Requires: its Shutdown returned, and with it every call is over.
  void Stop();

  ::grpc::ServerCompletionQueue* get() { return queue_.get(); }

 private:
  void ProceedUntilStopped();

  const std::unique_ptr<::grpc::ServerCompletionQueue> queue_;
  std::thread thread_;
};

// One call with one request and one answer. The client's cancellation and the answer race: whoever claims the call ends
// it, and an answer that comes later finds the call gone, so it may look at nothing but its ticket. `State` is what the
// service keeps of a call: default-constructible, with a member Cancelled() that is called when the client won.
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
    for (int i = 0; i < count; ++i) (new UnaryCall(method, queue))->Ask();
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
  void Finish(const Response& response) { writer_.Finish(response, ::grpc::Status::OK, &finished_tag_); }
  void Finish(const ::grpc::Status& error) { writer_.FinishWithError(error, &finished_tag_); }

 private:
  UnaryCall(const Method& method, CallQueue& queue) : method_(method), queue_(queue) {}

  void Ask() {
    context_.AsyncNotifyWhenDone(&done_tag_);
    method_.ask(&context_, &request_, &writer_, queue_.get(), queue_.get(), &came_tag_);
  }

  void Came(bool ok) {
    if (!ok) return delete this;    // The server shuts down, and tells nothing more of this call.
    const Ticket ticket = ticket_;  // What begins may be over before `begin` returns, or throws.
    try {
      Await(method_, queue_, 1);
      method_.begin(*this);
    } catch (const std::bad_alloc&) {
      if (Claim(ticket)) Finish({::grpc::StatusCode::RESOURCE_EXHAUSTED, "out of memory"});
    } catch (const std::exception&) {
      if (Claim(ticket)) Finish({::grpc::StatusCode::INTERNAL, "the request could not be handled"});
    }
  }

  // Told once of every call that came, when it is over for the client.
  void Done(bool) {
    if (context_.IsCancelled()) {
      const bool won = Claim(ticket_);
      if (won) state_.Cancelled();
      cancelled_.request_stop();
      if (won) Release();
    }
    Release();
  }
  void Finished(bool) { Release(); }

  void Release() {
    if (users_.fetch_sub(1) == 1) delete this;
  }

  const Method& method_;
  CallQueue& queue_;
  StepTag<UnaryCall, &UnaryCall::Came> came_tag_{this};
  StepTag<UnaryCall, &UnaryCall::Done> done_tag_{this};
  StepTag<UnaryCall, &UnaryCall::Finished> finished_tag_{this};
  const Ticket ticket_ = std::make_shared<std::atomic<bool>>(false);
  std::stop_source cancelled_;
  std::atomic<int> users_ = 2;  // What tells that it is done; who claims it.
  Request request_;
  State state_;
  ::grpc::ServerContext context_;
  ::grpc::ServerAsyncResponseWriter<Response> writer_{&context_};
};

}  // namespace longshore::rpc

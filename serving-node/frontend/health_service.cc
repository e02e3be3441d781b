#include "serving-node/frontend/health_service.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace longshore::frontend {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

constexpr std::array<std::string_view, 5> kNames = {
    "", "PredictionService", "ModelService", "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"};

bool IsKnown(const std::string& service) { return std::ranges::find(kNames, service) != kNames.end(); }

}  // namespace

// One watch, from waiting for a client on. Deletes itself when it is over.
class HealthService::Watcher {
 public:
  Watcher(HealthService& service, rpc::CallQueue& queue) : service_(service), queue_(queue) {
    queue_.Enter();
    context_.AsyncNotifyWhenDone(done_tag_.raw());
    service_.service_.RequestWatch(&context_, &request_, &writer_, queue_.get(), queue_.get(), came_tag_.raw());
  }

  // Requires: mutex_ held. The next write, or the end.
  void Advance() {
    if (busy_ || finished_ || over_) return;
    const auto status = IsKnown(request_.service()) ? service_.status() : HealthCheckResponse::SERVICE_UNKNOWN;
    if (status != response_.status()) {
      response_.set_status(status);
      busy_ = true;
      writer_.Write(response_, written_tag_.raw());
    } else if (service_.ended_) {
      busy_ = finished_ = true;
      writer_.Finish({::grpc::StatusCode::UNAVAILABLE, "the server takes no more connections"}, written_tag_.raw());
    }
  }

 private:
  void Came(bool ok) {
    if (!ok) return End();  // The server shuts down, and tells nothing more of this one.
    new Watcher(service_, queue_);
    const std::lock_guard lock(service_.mutex_);
    service_.watchers_.insert(this);
    Advance();
  }

  void Written(bool) {
    std::unique_lock lock(service_.mutex_);
    busy_ = false;
    Advance();
    EndIfOver(std::move(lock));
  }

  // Told once, when the client went or was told the end.
  void Done(bool) {
    std::unique_lock lock(service_.mutex_);
    over_ = true;
    EndIfOver(std::move(lock));
  }

  void EndIfOver(std::unique_lock<std::mutex> lock) {
    if (!over_ || busy_) return;
    service_.watchers_.erase(this);
    lock.unlock();
    End();
  }

  void End() {
    rpc::CallQueue& queue = queue_;
    delete this;
    queue.Leave();
  }

  HealthService& service_;
  rpc::CallQueue& queue_;
  rpc::StepTag<Watcher, &Watcher::Came> came_tag_{this};
  rpc::StepTag<Watcher, &Watcher::Written> written_tag_{this};
  rpc::StepTag<Watcher, &Watcher::Done> done_tag_{this};
  bool busy_ = false;      // Something is being written.
  bool finished_ = false;  // The last of it.
  bool over_ = false;
  HealthCheckRequest request_;
  HealthCheckResponse response_;  // What was written last; UNKNOWN, which nobody is told, at the start.
  ::grpc::ServerContext context_;
  ::grpc::ServerAsyncWriter<HealthCheckResponse> writer_{&context_};
};

HealthService::HealthService()
    : check_{[this](auto... arguments) { service_.RequestCheck(arguments...); },
             [this](CheckCall& call) { Check(call); }} {}

void HealthService::Await(rpc::CallQueue& queue) {
  constexpr int kWaiting = 4;
  CheckCall::Await(check_, queue, kWaiting);
  for (int i = 0; i < kWaiting; ++i) new Watcher(*this, queue);
}

HealthService::Status HealthService::status() const {
  return serving_ ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

void HealthService::AdvanceAll() {
  for (Watcher* watcher : watchers_) watcher->Advance();
}

void HealthService::SetServing(bool serving) {
  const std::lock_guard lock(mutex_);
  serving_ = serving;
  AdvanceAll();
}

void HealthService::EndWatches() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  AdvanceAll();
}

void HealthService::Check(CheckCall& call) {
  if (!CheckCall::Claim(call.ticket())) return;
  const std::string& name = call.request().service();
  if (!IsKnown(name)) return call.Finish({::grpc::StatusCode::NOT_FOUND, "unknown service " + name});
  HealthCheckResponse response;
  {
    const std::lock_guard lock(mutex_);
    response.set_status(status());
  }
  call.Finish(response);
}

}  // namespace longshore::frontend

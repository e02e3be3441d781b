#include "serving-node/frontend/health_service.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace longshore::frontend {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

constexpr std::array<std::string_view, 6> kNames = {"",
                                                    "PredictionService",
                                                    "ModelService",
                                                    "tensorflow.serving.PredictionService",
                                                    "tensorflow.serving.ModelService",
                                                    "inference.GRPCInferenceService"};

bool IsKnown(const std::string& service) { return std::ranges::find(kNames, service) != kNames.end(); }

}  // namespace

// One Watch call of a client. The object deletes itself when the call ends.
class HealthService::Watcher final : public ::grpc::ServerWriteReactor<HealthCheckResponse> {
 public:
  Watcher(HealthService& service, bool known) : service_(service), known_(known) {
    const std::lock_guard lock(service_.mutex_);
    service_.watchers_.insert(this);
    Advance();
  }

  // Starts the next write, or ends the watch. Requires that service_.mutex_ is held.
  void Advance() {
    if (writing_ || finished_) return;
    const auto status = known_ ? service_.status() : HealthCheckResponse::SERVICE_UNKNOWN;
    if (!cancelled_ && status != response_.status()) {
      response_.set_status(status);
      writing_ = true;
      StartWrite(&response_);
    } else if (cancelled_ || service_.ended_) {
      finished_ = true;
      Finish(cancelled_ ? ::grpc::Status::CANCELLED
                        : ::grpc::Status(::grpc::StatusCode::UNAVAILABLE, "the server accepts no more connections"));
    }
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(service_.mutex_);
    writing_ = false;
    cancelled_ = cancelled_ || !ok;
    Advance();
  }
  void OnCancel() override {
    const std::lock_guard lock(service_.mutex_);
    cancelled_ = true;
    Advance();
  }
  void OnDone() override {
    {
      const std::lock_guard lock(service_.mutex_);
      service_.watchers_.erase(this);
    }
    delete this;
  }

 private:
  HealthService& service_;
  const bool known_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
  HealthCheckResponse response_;  // The last status written. Before the first one it is UNKNOWN, which is never sent.
};

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

::grpc::ServerUnaryReactor* HealthService::Check(::grpc::CallbackServerContext* context,
                                                 const HealthCheckRequest* request, HealthCheckResponse* response) {
  auto* reactor = context->DefaultReactor();
  if (!IsKnown(request->service())) {
    reactor->Finish({::grpc::StatusCode::NOT_FOUND, "unknown service " + request->service()});
    return reactor;
  }
  {
    const std::lock_guard lock(mutex_);
    response->set_status(status());
  }
  reactor->Finish(::grpc::Status::OK);
  return reactor;
}

::grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(::grpc::CallbackServerContext*,
                                                                      const HealthCheckRequest* request) {
  return new Watcher(*this, IsKnown(request->service()));
}

}  // namespace longshore::frontend

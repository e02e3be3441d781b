#include "serving-node/frontend/health_service.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "common/net/grpc/unary_reactor.h"

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
  Watcher(HealthService& service, grpc_call* call, bool known) : service_(service), call_(call), known_(known) {
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
      BeginToWrite();
      StartWrite(&response_);
    } else if (cancelled_ || service_.ended_) {
      finished_ = true;
      BeginToWrite();
      Finish(cancelled_ ? ::grpc::Status::CANCELLED
                        : ::grpc::Status(::grpc::StatusCode::UNAVAILABLE, "the server accepts no more connections"));
    }
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(service_.mutex_);
    writing_ = false;
    written_.reset();
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
  // Starts the time in which the client must read what is written next.
  void BeginToWrite() { written_.emplace(service_.deadlines_).Begin(call_, response_.ByteSizeLong()); }

  HealthService& service_;
  grpc_call* const call_;
  const bool known_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
  std::optional<rpc::AnswerDeadlines::Answer> written_;
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
  if (!IsKnown(request->service())) {
    return rpc::FinishCall(context, deadlines_,
                           {::grpc::StatusCode::NOT_FOUND, "unknown service " + request->service()});
  }
  {
    const std::lock_guard lock(mutex_);
    response->set_status(status());
  }
  return rpc::FinishCall(context, deadlines_, ::grpc::Status::OK, response->ByteSizeLong());
}

::grpc::ServerWriteReactor<HealthCheckResponse>* HealthService::Watch(::grpc::CallbackServerContext* context,
                                                                      const HealthCheckRequest* request) {
  return new Watcher(*this, context->c_call(), IsKnown(request->service()));
}

}  // namespace longshore::frontend

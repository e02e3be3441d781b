#include "serving-node/frontend/health_service.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/net/grpc_server/call.h"
#include "common/net/grpc_server/messages.h"

namespace longshore::frontend {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::grpc::health::v1::HealthListRequest;
using ::grpc::health::v1::HealthListResponse;
using grpc_server::Call;
using CallPtr = std::shared_ptr<Call>;

constexpr std::array<std::string_view, 6> kNames = {"",
                                                    "PredictionService",
                                                    "ModelService",
                                                    "tensorflow.serving.PredictionService",
                                                    "tensorflow.serving.ModelService",
                                                    "inference.GRPCInferenceService"};

bool IsKnown(const std::string& service) { return std::ranges::find(kNames, service) != kNames.end(); }

}  // namespace

// One Watch call of a client.
class HealthService::Watcher final : public std::enable_shared_from_this<Watcher> {
 public:
  Watcher(HealthService& service, CallPtr call, bool known)
      : service_(service), call_(std::move(call)), known_(known) {}

  // Starts the next write, or ends the watch. Not with service_.mutex_ held, because a call may answer at once.
  void Advance() {
    std::optional<ServingStatus> next;
    {
      const std::lock_guard lock(service_.mutex_);
      if (writing_ || finished_) return;
      const auto status = known_ ? service_.status() : HealthCheckResponse::SERVICE_UNKNOWN;
      if (status != sent_) next = sent_ = status;
      writing_ = next.has_value();
      finished_ = !next && service_.ended_;
      if (!writing_ && !finished_) return;
    }
    if (!next) return call_->Finish(Unavailable("the server accepts no more connections"));
    HealthCheckResponse response;
    response.set_status(*next);
    call_->Write(grpc_server::ToPieces(response), [self = shared_from_this()](bool ok) { self->OnWritten(ok); });
  }

 private:
  void OnWritten(bool ok) {
    {
      const std::lock_guard lock(service_.mutex_);
      writing_ = false;
      finished_ = finished_ || !ok;
    }
    Advance();
  }

  HealthService& service_;
  const CallPtr call_;
  const bool known_;
  bool writing_ = false;
  bool finished_ = false;
  ServingStatus sent_ = HealthCheckResponse::UNKNOWN;  // The last status; UNKNOWN, which is never sent, before it.
};

HealthService::ServingStatus HealthService::status() const {
  return serving_ ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

void HealthService::AdvanceAll() {
  std::vector<WatcherPtr> watchers;
  {
    const std::lock_guard lock(mutex_);
    watchers.assign(watchers_.begin(), watchers_.end());
  }
  for (const WatcherPtr& watcher : watchers) watcher->Advance();
}

void HealthService::SetServing(bool serving) {
  {
    const std::lock_guard lock(mutex_);
    serving_ = serving;
  }
  AdvanceAll();
}

void HealthService::EndWatches() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  AdvanceAll();
}

Result<HealthCheckResponse> HealthService::Check(const HealthCheckRequest& request) {
  if (!IsKnown(request.service())) return NotFound("unknown service {}", request.service());
  HealthCheckResponse response;
  const std::lock_guard lock(mutex_);
  response.set_status(status());
  return response;
}

HealthListResponse HealthService::List() {
  HealthListResponse response;
  const std::lock_guard lock(mutex_);
  for (const std::string_view name : kNames) (*response.mutable_statuses())[std::string(name)].set_status(status());
  return response;
}

void HealthService::Remove(const WatcherPtr& watcher) {
  const std::lock_guard lock(mutex_);
  watchers_.erase(watcher);
}

// The client sends one message.
void HealthService::Watch(const CallPtr& call) {
  call->Read([this, call](const std::optional<Pieces>& message) {
    HealthCheckRequest request;
    if (!message) return call->Finish(Unimplemented("a watch has no message"));
    if (const Status read = grpc_server::Parse(*message, &request); !read) return call->Finish(read);
    const auto watcher = std::make_shared<Watcher>(*this, call, IsKnown(request.service()));
    {
      const std::lock_guard lock(mutex_);
      watchers_.insert(watcher);
    }
    call->AfterEnd([this, watcher] { Remove(watcher); });
    watcher->Advance();
  });
}

void HealthService::AddTo(grpc_server::Service& service) {
  const std::string prefix = "/grpc.health.v1.Health/";
  service.Add(prefix + "Check", grpc_server::Unary<HealthCheckRequest, HealthCheckResponse>(
                                    [this](const HealthCheckRequest& request) { return Check(request); }));
  service.Add(prefix + "List", grpc_server::Unary<HealthListRequest, HealthListResponse>(
                                   [this](const HealthListRequest&) -> Result<HealthListResponse> { return List(); }));
  service.Add(prefix + "Watch",
              {.kind = grpc_server::Method::Kind::kStreaming, .handler = [this](const CallPtr& call) { Watch(call); }});
}

}  // namespace longshore::frontend

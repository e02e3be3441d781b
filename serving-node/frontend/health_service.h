// grpc.health.v1 for the server and its services, which all have the status of the server.
//
// It replaces gRPC's own health service, which keeps a watch, and so its connection, open until the client ends it: a
// server that waits for its connections to end could then wait forever.
#pragma once

#include <mutex>
#include <set>

#include "common/net/grpc/answer_deadlines.h"
#include "grpc/health.grpc.pb.h"

namespace longshore::frontend {

// Thread-safe. Must outlive all calls of the server.
class HealthService final : public ::grpc::health::v1::Health::CallbackService {
 public:
  // `deadlines` must outlive the service.
  explicit HealthService(rpc::AnswerDeadlines& deadlines) : deadlines_(deadlines) {}

  // Sets the status of all services. Before the first call, it is NOT_SERVING.
  void SetServing(bool serving);
  // Ends every current and future watch after it has sent the current status.
  void EndWatches();

  ::grpc::ServerUnaryReactor* Check(::grpc::CallbackServerContext* context,
                                    const ::grpc::health::v1::HealthCheckRequest* request,
                                    ::grpc::health::v1::HealthCheckResponse* response) override;
  ::grpc::ServerWriteReactor<::grpc::health::v1::HealthCheckResponse>* Watch(
      ::grpc::CallbackServerContext* context, const ::grpc::health::v1::HealthCheckRequest* request) override;

 private:
  using Status = ::grpc::health::v1::HealthCheckResponse::ServingStatus;
  class Watcher;

  Status status() const;  // Requires that mutex_ is held.
  void AdvanceAll();      // Requires that mutex_ is held.

  rpc::AnswerDeadlines& deadlines_;
  std::mutex mutex_;  // Guards the members below and the state of all watchers.
  bool serving_ = false;
  bool ended_ = false;
  std::set<Watcher*> watchers_;
};

}  // namespace longshore::frontend

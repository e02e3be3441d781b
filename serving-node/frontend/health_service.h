// grpc.health.v1 for the server and its services, which all have the status of the server.
//
// gRPC's own health service keeps a watch, and so its connection, open for as long as the client wants: a server that
// waits for its connections to end would wait forever.
#pragma once

#include <mutex>
#include <set>

#include "grpc/health.grpc.pb.h"

namespace longshore::frontend {

// Thread-safe. Must outlive the server's calls.
class HealthService final : public ::grpc::health::v1::Health::CallbackService {
 public:
  // Sets the status for all services; initially not serving.
  void SetServing(bool serving);
  // Ends every current and future watch, after it has sent the current status.
  void EndWatches();

  ::grpc::ServerUnaryReactor* Check(::grpc::CallbackServerContext* context,
                                    const ::grpc::health::v1::HealthCheckRequest* request,
                                    ::grpc::health::v1::HealthCheckResponse* response) override;
  ::grpc::ServerWriteReactor<::grpc::health::v1::HealthCheckResponse>* Watch(
      ::grpc::CallbackServerContext* context, const ::grpc::health::v1::HealthCheckRequest* request) override;

 private:
  using Status = ::grpc::health::v1::HealthCheckResponse::ServingStatus;
  class Watcher;

  Status status() const;  // Requires: mutex_ held.
  void AdvanceAll();      // Requires: mutex_ held.

  std::mutex mutex_;  // Guards the members below and the watchers.
  bool serving_ = false;
  bool ended_ = false;
  std::set<Watcher*> watchers_;
};

}  // namespace longshore::frontend

// grpc.health.v1 for the whole server and each of its services, which are all as healthy as the server.
//
// gRPC's own one keeps a watch open for as long as the client likes, and with it the connection: a server that waits
// for its connections to end would wait for ever.
#pragma once

#include <mutex>
#include <set>

#include "grpc/health.grpc.pb.h"

namespace longshore::frontend {

// Thread-safe. Outlives the server's calls.
class HealthService final : public ::grpc::health::v1::Health::CallbackService {
 public:
  // What is answered from now on. False at the start.
  void SetServing(bool serving);
  // Ends every watch, after what it was last told, and every one that comes.
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
  void AdvanceAll();      // As status.

  std::mutex mutex_;  // Guards what follows, and the watchers.
  bool serving_ = false;
  bool ended_ = false;
  std::set<Watcher*> watchers_;
};

}  // namespace longshore::frontend

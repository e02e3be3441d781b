// grpc.health.v1 for the whole server and each of its services, which are all as healthy as the server.
//
// gRPC's own one keeps a watch open for as long as the client likes, and with it the connection: a server that waits
// for its connections to end would wait for ever.
#pragma once

#include <mutex>
#include <set>

#include "common/grpc/call_queue.h"
#include "grpc/health.grpc.pb.h"

namespace longshore::frontend {

// Thread-safe. Outlives the server's calls.
class HealthService {
 public:
  HealthService();

  ::grpc::Service& service() { return service_; }
  // Takes calls from the queue from now on, and outlives it.
  void Await(rpc::CallQueue& queue);

  // What is answered from now on. False at the start.
  void SetServing(bool serving);
  // Ends every watch, after what it was last told, and every one that comes.
  void EndWatches();

 private:
  using Status = ::grpc::health::v1::HealthCheckResponse::ServingStatus;
  class Watcher;
  struct Nothing {
    void Ended(Code) const {}
  };
  using CheckCall =
      rpc::UnaryCall<::grpc::health::v1::HealthCheckRequest, ::grpc::health::v1::HealthCheckResponse, Nothing>;

  void Check(CheckCall& call);
  Status status() const;  // Requires: mutex_ held.
  void AdvanceAll();      // As status.

  ::grpc::health::v1::Health::AsyncService service_;
  const CheckCall::Method check_;
  std::mutex mutex_;  // Guards what follows, and the watchers.
  bool serving_ = false;
  bool ended_ = false;
  std::set<Watcher*> watchers_;
};

}  // namespace longshore::frontend

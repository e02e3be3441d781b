// grpc.health.v1 for the server and its services, which all have the status of the server. A watch ends when the server
// drains: a server that waits for its connections to end would otherwise wait for the watch.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_set>

#include "common/net/grpc_server/service.h"
#include "grpc/health.pb.h"

namespace longshore::frontend {

// Thread-safe. Must outlive all calls of the server.
class HealthService {
 public:
  // Adds the methods, which use this object.
  void AddTo(grpc_server::Service& service);

  // Sets the status of all services. Before the first call, it is NOT_SERVING.
  void SetServing(bool serving);
  // Ends every current and future watch after it has sent the current status.
  void EndWatches();

 private:
  using ServingStatus = ::grpc::health::v1::HealthCheckResponse::ServingStatus;
  class Watcher;
  using WatcherPtr = std::shared_ptr<Watcher>;

  ServingStatus status() const;  // Requires that mutex_ is held.
  Result<::grpc::health::v1::HealthCheckResponse> Check(const ::grpc::health::v1::HealthCheckRequest& request);
  ::grpc::health::v1::HealthListResponse List();
  void Watch(const std::shared_ptr<grpc_server::Call>& call);
  void Remove(const WatcherPtr& watcher);
  void AdvanceAll();

  std::mutex mutex_;  // Guards the members below and the state of all watchers.
  bool serving_ = false;
  bool ended_ = false;
  std::unordered_set<WatcherPtr> watchers_;
};

}  // namespace longshore::frontend

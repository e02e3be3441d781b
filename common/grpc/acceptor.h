// Accepts connections from a listening socket and hands them to a gRPC server.
//
// gRPC's own listener cannot share a socket with other processes fairly, nor stop listening without cutting streams.
// This one can do both. Several processes may accept from one socket: before each accept it waits a little in
// proportion to the connections it has, so that the process with the fewest wins and a new one gets work at once.
//
//   ::grpc::ServerBuilder builder;
//   rpc::ConnectionAcceptor acceptor(listen_fd, builder);
//   auto server = builder.BuildAndStart();
//   acceptor.Start();
//   ...
//   acceptor.StopAccepting();
//   acceptor.AwaitNoConnections([](size_t left) { spdlog::info("{} connections left", left); });
//   server->Shutdown();                                     // Now nothing can be lost.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace longshore::rpc {

class ConnectionAcceptor {
 public:
  static constexpr size_t kConnectionsMax = 10000;

  // Owns listen_fd, which becomes non-blocking, and keeps the credentials as long as it lives. Call before
  // builder.BuildAndStart(). Connections beyond the limit wait in the backlog, where another process that shares the
  // socket may take them. The limit is of what `counted` says, where a server has several acceptors; asked from Start
  // on.
  ConnectionAcceptor(int listen_fd, ::grpc::ServerBuilder& builder,
                     std::shared_ptr<::grpc::ServerCredentials> credentials = ::grpc::InsecureServerCredentials(),
                     size_t connections_max = kConnectionsMax, std::function<size_t()> counted = {});
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  void Start();  // After BuildAndStart.

  // Takes what waits in the backlog, closes the listening socket and joins the thread. The server must still run.
  void StopAccepting();

  // Returns when every connection is closed or was reset by its client, at the latest at `until`. Calls log about once
  // a second. Requires: StopAccepting was called.
  void AwaitNoConnections(const std::function<void(size_t left)>& log,
                          std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());

  int listen_fd() const { return listen_fd_; }  // -1 after StopAccepting.

  // Connections handed over and neither closed nor reset since, as of a moment ago: counting them costs two system
  // calls for each. Any thread.
  size_t connections();

 private:
  void AcceptUntilStopped();
  bool AcceptOne();
  bool AwaitTurn(int readiness_ms_max);
  bool AwaitRoom();
  size_t Count();

  const std::shared_ptr<::grpc::ServerCredentials> credentials_;
  const size_t connections_max_;
  const std::function<size_t()> counted_;
  std::atomic<int> listen_fd_;
  int wake_fd_ = -1;  // An eventfd that ends the thread.
  std::unique_ptr<::grpc::experimental::ExternalConnectionAcceptor> grpc_acceptor_;
  std::thread thread_;
  std::mutex mutex_;
  // Descriptor -> inode of the socket. gRPC owns and closes the descriptors; a number that means another inode by
  // now was closed and used again.
  std::map<int, uint64_t> handed_over_;
  std::chrono::steady_clock::time_point counted_at_{};
};

}  // namespace longshore::rpc

// Accepts connections from a listening socket and hands them to a gRPC server.
//
// gRPC's own listener can neither share a socket fairly with other processes nor stop listening without breaking
// streams. This class can do both. Several processes may accept from one socket. Before each accept, a process waits
// for a short time in proportion to its connections, so that the one with the fewest connections accepts, and a new
// process gets connections immediately.
//
//   ::grpc::ServerBuilder builder;
//   rpc::ConnectionAcceptor acceptor(listen_fd, builder);
//   auto server = builder.BuildAndStart();
//   acceptor.Start();
//   ...
//   acceptor.StopAccepting();
//   acceptor.AwaitNoConnections([](size_t left) { spdlog::info("{} connections left", left); });
//   server->Shutdown();                                     // No request is lost now.
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

  // Owns listen_fd, which becomes non-blocking, and keeps the credentials alive. Must be created before
  // builder.BuildAndStart(). Connections above connections_max wait in the backlog, where another process that shares
  // the socket may accept them. `counted` returns the number of connections to compare with the limit, for servers with
  // several acceptors; default: the acceptor's own connections. It is called only after Start.
  ConnectionAcceptor(int listen_fd, ::grpc::ServerBuilder& builder,
                     std::shared_ptr<::grpc::ServerCredentials> credentials = ::grpc::InsecureServerCredentials(),
                     size_t connections_max = kConnectionsMax, std::function<size_t()> counted = {});
  ~ConnectionAcceptor();
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  void Start();  // Call after BuildAndStart.

  // Accepts the connections that wait in the backlog, closes the listening socket and joins the thread. The server must
  // still run.
  void StopAccepting();

  // Blocks until every connection is closed or reset by its client, at the latest until `until`. Calls `log` about once
  // a second. Requires: StopAccepting was called.
  void AwaitNoConnections(const std::function<void(size_t left)>& log,
                          std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());

  int listen_fd() const { return listen_fd_; }  // The listening socket; -1 after StopAccepting.

  // The number of open connections that the acceptor handed to gRPC. Thread-safe. Up to 100 ms old, because counting
  // costs two system calls per connection.
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
  // Key: descriptor. Value: inode of its socket. gRPC owns and closes the descriptors. If a descriptor has another
  // inode now, the connection was closed and the number was reused.
  std::map<int, uint64_t> handed_over_;
  std::chrono::steady_clock::time_point counted_at_{};
};

}  // namespace longshore::rpc

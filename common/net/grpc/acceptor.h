// Accepts connections from a listening socket and hands them to a gRPC server.
//
// gRPC's own listener can neither share a socket fairly with other processes nor stop listening without breaking
// streams. This class can do both. Several processes may accept from one socket: common/os/process/accept_turn.h says
// how they divide the connections.
//
//   ::grpc::ServerBuilder builder;
//   rpc::ConnectionAcceptor acceptor({.listen_fd = fd}, builder);
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

#include "common/os/process/accepting.h"

namespace longshore::rpc {

struct AcceptorOptions {
  int listen_fd = -1;   // The acceptor owns it and makes it non-blocking.
  bool shared = false;  // Other processes may accept from the socket.
  std::shared_ptr<::grpc::ServerCredentials> credentials = ::grpc::InsecureServerCredentials();
  // Connections above this number wait in the backlog, where another process that shares the socket may accept them.
  size_t connections_max = 10000;
  // Returns the number of connections to compare with connections_max, for servers with several acceptors. Empty: the
  // acceptor's own connections count. Called only after Start.
  std::function<size_t()> counted = {};
};

class ConnectionAcceptor {
 public:
  // Must be created before builder.BuildAndStart().
  ConnectionAcceptor(AcceptorOptions options, ::grpc::ServerBuilder& builder);
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
  bool AwaitConnection();
  bool Pause(std::chrono::milliseconds time);
  bool TakeTurn();
  bool AwaitRoom();
  size_t counted();
  size_t Count();

  const AcceptorOptions options_;
  std::atomic<int> listen_fd_;
  int wake_fd_ = -1;                             // An eventfd that ends the thread.
  process::Accepting accepting_{"connections"};  // Used only by the thread.
  std::unique_ptr<::grpc::experimental::ExternalConnectionAcceptor> grpc_acceptor_;
  std::thread thread_;
  std::mutex mutex_;
  // Key: descriptor. Value: inode of its socket. gRPC owns and closes the descriptors. If a descriptor has another
  // inode now, the connection was closed and the number was reused.
  std::map<int, uint64_t> handed_over_;
  std::chrono::steady_clock::time_point counted_at_{};
};

}  // namespace longshore::rpc

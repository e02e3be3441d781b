#include "common/net/http2/server.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <thread>
#include <vector>

#include "common/net/http2/connection.h"
#include "common/net/http2/listener.h"
#include "common/os/log.h"
#include "common/os/process/descriptors.h"
#include "common/os/ticker.h"

namespace longshore::http2 {
namespace {

namespace asio = boost::asio;

constexpr auto kDrainLog = milliseconds(1000);  // How often a drain logs how many connections are left.
constexpr auto kClockTick = milliseconds(100);  // A time limit of a connection may take effect this much too late.
constexpr auto kAtTheirAge = milliseconds::max();

class AsioServer final : public Server {
 public:
  AsioServer(Options options, MakeStream make, const std::vector<int>& sockets)
      : context_(std::make_shared<asio::io_context>(options.threads)),  // One thread wakes no other. All may post.
        server_(std::make_shared<ServerState>(std::move(options), std::move(make))),
        work_(context_->get_executor()),
        port_(process::LocalPort(sockets.front()).value_or(0)) {
    for (const int fd : sockets) {
      listeners_.push_back(std::make_unique<Listener>(
          *context_,
          ListenerOptions{.fd = fd,
                          .shares_socket = server_->options.shares_socket && fd == sockets.front(),
                          .connections_max = server_->options.connections_max,
                          .connections = [this] { return connections(); },
                          .take = [this](process::Descriptor accepted,
                                         int family) { Take(std::move(accepted), Connection::Protocol(family, 0)); }}));
    }
    for (int i = 0; i < std::max(1, server_->options.threads); ++i) {
      threads_.emplace_back([context = context_] { context->run(); });
    }
    for (const auto& listener : listeners_) listener->Start();
  }

  ~AsioServer() override {
    StopAccepting();
    for (const auto& connection : Connections()) connection->Cut();
    AwaitNoConnections();
    work_.reset();
    for (auto& thread : threads_) thread.join();
  }

  int port() const override { return port_; }
  int listen_fd() const override { return listeners_.front()->fd(); }
  size_t connections() const override {
    const std::lock_guard lock(server_->mutex);
    return server_->connections.size();
  }

  std::vector<http::OpenConnection> OpenConnections() const override {
    const auto now = Clock::now();
    std::vector<http::OpenConnection> open;
    for (const auto& connection : Connections()) {
      if (connection->is_ending()) continue;
      open.push_back({connection->RequestsPerSecond(now),
                      [weak = std::weak_ptr(connection), until = now + server_->options.connection_age_grace] {
                        if (const auto strong = weak.lock()) strong->EndWithin(milliseconds(0), until);
                      }});
    }
    return open;
  }

  void Drain(milliseconds grace) override {
    StopAccepting();
    const auto until = Clock::now() + grace;
    const milliseconds spread = spread_;
    for (const auto& connection : Connections()) {
      spread == kAtTheirAge ? connection->End(until) : connection->EndWithin(spread, until);
    }
    std::unique_lock lock(server_->mutex);
    const auto none_left = [this] { return server_->connections.empty(); };
    while (!server_->no_connections.wait_for(lock, kDrainLog, none_left)) {
      spdlog::info("draining: {} HTTP/2 connections are left", server_->connections.size());
    }
  }

  void EndConnectionsWithin(milliseconds spread) override {
    milliseconds before = spread_;
    while (spread < before && !spread_.compare_exchange_weak(before, spread)) continue;
    if (listen_fd() >= 0) return;
    // Drain accepts no more connections, so these are all, or Drain has seen that spread_ is set.
    const auto until = Clock::now() + server_->options.connection_age_grace;
    for (const auto& connection : Connections()) connection->EndWithin(spread, until);
  }

 private:
  void StopAccepting() {
    for (const auto& listener : listeners_) listener->Stop();
  }

  std::vector<std::shared_ptr<Connection>> Connections() const {
    const std::lock_guard lock(server_->mutex);
    return {server_->connections.begin(), server_->connections.end()};
  }

  void AwaitNoConnections() {
    std::unique_lock lock(server_->mutex);
    server_->no_connections.wait(lock, [this] { return server_->connections.empty(); });
  }

  // If memory runs out, the remaining connections are checked at the next tick.
  void CheckTime() {
    const auto now = Clock::now();
    const std::lock_guard lock(server_->mutex);
    try {
      for (const auto& connection : server_->connections) connection->CheckTime(now);
    } catch (const std::exception& error) {
      spdlog::error("cannot check the time limits of connections, trying again: {}", error.what());
    }
  }

  // Serves the connection, or closes it if there is not enough memory for it.
  void Take(process::Descriptor fd, Connection::Protocol protocol) {
    std::shared_ptr<Connection> connection;
    try {
      connection = std::make_shared<Connection>(context_, server_, protocol, fd.get());
      fd.Release();
      {
        const std::lock_guard lock(server_->mutex);
        server_->connections.insert(connection);
      }
      connection->Start();
    } catch (const std::exception& error) {
      spdlog::warn("cannot serve a connection: {}", error.what());
      const std::lock_guard lock(server_->mutex);
      server_->connections.erase(connection);
    }
  }

  const std::shared_ptr<asio::io_context> context_;
  const std::shared_ptr<ServerState> server_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  const int port_;
  std::atomic<milliseconds> spread_ = kAtTheirAge;  // In which a drain asks all clients.
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::thread> threads_;
  Ticker clock_{kClockTick, [this] { CheckTime(); }};  // The last member, because it uses the others.
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(Options options, MakeStream make) {
  std::vector<int> sockets;
  if (options.listen_fd >= 0) sockets.push_back(options.listen_fd);
  if (options.more_fd >= 0) sockets.push_back(options.more_fd);
  if (sockets.empty()) {
    ASSIGN_OR_RETURN(const int fd, process::Listen(options.address));
    sockets.push_back(fd);
  }
  return std::make_unique<AsioServer>(std::move(options), std::move(make), sockets);
}

}  // namespace longshore::http2

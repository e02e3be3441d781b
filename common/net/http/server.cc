#include "common/net/http/server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <future>
#include <thread>

#include "common/net/http/connection.h"
#include "common/os/log.h"
#include "common/os/process/accept_turn.h"
#include "common/os/process/accepting.h"
#include "common/os/process/descriptors.h"

namespace longshore::http {
namespace {

namespace asio = boost::asio;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kAwaitRoom = microseconds(5000);
constexpr auto kClockTick = milliseconds(100);  // A timeout may take effect this much too late.

class AsioServer final : public Server {
 public:
  AsioServer(Options options, Handler handler, int listen_fd)
      : context_(std::make_shared<asio::io_context>(options.threads)),  // One thread wakes no other. All may post.
        server_(std::make_shared<ServerState>(std::move(options), std::move(handler))),
        work_(context_->get_executor()),
        strand_(context_->get_executor()),
        listener_(strand_, listen_fd),
        timer_(strand_),
        clock_(strand_),
        listen_fd_(listen_fd),
        port_(process::LocalPort(listen_fd).value_or(0)) {
    for (int i = 0; i < std::max(1, server_->options.threads); ++i) {
      threads_.emplace_back([context = context_] { context->run(); });
    }
    asio::post(strand_, [this] {
      AwaitConnection();
      AwaitTick();
    });
  }

  ~AsioServer() override {
    StopAccepting();
    for (const auto& connection : Connections()) connection->Cut();
    {
      std::lock_guard lock(server_->mutex);
      server_->connections.clear();
    }
    asio::post(strand_, [this] {
      is_over_ = true;
      clock_.cancel();
    });
    work_.reset();
    for (auto& thread : threads_) thread.join();
  }

  int port() const override { return port_; }
  int listen_fd() const override { return listen_fd_; }

  size_t connections() const override {
    std::lock_guard lock(server_->mutex);
    return server_->connections.size();
  }

  std::vector<OpenConnection> OpenConnections() const override {
    const auto now = steady_clock::now();
    std::vector<OpenConnection> open;
    for (const auto& connection : Connections()) {
      if (connection->IsPastAgeMax()) continue;
      open.push_back({connection->RequestsPerSecond(now), [weak = std::weak_ptr(connection)] {
                        if (const auto strong = weak.lock()) strong->AskToEnd();
                      }});
    }
    return open;
  }

  void Stop() override {
    server_->stops_by = steady_clock::now() + server_->options.stop_timeout;
    server_->stopping = true;
    StopAccepting();
    for (const auto& connection : Connections()) connection->CloseWhenIdle();
    std::unique_lock lock(server_->mutex);
    server_->no_connections.wait(lock, [this] { return server_->connections.empty(); });
  }

 private:
  std::vector<std::shared_ptr<Connection>> Connections() const {
    std::lock_guard lock(server_->mutex);
    return {server_->connections.begin(), server_->connections.end()};
  }

  // One timer checks the deadlines of all connections: a timer per connection would be reset several times in every
  // request.
  void AwaitTick() {
    clock_.expires_after(kClockTick);
    clock_.async_wait([this](const boost::system::error_code& error) {
      if (error || is_over_) return;
      CheckDeadlines();
      AwaitTick();
    });
  }

  // If memory runs out, the remaining connections are checked at the next tick.
  void CheckDeadlines() {
    const auto now = steady_clock::now();
    const std::lock_guard lock(server_->mutex);
    try {
      for (const auto& connection : server_->connections) connection->CheckDeadline(now);
    } catch (const std::exception& error) {
      spdlog::error("cannot check the deadlines of connections, trying again: {}", error.what());
    }
  }

  void AwaitConnection() {
    listener_.async_wait(asio::posix::descriptor_base::wait_read, [this](const boost::system::error_code& error) {
      if (error || listen_fd_ < 0) return;
      const process::AcceptTurn turn = process::AcceptTurnOf(connections(), server_->options.shares_socket);
      turn.wait.count() > 0 ? AcceptAfter(turn.wait, turn.connections_max) : Accept(turn.connections_max);
    });
  }

  void AcceptAfter(microseconds wait, size_t at_most) {
    timer_.expires_after(wait);
    timer_.async_wait([this, at_most](const boost::system::error_code& error) {
      if (!error && listen_fd_ >= 0) Accept(at_most);
    });
  }

  void Accept(size_t at_most) {
    for (; at_most > 0; --at_most) {
      if (connections() >= server_->options.connections_max) return AcceptAfter(kAwaitRoom, at_most);
      if (!AcceptOne()) break;
    }
    accepting_.is_out() ? AcceptAfter(process::Accepting::kPause, 1) : AwaitConnection();
  }

  bool AcceptOne() {
    process::Accepting::Connection accepted = accepting_.Accept(listener_.native_handle());
    if (!accepted.fd.valid()) return false;
    Take(std::move(accepted.fd), Connection::Protocol(accepted.family, 0));
    return true;
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

  // Accepts the connections in the backlog before it closes the socket, because closing would reset them.
  void StopAccepting() {
    const auto stopped = std::make_shared<std::promise<void>>();
    asio::post(strand_, [this, stopped] {
      if (listen_fd_ >= 0) {
        while (AcceptOne()) {
        }
        listen_fd_ = -1;
        listener_.close();
        timer_.cancel();
      }
      stopped->set_value();
    });
    stopped->get_future().wait();
  }

  const std::shared_ptr<asio::io_context> context_;
  const std::shared_ptr<ServerState> server_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::strand<asio::io_context::executor_type> strand_;
  asio::posix::stream_descriptor listener_;  // Used only on the strand, like the timers.
  asio::steady_timer timer_;
  asio::steady_timer clock_;
  process::Accepting accepting_{"connections"};  // Used only on the strand.
  bool is_over_ = false;                         // Used only on the strand. Whether the clock has stopped.
  std::atomic<int> listen_fd_;
  const int port_;
  std::vector<std::thread> threads_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(Options options, Handler handler) {
  int fd = options.listen_fd;
  if (fd < 0) {
    ASSIGN_OR_RETURN(fd, process::Listen(options.address));
  }
  return std::make_unique<AsioServer>(std::move(options), std::move(handler), fd);
}

}  // namespace longshore::http

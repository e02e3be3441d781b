#include "common/http/server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <cstring>
#include <future>
#include <thread>

#include "common/http/connection.h"
#include "common/log.h"
#include "common/process/descriptors.h"

namespace longshore::http {
namespace {

namespace asio = boost::asio;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kYieldPerConnection = microseconds(200);
constexpr auto kYieldMax = microseconds(5000);
constexpr auto kOutOfDescriptorsPause = microseconds(100000);
constexpr auto kClockTick = milliseconds(100);  // How late a timeout may be.

class AsioServer final : public Server {
 public:
  AsioServer(Options options, Handler handler, int listen_fd)
      : context_(std::make_shared<asio::io_context>()),
        core_(std::make_shared<Core>(std::move(options), std::move(handler))),
        work_(context_->get_executor()),
        strand_(context_->get_executor()),
        listener_(strand_, listen_fd),
        timer_(strand_),
        clock_(strand_),
        listen_fd_(listen_fd),
        port_(process::LocalPort(listen_fd).value_or(0)) {
    for (int i = 0; i < std::max(1, core_->options.threads); ++i) {
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
      std::lock_guard lock(core_->mutex);
      core_->connections.clear();
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
    std::lock_guard lock(core_->mutex);
    return core_->connections.size();
  }

  void Stop() override {
    core_->stops_by = steady_clock::now() + core_->options.stop_timeout;
    core_->stopping = true;
    StopAccepting();
    for (const auto& connection : Connections()) connection->Leave();
    std::unique_lock lock(core_->mutex);
    core_->none_left.wait(lock, [this] { return core_->connections.empty(); });
  }

 private:
  std::vector<std::shared_ptr<Connection>> Connections() const {
    std::lock_guard lock(core_->mutex);
    return {core_->connections.begin(), core_->connections.end()};
  }

  // One clock for all: a timer for each connection would be set anew several times in every request.
  void AwaitTick() {
    clock_.expires_after(kClockTick);
    clock_.async_wait([this](const boost::system::error_code& error) {
      if (error || is_over_) return;
      LookAtClocks();
      AwaitTick();
    });
  }

  // Who cannot be told for want of memory is told at the next tick.
  void LookAtClocks() {
    const auto now = steady_clock::now();
    const std::lock_guard lock(core_->mutex);
    try {
      for (const auto& connection : core_->connections) connection->LookAtClock(now);
    } catch (const std::exception& error) {
      spdlog::error("connections that are late stay open for now: {}", error.what());
    }
  }

  // As in common/grpc/acceptor.h: of the processes that share the socket, the one with the fewest connections wins.
  void AwaitConnection() {
    listener_.async_wait(asio::posix::descriptor_base::wait_read, [this](const boost::system::error_code& error) {
      if (error) return;
      const auto live = static_cast<int64_t>(connections());
      AcceptAfter(std::min(kYieldMax, kYieldPerConnection * live));
    });
  }

  void AcceptAfter(microseconds yield) {
    timer_.expires_after(yield);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || listen_fd_ < 0) return;
      if (connections() >= core_->options.connections_max) return AcceptAfter(kYieldMax);
      AcceptOne();
      if (out_of_descriptors_) return AcceptAfter(kOutOfDescriptorsPause);
      AwaitConnection();
    });
  }

  bool AcceptOne() {
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    const int fd =
        accept4(listener_.native_handle(), reinterpret_cast<sockaddr*>(&peer), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    const bool out = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
    if (out && !out_of_descriptors_) spdlog::warn("cannot accept connections for now: {}", strerror(errno));
    out_of_descriptors_ = out;
    if (fd < 0) return false;
    Take(process::Descriptor(fd), Connection::Protocol(peer.ss_family, 0));
    return true;
  }

  // Without memory for a connection, that one is closed.
  void Take(process::Descriptor fd, Connection::Protocol protocol) {
    std::shared_ptr<Connection> connection;
    try {
      connection = std::make_shared<Connection>(context_, core_, protocol, fd.get());
      fd.Release();
      {
        const std::lock_guard lock(core_->mutex);
        core_->connections.insert(connection);
      }
      connection->Start();
    } catch (const std::exception& error) {
      spdlog::warn("cannot take a connection: {}", error.what());
      const std::lock_guard lock(core_->mutex);
      core_->connections.erase(connection);
    }
  }

  // Takes what waits in the backlog first: closing a socket resets what nobody accepted.
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
  const std::shared_ptr<Core> core_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::strand<asio::io_context::executor_type> strand_;
  asio::posix::stream_descriptor listener_;  // Used on the strand, as the timer.
  asio::steady_timer timer_;
  asio::steady_timer clock_;
  bool is_over_ = false;             // On the strand: the clock stands still.
  bool out_of_descriptors_ = false;  // On the strand: the last accept failed for want of them.
  std::atomic<int> listen_fd_;
  const int port_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::string_view Request::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

Result<std::unique_ptr<Server>> Server::Start(Options options, Handler handler) {
  int fd = options.listen_fd;
  if (fd < 0) {
    ASSIGN_OR_RETURN(fd, process::Listen(options.address));
  }
  return std::make_unique<AsioServer>(std::move(options), std::move(handler), fd);
}

}  // namespace longshore::http

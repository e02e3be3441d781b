#include "common/net/http2/listener.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <future>
#include <memory>

#include "common/os/process/accept_turn.h"

namespace longshore::http2 {
namespace {

namespace asio = boost::asio;
using std::chrono::microseconds;

constexpr auto kAwaitRoom = microseconds(5000);

int NonBlocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

}  // namespace

Listener::Listener(asio::io_context& context, ListenerOptions options)
    : options_(std::move(options)),
      strand_(context.get_executor()),
      socket_(strand_, NonBlocking(options_.fd)),
      timer_(strand_),
      fd_(options_.fd) {}

void Listener::Start() {
  asio::post(strand_, [this] { Await(); });
}

void Listener::Stop() {
  const auto stopped = std::make_shared<std::promise<void>>();
  asio::post(strand_, [this, stopped] {
    if (fd_ >= 0) {
      for (int accepted = 0; accepted < SOMAXCONN && AcceptOne(); ++accepted) {
      }
      fd_ = -1;
      socket_.close();
      timer_.cancel();
    }
    // A second turn, after the handlers that were cancelled.
    asio::post(strand_, [stopped] { stopped->set_value(); });
  });
  stopped->get_future().wait();
}

void Listener::Await() {
  if (fd_ < 0) return;
  socket_.async_wait(asio::posix::descriptor_base::wait_read, [this](const boost::system::error_code& error) {
    if (error || fd_ < 0) return;
    const process::AcceptTurn turn = process::AcceptTurnOf(options_.connections(), options_.shares_socket);
    turn.wait.count() > 0 ? AcceptAfter(turn.wait, turn.connections_max) : Accept(turn.connections_max);
  });
}

void Listener::AcceptAfter(microseconds wait, size_t at_most) {
  timer_.expires_after(wait);
  timer_.async_wait([this, at_most](const boost::system::error_code& error) {
    if (!error && fd_ >= 0) Accept(at_most);
  });
}

void Listener::Accept(size_t at_most) {
  for (; at_most > 0; --at_most) {
    if (options_.connections() >= options_.connections_max) return AcceptAfter(kAwaitRoom, at_most);
    if (!AcceptOne()) break;
  }
  accepting_.is_out() ? AcceptAfter(process::Accepting::kPause, 1) : Await();
}

bool Listener::AcceptOne() {
  process::Accepting::Connection accepted = accepting_.Accept(fd_);
  if (!accepted.fd.valid()) return false;
  options_.take(std::move(accepted.fd), accepted.family);
  return true;
}

}  // namespace longshore::http2

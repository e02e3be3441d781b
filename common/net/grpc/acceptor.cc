#include "common/net/grpc/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "common/os/process/accept_turn.h"

namespace longshore::rpc {
namespace {

using std::chrono::milliseconds;

constexpr auto kPollMax = milliseconds(1000);
constexpr auto kDrainPoll = milliseconds(20);
constexpr auto kCountEvery = milliseconds(100);

// The inode of the socket; 0 if `fd` is not a socket.
uint64_t SocketInode(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode)) return 0;
  return info.st_ino;
}

// Whether the peer has reset the connection. gRPC 1.51 misses some resets that arrive while it reads, and keeps such a
// socket until its next write.
bool IsReset(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_CLOSE;
}

}  // namespace

ConnectionAcceptor::ConnectionAcceptor(AcceptorOptions options, ::grpc::ServerBuilder& builder)
    : options_(std::move(options)), listen_fd_(options_.listen_fd), wake_fd_(eventfd(0, EFD_CLOEXEC)) {
  fcntl(listen_fd_, F_SETFL, fcntl(listen_fd_, F_GETFL) | O_NONBLOCK);
  grpc_acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      ::grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, options_.credentials);
}

ConnectionAcceptor::~ConnectionAcceptor() {
  StopAccepting();
  close(wake_fd_);
}

void ConnectionAcceptor::Start() {
  thread_ = std::thread([this] { AcceptUntilStopped(); });
}

void ConnectionAcceptor::StopAccepting() {
  if (thread_.joinable()) {
    eventfd_write(wake_fd_, 1);
    thread_.join();
  }
  if (const int fd = listen_fd_.exchange(-1); fd >= 0) close(fd);
}

// Waits until a connection may have arrived. Returns false if the thread has to stop.
bool ConnectionAcceptor::AwaitConnection() {
  pollfd waits[] = {{listen_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  poll(waits, 2, static_cast<int>(kPollMax.count()));
  return waits[1].revents == 0;
}

// Waits for this time. Returns false at once if the thread has to stop.
bool ConnectionAcceptor::Pause(milliseconds time) {
  pollfd wake = {wake_fd_, POLLIN, 0};
  return poll(&wake, 1, static_cast<int>(time.count())) == 0;
}

// Gives processes with fewer connections time to accept, then accepts. Returns false if the thread has to stop.
bool ConnectionAcceptor::TakeTurn() {
  const process::AcceptTurn turn = process::AcceptTurnOf(options_.shared ? connections() : 0, options_.shared);
  if (turn.wait.count() > 0) std::this_thread::sleep_for(turn.wait);
  for (size_t accepted = 0; accepted < turn.connections_max; ++accepted) {
    if (!AwaitRoom()) return false;
    if (!AcceptOne()) break;
  }
  return !accepting_.is_out() || Pause(process::Accepting::kPause);
}

size_t ConnectionAcceptor::counted() { return options_.counted ? options_.counted() : connections(); }

// Waits until the number of connections is below the limit. Returns false if the thread has to stop.
bool ConnectionAcceptor::AwaitRoom() {
  while (counted() >= options_.connections_max) {
    if (!Pause(kDrainPoll)) return false;
  }
  return true;
}

void ConnectionAcceptor::AcceptUntilStopped() {
  while (AwaitConnection() && TakeTurn()) {
  }
  while (AcceptOne()) {
  }
}

bool ConnectionAcceptor::AcceptOne() {
  process::Descriptor accepted = accepting_.Accept(listen_fd_).fd;
  if (!accepted.valid()) return false;
  const int fd = accepted.Release();
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  {
    std::lock_guard lock(mutex_);
    handed_over_[fd] = SocketInode(fd);
  }
  ::grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listen_fd_;
  parameters.fd = fd;
  grpc_acceptor_->HandleNewConnection(&parameters);
  return true;
}

size_t ConnectionAcceptor::connections() {
  {
    const std::lock_guard lock(mutex_);
    if (std::chrono::steady_clock::now() - counted_at_ < kCountEvery) return handed_over_.size();
  }
  return Count();
}

size_t ConnectionAcceptor::Count() {
  const std::lock_guard lock(mutex_);
  counted_at_ = std::chrono::steady_clock::now();
  std::erase_if(handed_over_, [](const auto& entry) {
    const auto& [fd, inode] = entry;
    return SocketInode(fd) != inode || IsReset(fd);
  });
  return handed_over_.size();
}

void ConnectionAcceptor::AwaitNoConnections(const std::function<void(size_t left)>& log,
                                            std::chrono::steady_clock::time_point until) {
  auto logged_at = std::chrono::steady_clock::now();
  for (size_t left = Count(); left > 0; left = Count()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) return;
    if (now - logged_at >= std::chrono::seconds(1)) {
      log(left);
      logged_at = now;
    }
    std::this_thread::sleep_for(kDrainPoll);
  }
}

}  // namespace longshore::rpc

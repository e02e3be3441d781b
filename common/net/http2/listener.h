// Accepts connections from one listening socket, in turn with other processes that share it.
#pragma once

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <functional>

#include "common/os/process/accepting.h"
#include "common/os/process/descriptors.h"

namespace longshore::http2 {

struct ListenerOptions {
  int fd = -1;                 // The listener owns it.
  bool shares_socket = false;  // Other processes may accept from it (common/os/process/accept_turn.h).
  size_t connections_max = 10000;
  std::function<size_t()> connections;  // The number to compare with connections_max.
  // Gets each accepted connection, with its address family.
  std::function<void(process::Descriptor fd, int family)> take;
};

class Listener {
 public:
  Listener(boost::asio::io_context& context, ListenerOptions options);

  void Start();
  // Accepts the connections in the backlog, because closing would reset them, and closes the socket. Clients that
  // connect meanwhile are accepted, too, up to the length of a full backlog. The context must
  // run on another thread.
  void Stop();
  int fd() const { return fd_; }  // -1 after Stop. Thread-safe.

 private:
  void Await();
  void AcceptAfter(std::chrono::microseconds wait, size_t at_most);
  void Accept(size_t at_most);
  bool AcceptOne();

  const ListenerOptions options_;
  // Used only on the strand, like the members below.
  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer timer_;
  process::Accepting accepting_{"connections"};
  std::atomic<int> fd_;
};

}  // namespace longshore::http2

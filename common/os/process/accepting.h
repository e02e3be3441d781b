// Accepts connections from a listening socket, also while descriptors or memory run out.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "common/os/process/descriptors.h"

namespace longshore::process {

class Accepting {
 public:
  // How long to wait before the next attempt while is_out(). The connection stays in the backlog, so the socket is
  // readable all the time: without a pause, the attempts would use a whole processor.
  static constexpr std::chrono::milliseconds kPause{100};

  struct Connection {
    Descriptor fd;  // Non-blocking. Not valid if no connection was accepted.
    sa_family_t family = AF_UNSPEC;
  };

  // `what` names the connections in the log, as in "cannot accept WHAT". `log` writes a warning.
  explicit Accepting(std::string what, std::function<void(const std::string&)> log = LogWarning)
      : what_(std::move(what)), log_(std::move(log)) {}

  // Accepts one connection if one waits in the backlog of the non-blocking socket `listen_fd`. A lack of descriptors or
  // memory is logged once, until a call does not fail for it.
  Connection Accept(int listen_fd);

  // Whether the last call failed because the process or the machine has too few descriptors or too little memory.
  bool is_out() const { return is_out_; }

 private:
  static void LogWarning(const std::string& message);

  const std::string what_;
  const std::function<void(const std::string&)> log_;
  bool is_out_ = false;
};

}  // namespace longshore::process

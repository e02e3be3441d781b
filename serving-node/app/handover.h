// Returns the listening sockets to a controller that restarted: sends copies of them to each process that connects to a
// unix socket.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/process/descriptors.h"

namespace longshore::app {

class Handover {
 public:
  // Listens on a unix socket at `path`, which only its owner may use, and keeps copies of `sockets`. Errors name the
  // path or the socket.
  static Result<std::unique_ptr<Handover>> Start(const Path& path, const std::vector<int>& sockets);
  ~Handover();
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

 private:
  Handover() = default;
  void Serve();

  process::Descriptor listener_;
  process::Descriptor wake_;  // An eventfd; a write ends the thread.
  std::vector<process::Descriptor> sockets_;
  std::thread thread_;
};

}  // namespace longshore::app

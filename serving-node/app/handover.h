// Gives the listening sockets back to a controller that restarted: whoever connects is sent them.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "common/process/descriptors.h"

namespace longshore::app {

class Handover {
 public:
  // Listens at the path, with the permissions of its owner only, and keeps copies of the sockets.
  static Result<std::unique_ptr<Handover>> Start(const Path& path, const std::vector<int>& sockets);
  ~Handover();
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

 private:
  Handover() = default;
  void Serve();

  process::Descriptor listener_;
  process::Descriptor wake_;  // An eventfd that ends the thread.
  std::vector<process::Descriptor> sockets_;
  std::thread thread_;
};

}  // namespace longshore::app

// Destroys unused versions on its own threads. The last user of a version may be a request's thread, which must neither
// wait for a queue to drain nor free gigabytes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serving-node/models/models.h"

namespace longshore::models {

// Thread-safe.
class Reaper {
 public:
  using Gone = std::function<void(const std::string& model, int64_t version)>;

  // `gone` is called after each version is destroyed, on one of the reaper's threads.
  Reaper(int threads, Gone gone);
  // Requires: all handles are released.
  ~Reaper();

  // Returns a handle; when its last copy is released, the reaper destroys the version.
  Handle Guard(std::unique_ptr<const ReadyVersion> ready);

 private:
  struct Garbage {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::unique_ptr<const ReadyVersion>> unused;
    bool stopping = false;
  };
  void Reap();

  const Gone gone_;
  const std::shared_ptr<Garbage> garbage_ = std::make_shared<Garbage>();
  std::vector<std::thread> threads_;
};

}  // namespace longshore::models

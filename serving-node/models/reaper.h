// Destroys versions that nobody uses any more, on threads of its own: the last holder may be a request's thread, which
// must neither wait for a queue to drain nor free gigabytes.
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

  // gone is called after each, on one of the reaper's threads.
  Reaper(int threads, Gone gone);
  // Requires: every handle is gone.
  ~Reaper();

  // A handle whose last copy hands the version to the reaper.
  Handle Guard(std::unique_ptr<const ReadyVersion> ready);

 private:
  struct Graves {
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<std::unique_ptr<const ReadyVersion>> dead;
    bool stopping = false;
  };
  void Reap();

  const Gone gone_;
  const std::shared_ptr<Graves> graves_ = std::make_shared<Graves>();
  std::vector<std::thread> threads_;
};

}  // namespace longshore::models

// Tells that something below a few directories changed, by inotify; what it was, the receiver finds out.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "common/error.h"
#include "common/file.h"
#include "common/process/descriptors.h"

namespace longshore::store {

// Calls on_change once at the start and after every burst of changes, on its own thread, never twice at once.
// The directories and all below `trees` are watched, also those that are made later.
class Watcher {
 public:
  static Result<std::unique_ptr<Watcher>> Start(std::vector<Path> directories, std::vector<Path> trees,
                                                std::function<void()> on_change);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  Watcher(std::vector<Path> directories, std::vector<Path> trees, std::function<void()> on_change, int inotify,
          int stop);
  void Run();
  void WatchAll();
  bool WaitForChange();

  const std::vector<Path> directories_;
  const std::vector<Path> trees_;
  const std::function<void()> on_change_;
  const process::Descriptor inotify_;
  const process::Descriptor stop_;
  std::thread thread_;
};

}  // namespace longshore::store

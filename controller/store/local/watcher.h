// Reports by inotify that something changed in a few directories; the receiver finds out what changed.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/process/descriptors.h"

namespace longshore::store::local {

// Calls `on_change` once at the start and after every burst of changes, on a separate thread and one call at a time.
// Watches the `directories` without their subfolders, and the `trees` with all folders below them, also those that are
// created later.
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

}  // namespace longshore::store::local

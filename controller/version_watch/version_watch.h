// Notices when the files of failed versions change, on threads of its own: a folder may be on a network and hang.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "controller/reconcile/failed_files.h"
#include "controller/version_watch/files.h"

namespace longshore::version_watch {

struct Options {
  // The time between two looks at the files. They count as fully copied when two looks in a row see the same.
  std::chrono::milliseconds interval{2000};
  // As many Models may have folders that hang before the files of the others are not looked at any more.
  size_t threads = 4;
  // How long the destructor waits for reads in progress.
  std::chrono::milliseconds stop_max{1000};
};

// Thread-safe.
class VersionWatch final : public reconcile::FailedFiles {
 public:
  // Calls `on_change` with the Model whenever files of a failed version have become others. It must not call this
  // class, nor block.
  VersionWatch(Options options, Reader reader, std::function<void(const api::Key&)> on_change);
  // Leaves threads behind whose folders hang. They do not call `on_change` any more.
  ~VersionWatch() override;
  VersionWatch(const VersionWatch&) = delete;
  VersionWatch& operator=(const VersionWatch&) = delete;

  std::set<int64_t> Watch(const api::Model& model) override;
  void Forget(const api::Key& model) override;

 private:
  struct State;
  struct Watched;

  static void Work(const std::shared_ptr<State>& state);
  static void LookAt(State& state, const std::shared_ptr<Watched>& watched, std::unique_lock<std::mutex>& lock);

  // Shared with the threads, which may outlive this object.
  const std::shared_ptr<State> state_;
  std::vector<std::thread> threads_;
};

}  // namespace longshore::version_watch

#include "controller/store/local/watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace longshore::store::local {
namespace {

constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE;
// Changes within this time, for example a copy of several files, are reported together.
constexpr int kBurstMs = 5;
// The kernel may drop events when its queue overflows, so a change is also reported after this time.
constexpr int kRescanMs = 5000;

}  // namespace

Result<std::unique_ptr<Watcher>> Watcher::Start(std::vector<Path> directories, std::vector<Path> trees,
                                                std::function<void()> on_change) {
  process::Descriptor inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  process::Descriptor stop(eventfd(0, EFD_CLOEXEC));
  if (!inotify.valid() || !stop.valid()) return ResourceExhausted("cannot watch files: {}", std::strerror(errno));
  return std::unique_ptr<Watcher>(
      new Watcher(std::move(directories), std::move(trees), std::move(on_change), inotify.Release(), stop.Release()));
}

Watcher::Watcher(std::vector<Path> directories, std::vector<Path> trees, std::function<void()> on_change, int inotify,
                 int stop)
    : directories_(std::move(directories)),
      trees_(std::move(trees)),
      on_change_(std::move(on_change)),
      inotify_(inotify),
      stop_(stop),
      thread_([this] { Run(); }) {}

Watcher::~Watcher() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

void Watcher::Run() {
  do {
    // Adds the watches before the receiver reads the directories, so that no change is missed.
    WatchAll();
    on_change_();
  } while (WaitForChange());
}

void Watcher::WatchAll() {
  std::vector<Path> all = directories_;
  for (const Path& tree : trees_) {
    all.push_back(tree);
    std::error_code error;  // A directory may be deleted meanwhile, which causes another event.
    for (std::filesystem::recursive_directory_iterator at(tree, error), end; !error && at != end; at.increment(error)) {
      std::error_code ignored;
      if (at->is_directory(ignored)) all.push_back(at->path());
    }
  }
  for (const Path& path : all) inotify_add_watch(inotify_.get(), path.c_str(), kEvents);
}

bool Watcher::WaitForChange() {
  std::array<pollfd, 2> waiting = {pollfd{inotify_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  const int ready = poll(waiting.data(), waiting.size(), kRescanMs);
  if (waiting[1].revents != 0) return false;
  if (ready > 0 && poll(&waiting[1], 1, kBurstMs) > 0) return false;
  std::array<char, 16384> events;
  while (read(inotify_.get(), events.data(), events.size()) > 0) {
  }
  return true;
}

}  // namespace longshore::store::local

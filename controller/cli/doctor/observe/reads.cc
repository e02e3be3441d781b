#include "controller/cli/doctor/observe/reads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace longshore::cli::doctor::observe {
namespace {

constexpr size_t kThreadsMax = 16;
constexpr std::chrono::seconds kSlow{1};

class Runner {
 public:
  explicit Runner(const std::vector<Read>& reads) : reads_(reads) {}

  void Run(const std::function<void(const std::string&)>& on_slow) {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < std::min(reads_.size(), kThreadsMax); ++i) threads.emplace_back([this] { Work(); });
    while (!WaitForAll()) {
      for (const std::string& what : SlowOnes()) on_slow(what);
    }
  }

 private:
  void Work() {
    for (std::unique_lock lock(mutex_); next_ < reads_.size();) {
      const Read& read = reads_[next_++];
      running_.push_back(&read);
      lock.unlock();
      read.run();
      lock.lock();
      std::erase(running_, &read);
      if (++ended_ == reads_.size()) all_ended_.notify_all();
    }
  }

  bool WaitForAll() {
    std::unique_lock lock(mutex_);
    return all_ended_.wait_for(lock, kSlow, [this] { return ended_ == reads_.size(); });
  }

  std::vector<std::string> SlowOnes() {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> slow;
    for (const Read* read : running_) {
      if (std::ranges::find(told_, read) == told_.end()) slow.push_back(read->what);
    }
    told_ = running_;
    return slow;
  }

  const std::vector<Read>& reads_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  size_t next_ = 0;  // This member and the next ones are guarded by the mutex.
  size_t ended_ = 0;
  std::vector<const Read*> running_;
  std::vector<const Read*> told_;
};

}  // namespace

void RunAll(const std::vector<Read>& reads, const std::function<void(const std::string&)>& on_slow) {
  Runner(reads).Run(on_slow);
}

}  // namespace longshore::cli::doctor::observe

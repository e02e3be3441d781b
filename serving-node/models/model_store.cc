#include "serving-node/models/model_store.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "common/os/process/background.h"
#include "serving-node/models/loading.h"
#include "serving-node/models/reaper.h"
#include "serving-node/models/version_book.h"

namespace longshore::models {

class ModelStore::Impl {
 public:
  Impl(engine::Engine& engine, batching::Admission& admission, Options options, LoadGate gate, OnChange on_change)
      : engine_(engine),
        admission_(admission),
        options_(std::move(options)),
        gate_(std::move(gate)),
        on_change_(std::move(on_change)),
        book_({.retries_max = options_.load_retries_max,
               .interval = options_.load_retry_interval,
               .copy_interval = options_.copy_retry_interval,
               .unload_first = options_.unload_first,
               .unload_for_memory = options_.unload_for_memory,
               .memory_bytes_max = options_.memory_bytes_max},
              [this](const auto&... ready) { return MakeReady(ready...); }),
        reaper_(options_.unload_threads,
                [this](const auto& name, int64_t version) { Change([&] { book_.Gone(name, version); }); }) {
    for (int i = 0; i < std::max(options_.load_threads, 1); ++i) threads_.emplace_back([this] { LoadForever(); });
  }

  ~Impl() {
    Apply({});
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return book_.IsEmpty() && !notifying_; });
      stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void Apply(std::vector<Wanted> all) {
    Change([&] { book_.Apply(std::move(all)); });
  }
  void Retry(const std::string& name, int64_t number) {
    Change([&] { book_.Retry(name, number); });
  }

  std::shared_ptr<const ReadyModels> ready() const {
    const std::lock_guard lock(ready_mutex_);
    return ready_;
  }

  // Calls `ask` with the book while it holds the mutex.
  template <typename Ask>
  auto Read(const Ask& ask) const {
    const std::lock_guard lock(mutex_);
    return ask(book_);
  }

 private:
  // Changes the book, publishes the available versions for lookups, and notifies.
  template <typename Do>
  void Change(const Do& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
      Publish();
    }
    changed_.notify_all();
    NotifyChanges();
  }

  // Requires: mutex_ held.
  void Publish() {
    auto next = std::make_shared<const ReadyModels>(book_.Ready());
    const std::lock_guard lock(ready_mutex_);
    ready_.swap(next);
  }

  Handle MakeReady(const std::string& model, int64_t version, std::shared_ptr<engine::LoadedModel> loaded,
                   const batching::Options& batching) {
    auto watch = options_.watch_of ? options_.watch_of(model, version) : nullptr;
    auto queue = std::make_shared<batching::Queue>(admission_, loaded, batching, model, std::move(watch));
    return reaper_.Guard(
        std::make_unique<const ReadyVersion>(ReadyVersion{model, version, std::move(loaded), std::move(queue)}));
  }

  // Calls on_change_ for the pending changes in order, on one thread at a time. Requires: mutex_ not held.
  void NotifyChanges() {
    std::unique_lock lock(mutex_);
    if (notifying_) return;
    notifying_ = true;
    for (auto changes = book_.TakeChanges(); !changes.empty(); changes = book_.TakeChanges()) {
      lock.unlock();
      for (const auto& [name, status] : changes) {
        if (on_change_) on_change_(name, status);
      }
      lock.lock();
    }
    notifying_ = false;
    changed_.notify_all();
  }

  void LoadForever() {
    process::RunInBackground();
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      const auto next = book_.FindNext(std::chrono::steady_clock::now());
      if (next.wanted != nullptr) {
        const LoadWork work{.model = next.model,
                            .version = next.version,
                            .base_path = next.wanted->BasePathOf(next.version),
                            .tags = options_.tags,
                            .deterministic = next.wanted->deterministic,
                            .warm_up = next.wanted->warm_up,
                            .warm_up_iterations = options_.warm_up_iterations,
                            .batching = next.wanted->batching,
                            .batching_of = options_.batching_of,
                            .flush_caches = options_.flush_caches,
                            .meter = options_.meter};
        book_.Begin(work.model, work.version);
        lock.unlock();
        Load(work);
        lock.lock();
      } else if (next.again == SteadyTime::max()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, next.again);
      }
    }
  }

  void Load(const LoadWork& work) {
    NotifyChanges();
    const LoadSteps steps{.reserve =
                              [&](int64_t bytes) {
                                const std::lock_guard lock(mutex_);
                                return book_.Reserve(work.model, work.version, bytes);
                              },
                          .warming = [&] { Change([&] { book_.BeginWarmUp(work.model, work.version); }); }};
    auto loaded = LoadVersion(engine_, gate_, work, steps);
    Change([&] { book_.FinishLoad(work.model, work.version, std::move(loaded), std::chrono::steady_clock::now()); });
  }

  engine::Engine& engine_;
  batching::Admission& admission_;
  const Options options_;
  const LoadGate gate_;
  const OnChange on_change_;

  mutable std::mutex mutex_;  // Guards the next four members.
  std::condition_variable changed_;
  VersionBook book_;
  bool stopping_ = false;
  bool notifying_ = false;

  mutable std::mutex ready_mutex_;  // Guards ready_. A thread that needs both mutexes locks mutex_ first.
  std::shared_ptr<const ReadyModels> ready_ = std::make_shared<ReadyModels>();

  std::vector<std::thread> threads_;
  Reaper reaper_;  // Destroyed first, because its threads change the book.
};

ModelStore::ModelStore(engine::Engine& engine, batching::Admission& admission, Options options, LoadGate gate,
                       OnChange on_change)
    : impl_(std::make_unique<Impl>(engine, admission, std::move(options), std::move(gate), std::move(on_change))) {}

ModelStore::~ModelStore() = default;

void ModelStore::Apply(std::vector<Wanted> all) { impl_->Apply(std::move(all)); }
void ModelStore::Retry(const std::string& name, int64_t version) { impl_->Retry(name, version); }

std::vector<VersionStatus> ModelStore::Statuses(const std::string& name) const {
  return impl_->Read([&](const VersionBook& book) { return book.Statuses(name); });
}

std::vector<std::string> ModelStore::Names() const {
  return impl_->Read([](const VersionBook& book) { return book.Names(); });
}

bool ModelStore::AllAvailable() const {
  return impl_->Read([](const VersionBook& book) { return book.AllAvailable(); });
}

int64_t ModelStore::memory_bytes() const {
  return impl_->Read([](const VersionBook& book) { return book.memory_bytes(); });
}

Result<Handle> ModelStore::Find(const std::string& name) const {
  const auto ready = impl_->ready();
  const auto model = ready->find(name);
  if (model == ready->end() || model->second.versions.empty()) {
    return NotFound("Servable not found for request: Latest({})", name);
  }
  return model->second.versions.rbegin()->second;
}

Result<Handle> ModelStore::Find(const std::string& name, int64_t version) const {
  const auto ready = impl_->ready();
  const auto model = ready->find(name);
  if (model != ready->end()) {
    const auto found = model->second.versions.find(version);
    if (found != model->second.versions.end()) return found->second;
  }
  return NotFound("Servable not found for request: Specific({}, {})", name, version);
}

Result<Handle> ModelStore::FindLabel(const std::string& name, const std::string& label) const {
  const auto ready = impl_->ready();
  const auto model = ready->find(name);
  if (model == ready->end()) return NotFound("Servable not found for request: Latest({})", name);
  if (model->second.labels.count(label) == 0) {
    return InvalidArgument("Unrecognized servable version label: {}", label);
  }
  return Find(name, model->second.labels.at(label));
}

}  // namespace longshore::models

#include "serving-node/models/model_store.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "common/log.h"
#include "serving-node/models/loading.h"
#include "serving-node/models/reaper.h"

namespace longshore::models {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr size_t kEndedModelsMax = 100;

struct Version {
  VersionStatus status;
  bool wanted = false;
  Path from;                 // The base path of the last load.
  int failures = 0;
  SteadyTime retry_at;
  Handle ready;              // The store's own; present when available.
  int alive = 0;             // ReadyVersions that are not destroyed yet.
};

struct Model {
  Wanted wanted;
  bool is_wanted = false;
  std::map<int64_t, Version> versions;
};

// What lookups see.
struct Ready {
  std::map<int64_t, Handle> versions;
  std::map<std::string, int64_t> labels;
};
using Snapshot = std::map<std::string, Ready>;

bool IsSettled(State state) { return state == State::kAvailable || state == State::kFailed; }

// Whether versions that nobody wants may leave without taking the last good one away.
bool MayLetGo(const Model& model) {
  if (!model.is_wanted || model.wanted.versions.empty()) return true;
  bool available = false;
  for (const auto& [number, version] : model.versions) {
    if (version.wanted && !IsSettled(version.status.state)) return false;
    available |= version.wanted && version.status.state == State::kAvailable;
  }
  return available;
}

}  // namespace

class ModelStore::Impl {
 public:
  Impl(engine::Engine& engine, batching::Admission& admission, Options options, LoadGate gate, OnChange on_change)
      : engine_(engine), admission_(admission), options_(std::move(options)), gate_(std::move(gate)),
        on_change_(std::move(on_change)), reaper_([this](const auto& name, int64_t version) { Gone(name, version); }) {
    for (int i = 0; i < std::max(options_.load_threads, 1); ++i) threads_.emplace_back([this] { LoadForever(); });
  }

  ~Impl() {
    Apply({});
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return IsEmpty() && !telling_; });
      stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  void Apply(std::vector<Wanted> all) {
    {
      const std::lock_guard lock(mutex_);
      applied_ = true;
      for (auto& [name, model] : models_) {
        model.is_wanted = false;
        for (auto& [number, version] : model.versions) version.wanted = false;
      }
      for (Wanted& wanted : all) Want(std::move(wanted));
      for (auto& [name, model] : models_) Tidy(name, &model);
      ForgetEnded();
      Publish();
    }
    changed_.notify_all();
    Tell();
  }

  void Retry(const std::string& name, int64_t number) {
    {
      const std::lock_guard lock(mutex_);
      Version* version = FindVersion(name, number);
      if (version == nullptr || !version->wanted || version->status.state != State::kFailed) return;
      Restart(name, version);
    }
    changed_.notify_all();
    Tell();
  }

  std::shared_ptr<const Snapshot> snapshot() const {
    const std::lock_guard lock(snapshot_mutex_);
    return snapshot_;
  }

  std::vector<VersionStatus> Statuses(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    std::vector<VersionStatus> statuses;
    const auto model = models_.find(name);
    if (model == models_.end()) return statuses;
    for (const auto& [number, version] : model->second.versions) statuses.push_back(version.status);
    std::reverse(statuses.begin(), statuses.end());
    return statuses;
  }

  std::vector<std::string> Names() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, model] : models_) {
      if (model.is_wanted) names.push_back(name);
    }
    return names;
  }

  bool AllAvailable() const {
    const std::lock_guard lock(mutex_);
    return applied_ && std::all_of(models_.begin(), models_.end(), [](const auto& named) {
      const Model& model = named.second;
      return !model.is_wanted || model.wanted.versions.empty() || HasAvailable(model);
    });
  }

  int64_t memory_bytes() const {
    const std::lock_guard lock(mutex_);
    int64_t bytes = 0;
    for (const auto& [name, model] : models_) {
      for (const auto& [number, version] : model.versions) bytes += version.status.memory_bytes;
    }
    return bytes;
  }

 private:
  static bool HasAvailable(const Model& model) {
    return std::any_of(model.versions.begin(), model.versions.end(),
                       [](const auto& version) { return version.second.ready != nullptr; });
  }

  // All below, up to Publish: under mutex_.

  bool IsEmpty() const {
    return std::all_of(models_.begin(), models_.end(), [](const auto& model) {
      return std::all_of(model.second.versions.begin(), model.second.versions.end(),
                         [](const auto& version) { return version.second.status.state == State::kEnd; });
    });
  }

  Version* FindVersion(const std::string& name, int64_t number) {
    const auto model = models_.find(name);
    if (model == models_.end()) return nullptr;
    const auto version = model->second.versions.find(number);
    return version == model->second.versions.end() ? nullptr : &version->second;
  }

  void SetState(const std::string& name, Version* version, State state) {
    version->status.state = state;
    changes_.emplace_back(name, version->status);
  }

  void Restart(const std::string& name, Version* version) {
    version->failures = 0;
    version->retry_at = {};
    version->status.error = {Code::kOk, ""};
    SetState(name, version, State::kStart);
  }

  void Want(Wanted wanted) {
    Model& model = models_[wanted.name];
    for (const int64_t number : wanted.versions) {
      auto [at, is_new] = model.versions.try_emplace(number);
      Version& version = at->second;
      version.wanted = true;
      if (!is_new) continue;
      version.status.version = number;
      Restart(wanted.name, &version);
    }
    model.is_wanted = true;
    model.wanted = std::move(wanted);
  }

  // Brings every version one move nearer to what is wanted; loading is the threads' part.
  void Tidy(const std::string& name, Model* model) {
    const bool may_let_go = MayLetGo(*model);
    for (auto& [number, version] : model->versions) {
      const State state = version.status.state;
      const bool moved = version.from != model->wanted.base_path;
      if (version.wanted) {
        if (state == State::kEnd || (state == State::kFailed && moved)) Restart(name, &version);
        if (state == State::kAvailable && moved) Unload(name, &version);
        if (state == State::kAvailable && !moved) UseBatching(*model, &version);
      } else if (state == State::kStart || state == State::kFailed) {
        SetState(name, &version, State::kEnd);
      } else if (state == State::kAvailable && may_let_go) {
        Unload(name, &version);
      }
    }
    for (auto it = model->versions.begin(); it != model->versions.end() && model->versions.size() > kEndedMax;) {
      it = it->second.status.state == State::kEnd ? model->versions.erase(it) : std::next(it);
    }
  }

  void ForgetEnded() {
    for (auto it = models_.begin(); it != models_.end() && models_.size() > kEndedModelsMax;) {
      const auto& versions = it->second.versions;
      const bool ended = !it->second.is_wanted && std::all_of(versions.begin(), versions.end(), [](const auto& version) {
        return version.second.status.state == State::kEnd;
      });
      it = ended ? models_.erase(it) : std::next(it);
    }
  }

  void Unload(const std::string& name, Version* version) {
    SetState(name, version, State::kUnloading);
    version->ready.reset();
  }

  void UseBatching(const Model& model, Version* version) {
    if (version->ready->queue->options() == model.wanted.batching) return;
    version->ready = MakeReady(model, version, version->ready->loaded);
  }

  Handle MakeReady(const Model& model, Version* version, std::shared_ptr<engine::LoadedModel> loaded) {
    auto queue = std::make_shared<batching::Queue>(admission_, loaded, model.wanted.batching);
    version->alive += 1;
    return reaper_.Guard(std::make_unique<const ReadyVersion>(
        ReadyVersion{model.wanted.name, version->status.version, std::move(loaded), std::move(queue)}));
  }

  void Publish() {
    auto next = std::make_shared<Snapshot>();
    for (const auto& [name, model] : models_) {
      Ready& ready = (*next)[name];
      for (const auto& [number, version] : model.versions) {
        if (version.ready != nullptr) ready.versions[number] = version.ready;
      }
      if (model.is_wanted) ready.labels = model.wanted.labels;
    }
    const std::lock_guard lock(snapshot_mutex_);
    snapshot_ = std::move(next);
  }

  // Without mutex_: tells the changes in the order they happened, one thread at a time.
  void Tell() {
    std::unique_lock lock(mutex_);
    if (telling_) return;
    telling_ = true;
    while (!changes_.empty()) {
      const auto [name, status] = std::move(changes_.front());
      changes_.pop_front();
      lock.unlock();
      if (on_change_) on_change_(name, status);
      lock.lock();
    }
    telling_ = false;
    changed_.notify_all();
  }

  // The reaper destroyed a version.
  void Gone(const std::string& name, int64_t number) {
    {
      const std::lock_guard lock(mutex_);
      Version* version = FindVersion(name, number);
      CHECK(version != nullptr);
      version->alive -= 1;
      if (version->alive == 0 && version->status.state == State::kUnloading) {
        version->status.memory_bytes = 0;
        SetState(name, version, State::kEnd);
        Tidy(name, &models_[name]);
        Publish();
      }
    }
    changed_.notify_all();
    Tell();
  }

  // The version to load next: models that cannot answer yet come first, new versions before old ones. Without one, `again`
  // is when a retry is due.
  std::pair<std::string, Version*> Next(SteadyTime now, SteadyTime* again) {
    std::pair<std::string, Version*> best{"", nullptr};
    bool best_is_urgent = false;
    for (auto& [name, model] : models_) {
      const bool urgent = !HasAvailable(model);
      for (auto version = model.versions.rbegin(); version != model.versions.rend(); ++version) {
        if (!version->second.wanted || version->second.status.state != State::kStart) continue;
        if (version->second.retry_at > now) {
          *again = std::min(*again, version->second.retry_at);
        } else if (best.second == nullptr || (urgent && !best_is_urgent)) {
          best = {name, &version->second};
          best_is_urgent = urgent;
        }
      }
    }
    return best;
  }

  void LoadForever() {
    LowerPriority();
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      SteadyTime again = SteadyTime::max();
      const auto [name, version] = Next(std::chrono::steady_clock::now(), &again);
      if (version == nullptr && again == SteadyTime::max()) {
        changed_.wait(lock);
      } else if (version == nullptr) {
        changed_.wait_until(lock, again);
      } else {
        const LoadWork work = Begin(name, version);
        lock.unlock();
        Load(work);
        lock.lock();
      }
    }
  }

  LoadWork Begin(const std::string& name, Version* version) {
    const Wanted& wanted = models_[name].wanted;
    version->from = wanted.base_path;
    SetState(name, version, State::kLoading);
    return {name, version->status.version, wanted.base_path, options_.tags, wanted.warm_up, options_.warm_up_iterations};
  }

  void Load(const LoadWork& work) {
    Tell();
    auto loaded = LoadVersion(engine_, gate_, work, [&] {
      {
        const std::lock_guard lock(mutex_);
        SetState(work.model, FindVersion(work.model, work.version), State::kWarming);
      }
      Tell();
    });
    {
      const std::lock_guard lock(mutex_);
      Settle(work, std::move(loaded));
      Tidy(work.model, &models_[work.model]);
      Publish();
    }
    changed_.notify_all();
    Tell();
  }

  void Settle(const LoadWork& work, Result<Loaded> loaded) {
    Version* version = FindVersion(work.model, work.version);
    CHECK(version != nullptr);
    if (loaded) {
      version->status.memory_bytes = loaded->model->memory_bytes();
      version->status.digest = loaded->digest;
      version->status.error = {Code::kOk, ""};
      version->ready = MakeReady(models_[work.model], version, std::move(loaded->model));
      return SetState(work.model, version, State::kAvailable);
    }
    const bool known = version->status.error == loaded.error();
    version->status.error = std::move(loaded.error());
    const Error& error = version->status.error;
    if (!known) spdlog::warn("model \"{}\" version {} does not load: {}", work.model, work.version, ToString(error));
    const bool copied = error.code == Code::kUnavailable;
    if (!copied) version->failures += 1;
    const bool retries = copied || (error.code != Code::kUnimplemented && version->failures <= options_.load_retries_max);
    const auto interval = copied ? options_.copy_retry_interval : options_.load_retry_interval;
    version->retry_at = std::chrono::steady_clock::now() + interval;
    SetState(work.model, version, retries ? State::kStart : State::kFailed);
  }

  engine::Engine& engine_;
  batching::Admission& admission_;
  const Options options_;
  const LoadGate gate_;
  const OnChange on_change_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool applied_ = false;
  bool telling_ = false;
  std::map<std::string, Model> models_;
  std::deque<std::pair<std::string, VersionStatus>> changes_;  // Not told yet.

  mutable std::mutex snapshot_mutex_;                          // Last in the order of locks.
  std::shared_ptr<const Snapshot> snapshot_ = std::make_shared<Snapshot>();

  std::vector<std::thread> threads_;
  Reaper reaper_;                                              // Ends first: its thread calls Gone.
};

ModelStore::ModelStore(engine::Engine& engine, batching::Admission& admission, Options options, LoadGate gate,
                       OnChange on_change)
    : impl_(std::make_unique<Impl>(engine, admission, std::move(options), std::move(gate), std::move(on_change))) {}

ModelStore::~ModelStore() = default;

void ModelStore::Apply(std::vector<Wanted> all) { impl_->Apply(std::move(all)); }
void ModelStore::Retry(const std::string& name, int64_t version) { impl_->Retry(name, version); }
std::vector<VersionStatus> ModelStore::Statuses(const std::string& name) const { return impl_->Statuses(name); }
std::vector<std::string> ModelStore::Names() const { return impl_->Names(); }
bool ModelStore::AllAvailable() const { return impl_->AllAvailable(); }
int64_t ModelStore::memory_bytes() const { return impl_->memory_bytes(); }

Result<Handle> ModelStore::Find(const std::string& name) const {
  const auto snapshot = impl_->snapshot();
  const auto model = snapshot->find(name);
  if (model == snapshot->end() || model->second.versions.empty()) {
    return NotFound("Servable not found for request: Latest({})", name);
  }
  return model->second.versions.rbegin()->second;
}

Result<Handle> ModelStore::Find(const std::string& name, int64_t version) const {
  const auto snapshot = impl_->snapshot();
  const auto model = snapshot->find(name);
  if (model != snapshot->end()) {
    const auto found = model->second.versions.find(version);
    if (found != model->second.versions.end()) return found->second;
  }
  return NotFound("Servable not found for request: Specific({}, {})", name, version);
}

Result<Handle> ModelStore::FindLabel(const std::string& name, const std::string& label) const {
  const auto snapshot = impl_->snapshot();
  const auto model = snapshot->find(name);
  if (model == snapshot->end() || model->second.labels.count(label) == 0) {
    return InvalidArgument("Unrecognized servable version label: {}", label);
  }
  return Find(name, model->second.labels.at(label));
}

}  // namespace longshore::models

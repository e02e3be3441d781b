#include "serving-node/models/version_book.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/os/log.h"

namespace longshore::models {
namespace {

// The free memory if there is no limit: more than all versions need, and far enough from the largest number for sums.
constexpr int64_t kUnlimitedBytes = std::numeric_limits<int64_t>::max() / 2;

bool IsSettled(State state) { return state == State::kAvailable || state == State::kFailed; }

}  // namespace

bool VersionBook::Model::HasAvailable() const {
  return std::ranges::any_of(versions, [](const auto& version) { return version.second.ready != nullptr; });
}

bool VersionBook::Model::IsUnloading() const {
  return std::ranges::any_of(versions,
                             [](const auto& version) { return version.second.alive > 0 && !version.second.ready; });
}

bool VersionBook::Model::HasEnded() const {
  return std::ranges::all_of(versions, [](const auto& version) { return version.second.status.state == State::kEnd; });
}

// Whether unwanted versions may be unloaded. If the model has wanted versions, then without unload_first they may only
// when every wanted version is available or failed and at least one is available, or with unload_for_memory lacks
// memory.
bool VersionBook::MayUnloadUnwanted(const Model& model) const {
  if (rules_.unload_first || !model.is_wanted || model.wanted.versions.empty()) return true;
  bool may = false;
  for (const auto& [number, version] : model.versions) {
    if (!version.wanted) continue;
    if (!IsSettled(version.status.state)) return false;
    may |= version.status.state == State::kAvailable;
    may |= rules_.unload_for_memory && version.status.memory_shortage;
  }
  return may;
}

void VersionBook::Apply(std::vector<Wanted> all) {
  applied_ = true;
  for (auto& [name, model] : models_) {
    model.is_wanted = false;
    for (auto& [number, version] : model.versions) version.wanted = false;
  }
  for (Wanted& wanted : all) Want(std::move(wanted));
  for (auto& [name, model] : models_) {
    for (auto& [number, version] : model.versions) {
      if (!version.wanted) version.lacking_bytes = 0;
    }
    Advance(name, &model);
  }
  RetryVersionsThatFit();
  MakeRoom();
  ForgetEnded();
}

void VersionBook::Retry(const std::string& name, int64_t number) {
  const auto model = models_.find(name);
  if (model == models_.end() || !model->second.versions.contains(number)) return;
  Version& version = model->second.versions.at(number);
  const bool waits = version.status.state == State::kStart && version.status.error.code != Code::kOk;
  if (version.wanted && (waits || version.status.state == State::kFailed)) Restart(name, &version);
}

VersionBook::Next VersionBook::FindNext(SteadyTime now) const {
  Next best;
  best.again = SteadyTime::max();
  int best_rank = 0;
  for (const auto& [name, model] : models_) {
    const int rank_in_model = model.HasAvailable() ? 1 : 2;
    if (rules_.unload_first && model.IsUnloading()) continue;
    for (auto it = model.versions.rbegin(); it != model.versions.rend(); ++it) {
      const auto& [number, version] = *it;
      if (!version.wanted || version.status.state != State::kStart) continue;
      const int rank = model.GivesWay(number) ? 0 : rank_in_model;
      if (version.retry_at > now) {
        best.again = std::min(best.again, version.retry_at);
      } else if (best.wanted == nullptr || rank > best_rank) {
        best = {name, number, &model.wanted, best.again};
        best_rank = rank;
      }
    }
  }
  return best;
}

void VersionBook::Begin(const std::string& name, int64_t number) {
  Version& version = At(name, number);
  version.from = models_.at(name).wanted.BasePathOf(number);
  version.status.base_path = version.from;
  version.status.memory_shortage.reset();  // Reserve sets it if there is not enough memory for this load.
  SetState(name, &version, State::kLoading);
}

int64_t VersionBook::FreeBytes() const {
  if (rules_.memory_bytes_max == 0) return kUnlimitedBytes;
  int64_t free = rules_.memory_bytes_max;
  for (const auto& [name, model] : models_) {
    for (const auto& [number, version] : model.versions) free -= version.reserved_bytes;
  }
  return free;
}

// The memory for which versions wait that do not give way. Those that would not fit even without the versions that give
// way do not count.
int64_t VersionBook::AwaitedBytes() const {
  int64_t free_without = rules_.memory_bytes_max;
  for (const auto& [name, model] : models_) {
    for (const auto& [number, version] : model.versions) {
      if (!model.GivesWay(number)) free_without -= version.reserved_bytes;
    }
  }
  int64_t awaited = 0;
  for (const auto& [name, model] : models_) {
    for (const auto& [number, version] : model.versions) {
      const bool waits = version.wanted && !model.GivesWay(number) && version.lacking_bytes <= free_without;
      if (waits) awaited += version.lacking_bytes;
    }
  }
  return awaited;
}

int64_t VersionBook::FreeFor(const Model& model, int64_t number) const {
  const auto gives_way = model.wanted.giving_way.find(number);
  if (gives_way == model.wanted.giving_way.end()) return FreeBytes();
  const int64_t free = FreeBytes() - AwaitedBytes();
  const int64_t limit = gives_way->second.memory_bytes_max;
  return limit == 0 ? free : std::min(free, limit);
}

Status VersionBook::Reserve(const std::string& name, int64_t number, int64_t bytes) {
  Version& version = At(name, number);
  const int64_t free = FreeFor(models_.at(name), number);
  const bool fits = bytes <= free;
  version.reserved_bytes = fits ? bytes : 0;
  version.lacking_bytes = fits ? 0 : bytes;
  if (fits) return {};
  const auto& giving_way = models_.at(name).wanted.giving_way;
  const auto gives_way = giving_way.find(number);
  const int64_t limit = gives_way == giving_way.end() ? 0 : gives_way->second.memory_bytes_max;
  const bool by_own_limit = limit > 0 && bytes > limit;
  version.status.memory_shortage =
      MemoryShortage{.needed_bytes = bytes, .free_bytes = std::max<int64_t>(free, 0), .by_own_limit = by_own_limit};
  if (by_own_limit) {
    return ResourceExhausted("model \"{}\" version {} needs about {} bytes of memory, and its own limit is {} bytes",
                             name, number, bytes, limit);
  }
  if (gives_way != giving_way.end()) {
    return ResourceExhausted(
        "model \"{}\" version {} needs about {} bytes of memory; of the limit of {} bytes, {} are free for versions "
        "that "
        "get no share of the requests yet",
        name, number, bytes, rules_.memory_bytes_max, std::max<int64_t>(free, 0));
  }
  return ResourceExhausted(
      "model \"{}\" version {} needs about {} bytes of memory; of the limit of {} bytes, {} are reserved", name, number,
      bytes, rules_.memory_bytes_max, rules_.memory_bytes_max - FreeBytes());
}

// Unloads as many versions that give way as those that wait for memory and do not give way need: the smallest that
// suffices, otherwise the largest ones. Memory that is being freed already counts as free.
void VersionBook::MakeRoom() {
  int64_t missing = AwaitedBytes() - FreeBytes();
  for (const auto& [name, model] : models_) {
    for (const auto& [number, version] : model.versions) {
      if (version.status.state == State::kUnloading) missing -= version.reserved_bytes;
    }
  }
  while (missing > 0) {
    const auto [name, version] = VersionThatGivesWay(missing);
    if (version == nullptr) return;
    missing -= version->reserved_bytes;
    Unload(name, version);
  }
}

// Returns the loaded version to unload if this much memory is missing, with its model; nullptr if there is none.
std::pair<std::string, VersionBook::Version*> VersionBook::VersionThatGivesWay(int64_t missing) {
  std::pair<std::string, Version*> best{"", nullptr};
  for (auto& [name, model] : models_) {
    for (auto& [number, version] : model.versions) {
      if (!model.GivesWay(number) || version.ready == nullptr) continue;
      const bool fewer = best.second != nullptr && version.reserved_bytes < best.second->reserved_bytes;
      const bool suffices = version.reserved_bytes >= missing;
      const bool best_suffices = best.second != nullptr && best.second->reserved_bytes >= missing;
      if (best.second == nullptr || (best_suffices ? suffices && fewer : !fewer)) best = {name, &version};
    }
  }
  return best;
}

void VersionBook::BeginWarmUp(const std::string& name, int64_t number) {
  SetState(name, &At(name, number), State::kWarming);
}

void VersionBook::FinishLoad(const std::string& name, int64_t number, Result<Loaded> loaded, SteadyTime now) {
  Version& version = At(name, number);
  if (loaded) {
    version.status.memory_bytes = loaded->model->memory_bytes();
    version.status.digest = loaded->digest;
    version.status.error = {Code::kOk, ""};
    version.own_batching = std::move(loaded->batching);
    version.ready = make_ready_(name, number, std::move(loaded->model),
                                version.own_batching.value_or(models_.at(name).wanted.batching));
    version.alive += 1;
    SetState(name, &version, State::kAvailable);
  } else {
    const int64_t held = std::exchange(version.reserved_bytes, 0);
    NoteFailure(name, &version, std::move(loaded.error()), now);
    // A version that is loaded again soon keeps its claim: a version that gives way would take the memory, and would
    // have to be unloaded again.
    if (!version.status.memory_shortage && (held > 0 || version.status.state == State::kFailed))
      version.lacking_bytes = version.status.state == State::kStart ? held : 0;
    RetryVersionsThatFit();
  }
  Advance(name, &models_.at(name));
  MakeRoom();
}

void VersionBook::NoteFailure(const std::string& name, Version* version, Error error, SteadyTime now) {
  if (version->status.error != error) {
    spdlog::warn("model \"{}\" version {} failed to load: {}", name, version->status.version, ToString(error));
  }
  // A version that is still being copied; this is not counted as a failure.
  const bool copied = error.code == Code::kUnavailable;
  if (!copied) version->failures += 1;
  const bool retries = copied || (error.code != Code::kUnimplemented && version->failures <= rules_.retries_max);
  version->retry_at = now + (copied ? rules_.copy_interval : rules_.interval);
  version->status.error = std::move(error);
  SetState(name, version, retries ? State::kStart : State::kFailed);
}

void VersionBook::Gone(const std::string& name, int64_t number) {
  Version& version = At(name, number);
  version.alive -= 1;
  if (version.alive > 0 || version.status.state != State::kUnloading) return;
  version.status.memory_bytes = 0;
  version.reserved_bytes = 0;
  SetState(name, &version, State::kEnd);
  RetryVersionsThatFit();
  MakeRoom();
  Advance(name, &models_.at(name));
}

// Restarts the loads that failed for lack of memory and fit now, including those that have no retries left. A version
// that got its memory and failed for another reason has no shortage, so it is not restarted in a loop.
void VersionBook::RetryVersionsThatFit() {
  for (auto& [name, model] : models_) {
    for (auto& [number, version] : model.versions) {
      const bool waits = version.status.state == State::kStart || version.status.state == State::kFailed;
      const auto& shortage = version.status.memory_shortage;
      if (!version.wanted || !waits || !shortage || shortage->needed_bytes > FreeFor(model, number)) continue;
      version.retry_at = {};
      if (version.status.state == State::kFailed) SetState(name, &version, State::kStart);
    }
  }
}

ReadyModels VersionBook::Ready() const {
  ReadyModels all;
  for (const auto& [name, model] : models_) {
    ReadyVersions& ready = all[name];
    for (const auto& [number, version] : model.versions) {
      if (version.ready != nullptr) ready.versions[number] = version.ready;
    }
    if (model.is_wanted) ready.labels = model.wanted.labels;
  }
  return all;
}

std::vector<VersionStatus> VersionBook::Statuses(const std::string& name) const {
  std::vector<VersionStatus> statuses;
  const auto model = models_.find(name);
  if (model == models_.end()) return statuses;
  for (const auto& [number, version] : model->second.versions) statuses.push_back(version.status);
  std::ranges::reverse(statuses);
  return statuses;
}

std::vector<std::string> VersionBook::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, model] : models_) {
    if (model.is_wanted) names.push_back(name);
  }
  return names;
}

bool VersionBook::AllAvailable() const {
  return applied_ && std::ranges::all_of(models_, [](const auto& named) {
           const Model& model = named.second;
           return !model.is_wanted || model.wanted.versions.empty() || model.HasAvailable();
         });
}

bool VersionBook::IsEmpty() const {
  return std::ranges::all_of(models_, [](const auto& model) { return model.second.HasEnded(); });
}

int64_t VersionBook::memory_bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, model] : models_) {
    for (const auto& [number, version] : model.versions) bytes += version.status.memory_bytes;
  }
  return bytes;
}

VersionBook::Version& VersionBook::At(const std::string& name, int64_t number) {
  const auto model = models_.find(name);
  CHECK(model != models_.end());
  const auto version = model->second.versions.find(number);
  CHECK(version != model->second.versions.end());
  return version->second;
}

void VersionBook::Want(Wanted wanted) {
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

void VersionBook::SetState(const std::string& name, Version* version, State state) {
  version->status.state = state;
  changes_.emplace_back(name, version->status);
}

void VersionBook::Restart(const std::string& name, Version* version) {
  version->failures = 0;
  version->status.memory_shortage.reset();
  version->retry_at = {};
  version->status.error = {Code::kOk, ""};
  SetState(name, version, State::kStart);
}

// Moves every version one step towards the wanted state, except for loading, which the caller of FindNext does.
void VersionBook::Advance(const std::string& name, Model* model) {
  const bool may_unload = MayUnloadUnwanted(*model);
  for (auto& [number, version] : model->versions) {
    const State state = version.status.state;
    const bool moved = version.from != model->wanted.BasePathOf(number);
    if (version.wanted) {
      if (state == State::kEnd || (state == State::kFailed && moved)) Restart(name, &version);
      if (state == State::kAvailable && moved) Unload(name, &version);
      if (state == State::kAvailable && !moved) UseBatching(*model, &version);
    } else if (state == State::kStart || state == State::kFailed) {
      SetState(name, &version, State::kEnd);
    } else if (state == State::kAvailable && may_unload) {
      Unload(name, &version);
    }
  }
  for (auto it = model->versions.begin(); it != model->versions.end() && model->versions.size() > kEndedMax;) {
    it = it->second.status.state == State::kEnd ? model->versions.erase(it) : std::next(it);
  }
}

void VersionBook::Unload(const std::string& name, Version* version) {
  SetState(name, version, State::kUnloading);
  version->ready.reset();
}

void VersionBook::UseBatching(const Model& model, Version* version) {
  if (version->own_batching || version->ready->queue->options() == model.wanted.batching) return;
  version->ready =
      make_ready_(model.wanted.name, version->status.version, version->ready->loaded, model.wanted.batching);
  version->alive += 1;
}

void VersionBook::ForgetEnded() {
  for (auto it = models_.begin(); it != models_.end() && models_.size() > kEndedModelsMax;) {
    it = !it->second.is_wanted && it->second.HasEnded() ? models_.erase(it) : std::next(it);
  }
}

}  // namespace longshore::models

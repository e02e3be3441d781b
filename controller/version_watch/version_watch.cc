#include "controller/version_watch/version_watch.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "common/os/log.h"
#include "controller/api/sentences.h"
#include "controller/version_watch/comparison.h"

namespace longshore::version_watch {
namespace {

// Whether the version would be tried again if its files changed.
bool AwaitsFiles(const api::Model& model, const api::FailedVersion& failed) {
  return failed.generation == model.metadata.generation && model.spec.source_sha256.empty() &&
         !api::IsByAPerson(failed.reason);
}

// A golden set counts only for versions that failed with it.
std::vector<Failed> FilesOf(const api::Model& model) {
  constexpr std::string_view kFolder = "file://";
  constexpr const char* kFailedGoldenSet = "GoldenSet";
  if (!model.spec.source_uri.starts_with(kFolder)) return {};
  const Path base = model.spec.source_uri.substr(kFolder.size());
  const std::string& golden_set = model.spec.validation.golden_set;
  std::vector<Failed> files;
  for (const api::FailedVersion& failed : model.status.failed) {
    if (!AwaitsFiles(model, failed)) continue;
    files.push_back({{base, failed.version}, failed.at, failed.digest});
    if (failed.reason == kFailedGoldenSet && !golden_set.empty())
      files.push_back({{base, failed.version, golden_set}, failed.at});
  }
  return files;
}

}  // namespace

struct VersionWatch::Watched {
  const api::Key model;
  Comparison comparison;      // Belongs to the thread that looks at the files.
  bool is_forgotten = false;  // This field and the next one are guarded by the state's mutex.
  bool has_other_files = false;
};

struct VersionWatch::State {
  const Options options;
  const Reader reader;
  const std::function<void(const api::Key&)> on_change;
  std::atomic<bool> stopping{false};
  std::mutex mutex{};
  std::condition_variable changed{};
  // The mutex guards the next members.
  std::map<api::Key, std::vector<std::shared_ptr<Watched>>> models{};
  // When each of them is looked at next, without those that a thread looks at now. Includes forgotten ones.
  std::multimap<std::chrono::steady_clock::time_point, std::shared_ptr<Watched>> due{};
  // Key: a base folder that a thread reads now. Value: what has become due in it meanwhile. So a folder that hangs
  // occupies one thread only.
  std::map<Path, std::vector<std::shared_ptr<Watched>>> in_use{};
  size_t running = 0;
};

VersionWatch::VersionWatch(Options options, Reader reader, std::function<void(const api::Key&)> on_change)
    : state_(new State{options, std::move(reader), std::move(on_change)}) {
  state_->running = options.threads;
  for (size_t i = 0; i < options.threads; ++i) threads_.emplace_back([state = state_] { Work(state); });
}

VersionWatch::~VersionWatch() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  const bool have_ended =
      state_->changed.wait_for(lock, state_->options.stop_max, [&] { return state_->running == 0; });
  if (!have_ended) spdlog::warn("a folder with versions of a model hangs; the controller does not wait for it");
  lock.unlock();
  for (std::thread& thread : threads_) have_ended ? thread.join() : thread.detach();
}

std::set<int64_t> VersionWatch::Watch(const api::Model& model) {
  const api::Key key{api::kModelKind, model.metadata.namespace_, model.metadata.name};
  const std::vector<Failed> files = FilesOf(model);
  const std::lock_guard lock(state_->mutex);
  std::vector<std::shared_ptr<Watched>>& watched = state_->models[key];
  std::erase_if(watched, [&](const std::shared_ptr<Watched>& one) {
    one->is_forgotten = std::ranges::find(files, one->comparison.failed()) == files.end();
    return one->is_forgotten;
  });
  for (const Failed& failed : files) {
    const auto is_it = [&](const std::shared_ptr<Watched>& one) { return one->comparison.failed() == failed; };
    if (std::ranges::any_of(watched, is_it)) continue;
    watched.push_back(std::make_shared<Watched>(Watched{key, Comparison(failed)}));
    state_->due.emplace(std::chrono::steady_clock::now(), watched.back());
    state_->changed.notify_one();
  }
  std::set<int64_t> versions;
  for (const auto& one : watched) {
    if (one->has_other_files) versions.insert(one->comparison.failed().place.version);
  }
  if (watched.empty()) state_->models.erase(key);
  return versions;
}

void VersionWatch::Forget(const api::Key& model) {
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->models.find(model);
  if (known == state_->models.end()) return;
  for (const auto& one : known->second) one->is_forgotten = true;
  state_->models.erase(known);
}

void VersionWatch::Work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (!state->stopping) {
    const auto now = std::chrono::steady_clock::now();
    const auto next = state->due.begin();
    if (next == state->due.end()) {
      state->changed.wait(lock);
    } else if (next->first > now && !next->second->is_forgotten) {
      const auto at = next->first;  // A copy, because another thread may remove the entry meanwhile.
      state->changed.wait_until(lock, at);
    } else {
      const std::shared_ptr<Watched> watched = state->due.extract(next).mapped();
      if (watched->is_forgotten) continue;
      const auto [use, is_free] = state->in_use.try_emplace(watched->comparison.failed().place.base);
      if (is_free) {
        LookAt(*state, watched, lock);
      } else {
        use->second.push_back(watched);
      }
    }
  }
  --state->running;
  state->changed.notify_all();
}

// Requires that the lock is held; releases it while the files are read.
void VersionWatch::LookAt(State& state, const std::shared_ptr<Watched>& watched, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const std::optional<bool> is_other = watched->comparison.LookAgain(state.reader, state.stopping);
  lock.lock();
  const auto now = std::chrono::steady_clock::now();
  const auto waiting = state.in_use.extract(watched->comparison.failed().place.base);
  for (const std::shared_ptr<Watched>& one : waiting.mapped()) state.due.emplace(now, one);
  state.due.emplace(now + state.options.interval, watched);
  state.changed.notify_all();
  const bool has_become_other = is_other.value_or(false) && !watched->has_other_files;
  watched->has_other_files = is_other.value_or(watched->has_other_files);
  if (has_become_other && !watched->is_forgotten && !state.stopping) state.on_change(watched->model);
}

}  // namespace longshore::version_watch

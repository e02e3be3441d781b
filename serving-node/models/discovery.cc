#include "serving-node/models/discovery.h"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "common/os/log.h"
#include "common/version_files/folder.h"
#include "serving-node/models/files.h"

namespace longshore::models {
namespace {

namespace fs = std::filesystem;

// The longest time between two polls while a version is being copied.
constexpr std::chrono::milliseconds kCopyingPollInterval{1000};

// Returns the lowest number of ticks into which the interval can be divided if none may exceed kCopyingPollInterval.
int64_t TicksIn(std::chrono::milliseconds interval) {
  return std::max<int64_t>(1, (interval.count() + kCopyingPollInterval.count() - 1) / kCopyingPollInterval.count());
}

bool IsQuiet(const FileState& state, std::chrono::milliseconds quiet) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::nanoseconds(state.newest_change_ns) >= quiet;
}

// Returns the number of shards that a file name contains: 2 for "variables.data-00000-of-00002".
std::optional<int> ShardsOf(const std::string& name) {
  constexpr std::string_view kPrefix = "variables.data-";
  const size_t of = name.find("-of-");
  if (name.compare(0, kPrefix.size(), kPrefix) != 0 || of == std::string::npos) return std::nullopt;
  int shards = 0;
  std::from_chars(name.data() + of + 4, name.data() + name.size(), shards);
  return shards;
}

std::vector<int64_t> Choose(const VersionPolicy& policy, const std::vector<int64_t>& versions) {
  if (policy.kind == VersionPolicy::Kind::kAll) return versions;
  if (policy.kind == VersionPolicy::Kind::kLatest) {
    const auto count = std::min(versions.size(), static_cast<size_t>(std::max(policy.latest, 0)));
    return {versions.end() - static_cast<std::ptrdiff_t>(count), versions.end()};
  }
  std::vector<int64_t> chosen;
  for (const int64_t version : versions) {
    const auto& wanted = policy.specific;
    if (std::find(wanted.begin(), wanted.end(), version) != wanted.end()) chosen.push_back(version);
  }
  return chosen;
}

}  // namespace

Status CheckComplete(const Path& version_dir) {
  std::error_code error;
  const std::string dir = version_dir.string();
  if (!fs::exists(version_dir / "saved_model.pb", error)) return FailedPrecondition("no saved_model.pb in {}", dir);
  const Path variables = version_dir / "variables";
  if (!fs::exists(variables, error)) return {};
  int shards_found = 0;
  int shards = 0;
  for (fs::directory_iterator it(variables, error), end; !error && it != end; it.increment(error)) {
    if (const auto of = ShardsOf(it->path().filename())) {
      ++shards_found;
      shards = *of;
    }
  }
  const bool indexed = fs::exists(variables / "variables.index", error);
  if (!indexed && shards_found > 0)
    return FailedPrecondition("variables.data files without variables.index in {}/variables", dir);
  if (indexed && shards_found == 0)
    return FailedPrecondition("variables.index without variables.data files in {}/variables", dir);
  if (shards_found < shards) {
    return FailedPrecondition("only {} of {} variables.data files exist in {}/variables", shards_found, shards, dir);
  }
  return {};
}

Discovery::Discovery(Options options, ApplyFunction apply)
    : options_(options), apply_(std::move(apply)), ticks_per_poll_(TicksIn(options.poll_interval)) {
  if (options_.poll_interval.count() < 0) return;
  const bool once = options_.poll_interval.count() == 0;
  const auto tick = once ? kCopyingPollInterval : options_.poll_interval / ticks_per_poll_;
  ticker_.emplace(tick, [this] { PollIfDue(); });
}

void Discovery::SetSources(std::vector<ModelSource> sources) {
  {
    const std::lock_guard lock(mutex_);
    sources_ = std::move(sources);
  }
  Poll();
}

void Discovery::Poll() {
  const std::lock_guard poll(poll_mutex_);
  std::vector<ModelSource> sources;
  {
    const std::lock_guard lock(mutex_);
    sources = sources_;
  }
  PollResult result;
  std::vector<Wanted> all;
  for (const ModelSource& source : sources) all.push_back(Observe(source, &result));
  applied_.clear();
  for (const Wanted& wanted : all) applied_[wanted.name] = wanted.versions;
  seen_ = std::move(result.seen);
  apply_(std::move(all));
  for (const auto& [model, version] : result.rewritten) options_.retry(model, version);
  // Called only after apply_, so that every version is visible at any time: as waiting here, or with a status in the
  // store.
  SetWaiting(std::move(result.waiting));
}

void Discovery::SetWaiting(std::vector<Waiting> waiting) {
  const std::lock_guard lock(mutex_);
  for (const Waiting& one : waiting) {
    if (std::ranges::find(waiting_, one) != waiting_.end()) continue;
    const std::string what = one.version ? fmt::format(" version {} is not loaded yet", *one.version) : "";
    spdlog::warn("model \"{}\"{}: {}", one.model, what, one.reason);
  }
  waiting_ = std::move(waiting);
}

Wanted Discovery::Observe(const ModelSource& source, PollResult* result) {
  Wanted wanted{source.name, source.base_path, {}, source.labels, source.batching, source.warm_up};
  auto versions = version_files::ListVersions(source.base_path);
  if (!versions) {
    result->waiting.push_back({source.name, std::nullopt, versions.error().message});
    wanted.versions = applied_[source.name];
    for (const int64_t version : wanted.versions) {
      const VersionKey key{source.name, version};
      result->seen[key] = seen_[key];
    }
    return wanted;
  }
  if (versions->empty()) {
    const Status checked = version_files::CheckBasePath(source.base_path);
    result->waiting.push_back(
        {source.name, std::nullopt, checked ? "no version in " + source.base_path.string() : checked.error().message});
  }
  std::erase_if(*versions, [&](int64_t version) { return !IsSettled(source, version, result); });
  wanted.versions = Choose(source.policy, *versions);
  return wanted;
}

bool Discovery::IsSettled(const ModelSource& source, int64_t version, PollResult* result) {
  Observation& seen = result->seen[{source.name, version}] = seen_[{source.name, version}];
  if (seen.settled) {
    CheckRewritten(source, version, &seen, result);
    return true;
  }
  const auto wait = [&](std::string reason, bool settles = false) {
    result->waiting.push_back({source.name, version, std::move(reason), settles});
    return false;
  };
  const auto dir = version_files::FindVersionDir(source.base_path, version);
  if (!dir) return wait(dir.error().message);
  if (auto complete = CheckComplete(*dir); !complete) return wait(complete.error().message);
  const auto state = InspectFiles(*dir);
  if (!state) return wait(state.error().message);
  seen.settled = IsQuiet(*state, options_.quiet) || seen.files == state->files;
  seen.files = state->files;
  return seen.settled || wait(dir->string() + " is still being written", true);
}

// If the version failed to load and its files have changed since, adds it to `rewritten`, because it may have failed
// only because a pause in copying was mistaken for the end of the copying.
void Discovery::CheckRewritten(const ModelSource& source, int64_t version, Observation* seen, PollResult* result) {
  if (!options_.failed || !options_.failed(source.name, version)) return;
  const auto dir = version_files::FindVersionDir(source.base_path, version);
  if (!dir) return;
  const auto state = InspectFiles(*dir);
  if (!state || state->files == seen->files) return;
  seen->files = state->files;
  result->rewritten.emplace_back(source.name, version);
}

void Discovery::PollIfDue() {
  {
    const std::lock_guard lock(mutex_);
    const bool copying =
        std::any_of(waiting_.begin(), waiting_.end(), [](const auto& one) { return one.version.has_value(); });
    const bool due = options_.poll_interval.count() > 0 && ++ticks_ % ticks_per_poll_ == 0;
    if (sources_.empty() || !(due || copying)) return;
  }
  Poll();
}

std::vector<Waiting> Discovery::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace longshore::models

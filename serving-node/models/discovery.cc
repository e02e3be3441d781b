#include "serving-node/models/discovery.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "common/log.h"
#include "serving-node/models/model_store.h"

namespace longshore::models {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFilesMax = 100'000;

std::optional<int64_t> ParseVersion(const std::string& name) {
  int64_t version = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), version);
  if (error != std::errc{} || end != name.data() + name.size() || version < 0 || name.front() == '-')
    return std::nullopt;
  return version;
}

// A text that differs whenever a file below the directory was written, added or removed.
struct FileState {
  std::string files;
  int64_t newest_change_ns = 0;
};

Result<FileState> LookAt(const Path& version_dir) {
  FileState look;
  size_t files = 0;
  std::vector<Path> paths = {version_dir};
  std::error_code error;
  for (fs::recursive_directory_iterator it(version_dir, error), end; !error && it != end; it.increment(error)) {
    if (++files > kFilesMax) return ResourceExhausted("more than {} files in {}", kFilesMax, version_dir.string());
    paths.push_back(it->path());
  }
  if (error) return Unavailable("cannot list {}: {}", version_dir.string(), error.message());
  std::sort(paths.begin(), paths.end());
  for (const Path& path : paths) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return Unavailable("{} vanished meanwhile", path.string());
    const int64_t changed_ns = info.st_ctim.tv_sec * 1'000'000'000 + info.st_ctim.tv_nsec;
    look.newest_change_ns = std::max(look.newest_change_ns, changed_ns);
    look.files += fmt::format("{}:{}:{};", path.string(), static_cast<int64_t>(info.st_size), changed_ns);
  }
  return look;
}

bool IsQuiet(const FileState& look, std::chrono::milliseconds quiet) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::nanoseconds(look.newest_change_ns) >= quiet;
}

// "variables.data-00000-of-00002" -> 2.
std::optional<int> ShardsOf(const std::string& name) {
  constexpr std::string_view kPrefix = "variables.data-";
  const size_t of = name.find("-of-");
  if (name.compare(0, kPrefix.size(), kPrefix) != 0 || of == std::string::npos) return std::nullopt;
  int shards = 0;
  std::from_chars(name.data() + of + 4, name.data() + name.size(), shards);
  return shards;
}

// A link that leads nowhere, or to itself, is none.
bool IsDirectory(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_directory(error);
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

Result<std::vector<int64_t>> ListVersions(const Path& base_path) {
  std::error_code error;
  std::vector<int64_t> versions;
  for (fs::directory_iterator it(base_path, error), end; !error && it != end; it.increment(error)) {
    const auto version = ParseVersion(it->path().filename());
    if (version && IsDirectory(*it)) versions.push_back(*version);
  }
  if (error) return NotFound("Could not find base path {}: {}", base_path.string(), error.message());
  std::sort(versions.begin(), versions.end());
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
  return versions;
}

Result<Path> FindVersionDir(const Path& base_path, int64_t version) {
  std::error_code error;
  const Path plain = base_path / std::to_string(version);
  if (fs::is_directory(plain, error)) return plain;
  for (fs::directory_iterator it(base_path, error), end; !error && it != end; it.increment(error)) {
    if (ParseVersion(it->path().filename()) == version && IsDirectory(*it)) return it->path();
  }
  return NotFound("no directory of version {} in {}", version, base_path.string());
}

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
    return FailedPrecondition("no variables.index beside the data in {}/variables", dir);
  if (indexed && shards_found == 0) return FailedPrecondition("variables.index without data in {}/variables", dir);
  if (shards_found < shards) {
    return FailedPrecondition("{} of {} variables.data files in {}/variables", shards_found, shards, dir);
  }
  return {};
}

Discovery::Discovery(Options options, ApplyFunction apply) : options_(options), apply_(std::move(apply)) {
  const bool once = options_.poll_interval.count() == 0;
  const auto interval = once ? std::chrono::milliseconds(1000) : options_.poll_interval;
  if (interval.count() > 0) ticker_.emplace(interval, [this] { PollIfDue(); });
}

void Discovery::SetSources(std::vector<Source> sources) {
  {
    const std::lock_guard lock(mutex_);
    sources_ = std::move(sources);
  }
  Poll();
}

void Discovery::Poll() {
  const std::lock_guard poll(poll_mutex_);
  std::vector<Source> sources;
  {
    const std::lock_guard lock(mutex_);
    sources = sources_;
  }
  Seen seen;
  std::vector<Waiting> waiting;
  std::vector<Wanted> all;
  for (const Source& source : sources) all.push_back(Look(source, &seen, &waiting));
  given_.clear();
  for (const Wanted& wanted : all) given_[wanted.name] = wanted.versions;
  seen_ = std::move(seen);
  apply_(std::move(all));  // First: who no longer finds a version among the waiting finds it there.
  {
    const std::lock_guard lock(mutex_);
    const auto known = [this](const Waiting& one) {
      return std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& old) {
        return old.model == one.model && old.version == one.version && old.reason == one.reason;
      });
    };
    for (const Waiting& one : waiting) {
      if (!known(one)) spdlog::warn("model \"{}\" waits: {}", one.model, one.reason);
    }
    waiting_ = std::move(waiting);
  }
}

Wanted Discovery::Look(const Source& source, Seen* seen, std::vector<Waiting>* waiting) {
  Wanted wanted{source.name, source.base_path, {}, source.labels, source.batching, source.warm_up};
  auto versions = ListVersions(source.base_path);
  if (!versions) {
    waiting->push_back({source.name, std::nullopt, versions.error().message});
    wanted.versions = given_[source.name];
    for (const int64_t version : wanted.versions) (*seen)[{source.name, version}] = "";
    return wanted;
  }
  if (versions->empty()) {
    waiting->push_back({source.name, std::nullopt, "no version in " + source.base_path.string()});
  }
  std::erase_if(*versions, [&](int64_t version) { return !IsSettled(source, version, seen, waiting); });
  wanted.versions = Choose(source.policy, *versions);
  return wanted;
}

bool Discovery::IsSettled(const Source& source, int64_t version, Seen* seen, std::vector<Waiting>* waiting) {
  const VersionKey key{source.name, version};
  const auto before = seen_.find(key);
  if (before != seen_.end() && before->second.empty()) {
    (*seen)[key] = "";
    return true;
  }
  const auto wait = [&](std::string reason) {
    waiting->push_back({source.name, version, std::move(reason)});
    return false;
  };
  const auto dir = FindVersionDir(source.base_path, version);
  if (!dir) return wait(dir.error().message);
  if (auto complete = CheckComplete(*dir); !complete) return wait(complete.error().message);
  const auto look = LookAt(*dir);
  if (!look) return wait(look.error().message);
  if (IsQuiet(*look, options_.quiet) || (before != seen_.end() && before->second == look->files)) {
    (*seen)[key] = "";
    return true;
  }
  (*seen)[key] = look->files;
  return wait(dir->string() + " is still being written");
}

void Discovery::PollIfDue() {
  {
    const std::lock_guard lock(mutex_);
    const bool copying =
        std::any_of(waiting_.begin(), waiting_.end(), [](const auto& one) { return one.version.has_value(); });
    const bool once = options_.poll_interval.count() == 0;
    if (sources_.empty() || (once && !copying)) return;
  }
  Poll();
}

std::vector<Waiting> Discovery::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace longshore::models

#include "serving-node/sources/sources.h"

#include <algorithm>
#include <set>

#include "common/base/doubled_wait.h"
#include "common/os/log.h"
#include "common/os/process/background.h"

namespace longshore::sources {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kPercentStep = 5;

// Rounds down to two significant digits. The text goes into the status of the node; a text that changed with every byte
// would cause a status update for every byte.
std::string Megabytes(int64_t bytes) {
  const double mega = static_cast<double>(bytes) / 1e6;
  if (mega < 10) return fmt::format("{:.1f} MB", mega);
  double unit = 1;
  while (mega / unit >= 100) unit *= 10;
  return fmt::format("{:.0f} MB", static_cast<double>(static_cast<int64_t>(mega / unit)) * unit);
}

std::string Describe(const VersionSource& source, const Progress& progress) {
  const std::string what = fmt::format("{} {}", progress.doing, download::ShownUrl(source.uri));
  if (progress.total && *progress.total > 0) {
    const int64_t percent = progress.done * 100 / *progress.total;
    return fmt::format("{}: {} % of {}", what, percent - percent % kPercentStep, Megabytes(*progress.total));
  }
  return progress.done > 0 ? fmt::format("{}: {}", what, Megabytes(progress.done)) : what;
}

// True if another attempt would fail in the same way: the bytes have the expected SHA-256 but are not a valid archive.
bool IsFinal(const Error& error) { return error.code == Code::kInvalidArgument; }

}  // namespace

Result<std::unique_ptr<Sources>> Sources::Start(SourcesOptions options, Getter get) {
  ASSIGN_OR_RETURN(auto cache, Cache::Open(options.cache_dir, options.cache_bytes_max));
  options.request.bytes_max = options.cache_bytes_max;
  return std::unique_ptr<Sources>(new Sources(std::move(options), std::move(get), std::move(cache)));
}

Sources::Sources(SourcesOptions options, Getter get, std::unique_ptr<Cache> cache)
    : options_(std::move(options)), get_(std::move(get)), cache_(std::move(cache)) {}

Sources::~Sources() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Sources::Want(const std::vector<VersionSource>& all) {
  std::set<std::string> wanted;
  const std::lock_guard lock(mutex_);
  for (const VersionSource& source : all) {
    if (!IsArchive(source) || !IsSha256(source.sha256) || !wanted.insert(source.sha256).second) continue;
    const auto [found, is_new] = jobs_.try_emplace(source.sha256);
    Job& job = found->second;
    // After a failure, a new URL for the same bytes is tried at once.
    const bool moved = !is_new && job.source != source && job.status.state == SourceState::kFailed;
    job.source = source;
    job.wanted = true;
    if (is_new) job.status = {SourceState::kFetching, {}, Describe(source, {.doing = "fetching"})};
    if (moved) job.due = {};
  }
  for (auto& [sha256, job] : jobs_) job.wanted = wanted.contains(sha256);
  std::erase_if(jobs_, [](const auto& entry) { return !entry.second.wanted && !entry.second.working; });
  cache_->SetWanted(wanted);
  while (!wanted.empty() && threads_.size() < static_cast<size_t>(options_.fetches_max))
    threads_.emplace_back([this] { Work(); });
  changed_.notify_all();
}

void Sources::SetOnReady(std::function<void()> on_ready) {
  const std::lock_guard lock(on_ready_mutex_);
  on_ready_ = std::move(on_ready);
}

SourceStatus Sources::StatusOf(const VersionSource& source) const {
  if (!IsArchive(source)) {
    const auto folder = sources::FolderOf(source);
    return folder ? SourceStatus{SourceState::kReady, *folder, ""}
                  : SourceStatus{SourceState::kFailed, {}, folder.error().message};
  }
  if (!IsSha256(source.sha256)) {
    return {SourceState::kFailed,
            {},
            fmt::format("\"{}\" is not a valid SHA-256: 64 characters of 0-9 and a-f are needed", source.sha256)};
  }
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(source.sha256);
  if (job == jobs_.end()) return {SourceState::kFailed, {}, "no model of this node needs the archive"};
  return job->second.status;
}

Result<Path> Sources::FolderOf(const VersionSource& source) const {
  if (!IsArchive(source)) return sources::FolderOf(source);
  SourceStatus status = StatusOf(source);
  if (status.state != SourceState::kReady) return Unavailable("{}", status.message);
  return std::move(status.folder);
}

void Sources::Work() {
  process::RunInBackground();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    SteadyTime next = SteadyTime::max();
    Job* job = FindDue(steady_clock::now(), &next);
    if (job == nullptr) {
      next == SteadyTime::max() ? changed_.wait(lock) : static_cast<void>(changed_.wait_until(lock, next));
      continue;
    }
    job->working = true;
    const VersionSource source = job->source;
    lock.unlock();
    const Result<Path> folder = VerifyOrFetch(source);
    Finish(source.sha256, folder);
    lock.lock();
  }
}

// Returns a job that is due, preferably one whose archive is in the cache and only needs to be verified. If no job is
// due, returns null and sets `next` to the time when the next one is.
Sources::Job* Sources::FindDue(SteadyTime now, SteadyTime* next) {
  Job* due = nullptr;
  for (auto& [sha256, job] : jobs_) {
    if (job.working || !job.wanted || job.status.state == SourceState::kReady) continue;
    if (job.due > now) {
      *next = std::min(*next, job.due);
    } else if (due == nullptr || (cache_->Has(sha256) && !cache_->Has(due->source.sha256))) {
      due = &job;
    }
  }
  return due;
}

Result<Path> Sources::VerifyOrFetch(const VersionSource& source) {
  if (cache_->Has(source.sha256)) {
    NoteProgress(source.sha256, {.doing = "verifying the cached archive of"});
    auto folder = cache_->Verify(source.sha256);
    if (folder) return folder;
    spdlog::warn("{}; fetching it again", folder.error().message);
  }
  return Fetch(source, {.cache = *cache_,
                        .get = get_,
                        .request = options_.request,
                        .on_progress = [&](const Progress& progress) { NoteProgress(source.sha256, progress); },
                        .is_cancelled = [&] { return IsCancelled(source.sha256); }});
}

void Sources::Finish(const std::string& sha256, const Result<Path>& folder) {
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    Job& job = jobs_.at(sha256);
    job.working = false;
    ready = folder.has_value() && job.wanted;
    if (ready) {
      job.status = {SourceState::kReady, *folder, ""};
      spdlog::info("{} is ready in the cache", download::ShownUrl(job.source.uri));
    } else if (!job.wanted) {
      jobs_.erase(sha256);
    } else if (!stopping_) {
      NoteFailure(job, folder.error());
    }
  }
  changed_.notify_all();
  if (!ready) return;
  const std::lock_guard lock(on_ready_mutex_);
  if (on_ready_) on_ready_();
}

void Sources::NoteFailure(Job& job, const Error& error) {
  ++job.attempts;
  job.status = {SourceState::kFailed, {}, error.message};
  job.due = SteadyTime::max();
  if (!IsFinal(error)) {
    const milliseconds pause = DoubledWait(options_.backoff_min, options_.backoff_max, job.attempts - 1);
    job.due = steady_clock::now() + pause / 2 + milliseconds(random_() % static_cast<uint64_t>(pause.count() / 2 + 1));
    job.status.message += fmt::format(" (attempt {}, the next one within {:.3g} s)", job.attempts,
                                      std::chrono::duration<double>(pause).count());
  }
  spdlog::warn("{}", ForLog(job.status.message));
}

void Sources::NoteProgress(const std::string& sha256, const Progress& progress) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_.at(sha256);
  job.status = {SourceState::kFetching, {}, Describe(job.source, progress)};
}

bool Sources::IsCancelled(const std::string& sha256) const {
  const std::lock_guard lock(mutex_);
  return stopping_ || !jobs_.at(sha256).wanted;
}

}  // namespace longshore::sources

#include "serving-node/sources/sources.h"

#include <algorithm>
#include <set>

#include "common/log.h"
#include "common/process/background.h"

namespace longshore::sources {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kPercentStep = 5;

// Two digits that count: a message that is another one for each byte would be written down for each byte.
std::string Megabytes(int64_t bytes) {
  const double mega = static_cast<double>(bytes) / 1e6;
  if (mega < 10) return fmt::format("{:.1f} MB", mega);
  double unit = 1;
  while (mega / unit >= 100) unit *= 10;
  return fmt::format("{:.0f} MB", static_cast<double>(static_cast<int64_t>(mega / unit)) * unit);
}

std::string Words(const Source& source, const Progress& progress) {
  const std::string what = fmt::format("{} {}", progress.doing, download::ShownUrl(source.uri));
  if (progress.total && *progress.total > 0) {
    const int64_t percent = progress.done * 100 / *progress.total;
    return fmt::format("{}: {} % of {}", what, percent - percent % kPercentStep, Megabytes(*progress.total));
  }
  return progress.done > 0 ? fmt::format("{}: {}", what, Megabytes(progress.done)) : what;
}

// Bytes that are right and hold no archive will never hold one.
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

void Sources::Want(const std::vector<Source>& all) {
  std::set<std::string> wanted;
  const std::lock_guard lock(mutex_);
  for (const Source& source : all) {
    if (!IsArchive(source) || !IsSha256(source.sha256) || !wanted.insert(source.sha256).second) continue;
    const auto [found, is_new] = jobs_.try_emplace(source.sha256);
    Job& job = found->second;
    // Another place of the same bytes is tried at once.
    const bool moved = !is_new && job.source != source && job.look.state == SourceState::kFailed;
    job.source = source;
    job.wanted = true;
    if (is_new) job.look = {SourceState::kFetching, {}, Words(source, {.doing = "fetching"})};
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

SourceLook Sources::Look(const Source& source) const {
  if (!IsArchive(source)) {
    const auto folder = sources::FolderOf(source);
    return folder ? SourceLook{SourceState::kReady, *folder, ""}
                  : SourceLook{SourceState::kFailed, {}, folder.error().message};
  }
  if (!IsSha256(source.sha256)) {
    return {SourceState::kFailed, {}, fmt::format("\"{}\" is no SHA-256 of an archive", source.sha256)};
  }
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(source.sha256);
  if (job == jobs_.end()) return {SourceState::kFailed, {}, "nobody wants it"};
  return job->second.look;
}

Result<Path> Sources::FolderOf(const Source& source) const {
  if (!IsArchive(source)) return sources::FolderOf(source);
  SourceLook look = Look(source);
  if (look.state != SourceState::kReady) return Unavailable("{}", look.message);
  return std::move(look.folder);
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
    const Source source = job->source;
    lock.unlock();
    const Result<Path> folder = Bring(source);
    Settle(source.sha256, folder);
    lock.lock();
  }
}

// What is in the cache already goes before what is to be fetched. Null: nothing is due before `next`.
Sources::Job* Sources::FindDue(SteadyTime now, SteadyTime* next) {
  Job* due = nullptr;
  for (auto& [sha256, job] : jobs_) {
    if (job.working || !job.wanted || job.look.state == SourceState::kReady) continue;
    if (job.due > now) {
      *next = std::min(*next, job.due);
    } else if (due == nullptr || (cache_->Has(sha256) && !cache_->Has(due->source.sha256))) {
      due = &job;
    }
  }
  return due;
}

Result<Path> Sources::Bring(const Source& source) {
  if (cache_->Has(source.sha256)) {
    NoteProgress(source.sha256, {.doing = "verifying what was fetched from"});
    auto folder = cache_->Verify(source.sha256);
    if (folder) return folder;
    spdlog::warn("{}; it is fetched again", folder.error().message);
  }
  return Fetch(source, {.cache = *cache_,
                        .get = get_,
                        .request = options_.request,
                        .on_progress = [&](const Progress& progress) { NoteProgress(source.sha256, progress); },
                        .is_cancelled = [&] { return IsCancelled(source.sha256); }});
}

void Sources::Settle(const std::string& sha256, const Result<Path>& folder) {
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    Job& job = jobs_.at(sha256);
    job.working = false;
    ready = folder.has_value() && job.wanted;
    if (ready) {
      job.look = {SourceState::kReady, *folder, ""};
      spdlog::info("{} is in the cache", download::ShownUrl(job.source.uri));
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
  job.look = {SourceState::kFailed, {}, error.message};
  job.due = SteadyTime::max();
  if (!IsFinal(error)) {
    const milliseconds pause = BackoffOf(job.attempts);
    job.due = steady_clock::now() + pause / 2 + milliseconds(random_() % static_cast<uint64_t>(pause.count() / 2 + 1));
    job.look.message += fmt::format(" (attempt {}, the next one within {:.3g} s)", job.attempts,
                                    std::chrono::duration<double>(pause).count());
  }
  spdlog::warn("{}", ForLog(job.look.message));
}

milliseconds Sources::BackoffOf(int attempts) {
  milliseconds pause = options_.backoff_min;
  for (int i = 1; i < attempts && pause < options_.backoff_max; ++i) pause *= 2;
  return std::min(pause, options_.backoff_max);
}

void Sources::NoteProgress(const std::string& sha256, const Progress& progress) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_.at(sha256);
  job.look = {SourceState::kFetching, {}, Words(job.source, progress)};
}

bool Sources::IsCancelled(const std::string& sha256) const {
  const std::lock_guard lock(mutex_);
  return stopping_ || !jobs_.at(sha256).wanted;
}

}  // namespace longshore::sources

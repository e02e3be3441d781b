// Makes the sources of a node's models available on this machine: folders are used in place, archives are fetched,
// verified and unpacked into the cache.
//
//   ASSIGN_OR_RETURN(const auto sources, Sources::Start(options));
//   sources->SetOnReady([&] { agent.Reconcile(); });
//   sources->Want({{"https://host/digits.tar", "0123..."}});
//   sources->FolderOf({"https://host/digits.tar", "0123..."});   // Once it is ready: the folder with the versions.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "serving-node/sources/fetch.h"

namespace longshore::sources {

struct SourcesOptions {
  Path cache_dir;
  int64_t cache_bytes_max = int64_t{16} << 30;
  download::Request request{};  // CA, redirects and timeouts; URL and byte limits are set by Sources.
  int fetches_max = 4;          // Archives that are fetched or verified at the same time.
  std::chrono::milliseconds backoff_min{1000};
  std::chrono::milliseconds backoff_max{300'000};
};

enum class SourceState { kReady, kFetching, kFailed };

struct SourceStatus {
  SourceState state = SourceState::kReady;
  Path folder;          // kReady: the folder with the versions.
  std::string message;  // Otherwise: the progress, or why the attempt failed and when the next one begins.
};

// Thread-safe. Threads of low priority fetch and verify archives; at most one works on each archive.
class Sources {
 public:
  // Returns FailedPrecondition if the cache cannot be created or another process uses it.
  static Result<std::unique_ptr<Sources>> Start(SourcesOptions options, Getter get = download::Get);
  ~Sources();  // Cancels downloads in progress. Partial downloads are kept.
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  // Sets the wanted sources and returns at once. An archive in the cache is verified before it is ready. Any other
  // archive is fetched; failed attempts are repeated with growing pauses. Archives that are no longer wanted are not
  // fetched further and may be evicted.
  void Want(const std::vector<VersionSource>& all);

  // `on_ready` is called on another thread whenever an archive becomes ready. After SetOnReady returns, the previous
  // function is not called any more; an empty function means no calls.
  void SetOnReady(std::function<void()> on_ready);

  // Returns kFailed also for an unsupported URI and for an archive that is not wanted.
  SourceStatus StatusOf(const VersionSource& source) const;
  // Returns the folder with the versions. Unavailable, with the message of StatusOf, while an archive is not ready.
  Result<Path> FolderOf(const VersionSource& source) const;

  const Cache& cache() const { return *cache_; }

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Job {
    VersionSource source;
    SourceStatus status;
    SteadyTime due{};  // When the next attempt begins; SteadyTime::max(): never.
    int attempts = 0;
    bool working = false;
    bool wanted = true;
  };

  Sources(SourcesOptions options, Getter get, std::unique_ptr<Cache> cache);
  void Work();
  Job* FindDue(SteadyTime now, SteadyTime* next);
  Result<Path> VerifyOrFetch(const VersionSource& source);
  void Finish(const std::string& sha256, const Result<Path>& folder);
  void NoteFailure(Job& job, const Error& error);
  void NoteProgress(const std::string& sha256, const Progress& progress);
  bool IsCancelled(const std::string& sha256) const;

  const SourcesOptions options_;
  const Getter get_;
  const std::unique_ptr<Cache> cache_;
  std::mutex on_ready_mutex_;  // Held while on_ready_ is called.
  std::function<void()> on_ready_;
  mutable std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  bool stopping_ = false;
  std::map<std::string, Job> jobs_;  // By the SHA-256 of the archive.
  std::minstd_rand random_{std::random_device{}()};
  std::vector<std::thread> threads_;  // Started when the first archive is wanted.
};

}  // namespace longshore::sources

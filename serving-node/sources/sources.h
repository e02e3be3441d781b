// The sources that a node's models want, on this machine: folders as they are, archives fetched, verified and unpacked
// into the cache.
//
//   ASSIGN_OR_RETURN(const auto sources, Sources::Start(options));
//   sources->SetOnReady([&] { agent.LookAgain(); });
//   sources->Want({{"https://host/digits.tar", "0123..."}});
//   sources->FolderOf({"https://host/digits.tar", "0123..."});   // Once it is there: what holds its versions.
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
  download::Request request{};  // CA, redirects, times; URL and bytes are filled in.
  int fetches_max = 4;          // Archives fetched or verified at once.
  std::chrono::milliseconds backoff_min{1000};
  std::chrono::milliseconds backoff_max{300'000};
};

enum class SourceState { kReady, kFetching, kFailed };

struct SourceLook {
  SourceState state = SourceState::kReady;
  Path folder;          // When it is ready: holds the versions.
  std::string message;  // Otherwise: how far it is, or why it failed and when it is tried again.
};

// Thread-safe. Archives are worked on by threads of low priority, each by one at a time.
class Sources {
 public:
  // FailedPrecondition when the cache cannot be made, or is another process's.
  static Result<std::unique_ptr<Sources>> Start(SourcesOptions options, Getter get = download::Get);
  ~Sources();  // Cuts what is under way; what came of an archive stays.
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  // All that is wanted; returns at once. An archive that is in the cache is verified before it is ready; one that is
  // not is fetched, and tried again with growing pauses when that fails. What is no longer wanted is not fetched on,
  // and may be evicted.
  void Want(const std::vector<Source>& all);

  // Called on a thread of its own whenever an archive has become ready. Empty: nobody is; none is under way after that.
  void SetOnReady(std::function<void()> on_ready);

  // kFailed for a source that is no URL of ours, and for an archive that nobody wants.
  SourceLook Look(const Source& source) const;
  // The folder, once it is ready; Unavailable with the message of Look until then.
  Result<Path> FolderOf(const Source& source) const;

  const Cache& cache() const { return *cache_; }

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Job {
    Source source;
    SourceLook look;
    SteadyTime due{};  // When it is worked on next; max: never.
    int attempts = 0;
    bool working = false;
    bool wanted = true;
  };

  Sources(SourcesOptions options, Getter get, std::unique_ptr<Cache> cache);
  void Work();
  Job* FindDue(SteadyTime now, SteadyTime* next);
  Result<Path> Bring(const Source& source);
  void Settle(const std::string& sha256, const Result<Path>& folder);
  void NoteFailure(Job& job, const Error& error);
  void NoteProgress(const std::string& sha256, const Progress& progress);
  bool IsCancelled(const std::string& sha256) const;
  std::chrono::milliseconds BackoffOf(int attempts);

  const SourcesOptions options_;
  const Getter get_;
  const std::unique_ptr<Cache> cache_;
  std::mutex on_ready_mutex_;  // Held while on_ready_ is called.
  std::function<void()> on_ready_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  bool stopping_ = false;
  std::map<std::string, Job> jobs_;  // By SHA-256.
  std::minstd_rand random_{std::random_device{}()};
  std::vector<std::thread> threads_;  // Since the first archive was wanted.
};

}  // namespace longshore::sources

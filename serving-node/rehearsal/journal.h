// A journal of risky operations on versions. An entry is written to disk before the operation begins and removed after
// it has ended. A process that crashed in between finds the open entry at its next start and quarantines the version:
// it is tried again only in a new attempt.
//
// The file <state_dir>/journal.json holds the open entries and the quarantined versions. Each change replaces it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/storage/write_health.h"

namespace longshore::rehearsal {

enum class Activity { kLoading, kFirstRun };
// Returns "loading" or "first run".
std::string_view ActivityName(Activity activity);

// One attempt to roll out a version. A new attempt of the same version is not affected by the quarantine of an earlier
// one.
struct Attempt {
  std::string model;
  int64_t version = 0;
  std::string attempt;  // The salt of the rollout, which is different in each attempt.
  auto operator<=>(const Attempt&) const = default;
};

// Thread-safe.
class Journal {
 public:
  static constexpr size_t kEntriesMax = 1000;  // With more quarantines, the one with the smallest key is removed.

  // Reads the file of the last process; its open entries become quarantines. DataLoss if the file is damaged.
  static Result<std::unique_ptr<Journal>> Open(const Path& state_dir);

  // Writes an open entry; the caller must call End later. On success the entry is on disk when this returns; after an
  // error it is not.
  Status Begin(const Attempt& what, Activity activity);
  void End(const Attempt& what);

  // Returns why the version is quarantined; nullopt if it is not quarantined.
  std::optional<std::string> Quarantined(const Attempt& what) const;
  Status Quarantine(const Attempt& what, const std::string& reason);

  // Whether the file could be written the last time.
  const storage::WriteHealth& health() const { return health_; }
  void WriteAgain();

 private:
  explicit Journal(Path file) : file_(std::move(file)) {}
  Status Read();
  Status Write();  // Requires: mutex_ held.

  const Path file_;
  storage::WriteHealth health_{"journal"};
  mutable std::mutex mutex_;
  std::map<Attempt, Activity> open_;
  std::map<Attempt, std::string> quarantined_;
};

}  // namespace longshore::rehearsal

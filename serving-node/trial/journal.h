// What the node is about to do with a version, written to its disk before it does it. A process that died in between
// finds the entry open when it starts again, and does not try that version by itself once more.
//
// <state_dir>/journal.json, replaced as a whole: it holds as many entries as there are open ones and quarantined
// versions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/error.h"
#include "common/file.h"

namespace longshore::trial {

enum class Deed { kLoading, kFirstRun };
// "loading", "first run".
std::string_view DeedName(Deed deed);

// One try of one version. A new attempt (the salt of its rollout) is not bound by what became of the one before.
struct Try {
  std::string model;
  int64_t version = 0;
  std::string attempt;
  auto operator<=>(const Try&) const = default;
};

// Thread-safe.
class Journal {
 public:
  static constexpr size_t kEntriesMax = 1000;  // Quarantines beyond it: the first in order of their names goes.

  // Reads what the last process left; its open entries become quarantines. DataLoss when the file is damaged.
  static Result<std::unique_ptr<Journal>> Open(const Path& state_dir);

  // Requires that End follows. The entry is on the disk when this returns; an error means it is not.
  Status Begin(const Try& what, Deed deed);
  void End(const Try& what);

  // Why the version is not tried again; nullopt when it is not quarantined.
  std::optional<std::string> Quarantined(const Try& what) const;
  Status Quarantine(const Try& what, const std::string& reason);

 private:
  explicit Journal(Path file) : file_(std::move(file)) {}
  Status Read();
  Status Write();  // Requires: mutex_ held.

  const Path file_;
  mutable std::mutex mutex_;
  std::map<Try, Deed> open_;
  std::map<Try, std::string> quarantined_;
};

}  // namespace longshore::trial

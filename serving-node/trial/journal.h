// What the node is about to do with a version, written to its disk before it does it. A process that died in between
// finds the entry open when it starts again, and does not try that version by itself once more.
//
// <state_dir>/journal.json, replaced as a whole: it holds as many entries as there are open ones and quarantined versions.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/error.h"
#include "common/file.h"

namespace longshore::trial {

enum class Deed { kLoading, kFirstRun };
// "loading", "first run of".
std::string_view DeedName(Deed deed);

// Thread-safe.
class Journal {
 public:
  static constexpr size_t kEntriesMax = 1000;

  // Reads what the last process left; its open entries become quarantines. DataLoss when the file is damaged.
  static Result<std::unique_ptr<Journal>> Open(const Path& state_dir);

  // Requires that End follows. The entry is on the disk when this returns; an error means it is not.
  Status Begin(const std::string& model, int64_t version, Deed deed);
  void End(const std::string& model, int64_t version, Deed deed);

  // Why the version is not tried again; nullopt when it is not quarantined.
  std::optional<std::string> Quarantined(const std::string& model, int64_t version) const;
  Status Quarantine(const std::string& model, int64_t version, const std::string& reason);
  // A person, or new files under the same number, gives it another chance.
  Status Release(const std::string& model, int64_t version);

 private:
  using Key = std::pair<std::string, int64_t>;

  explicit Journal(Path file) : file_(std::move(file)) {}
  Status Read();
  Status Write();  // Requires: mutex_ held.

  const Path file_;
  mutable std::mutex mutex_;
  std::map<Key, Deed> open_;
  std::map<Key, std::string> quarantined_;
};

}  // namespace longshore::trial

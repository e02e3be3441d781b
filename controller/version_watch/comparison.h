// Compares the present files of a failed version with those that failed.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "controller/version_watch/files.h"

namespace longshore::version_watch {

struct Failed {
  Place place;
  TimePoint at;
  std::string digest{};  // Of the files that failed; "": the nodes have reported none.

  friend bool operator==(const Failed&, const Failed&) = default;
};

// Only other names or bytes count. A backup by hard links or a change of the mode changes only the times of the files,
// and would otherwise bring a bad version back to the users. The bytes are read only after the times have changed, and
// once when the version failed if the nodes have reported no digest. If it is not known which bytes failed, because
// they have changed before this controller started, each change counts.
class Comparison {
 public:
  explicit Comparison(Failed failed) : failed_(std::move(failed)), failed_digest_(failed_.digest) {}

  const Failed& failed() const { return failed_; }
  // Looks at the files. Returns whether they differ from those that failed; nullopt: as before. Files count as fully
  // copied when two looks in a row see the same. Files that do not exist or cannot be read do not differ.
  std::optional<bool> LookAgain(const Reader& reader, const std::atomic<bool>& cancelled);

 private:
  void RememberFailed(const Reader& reader, const std::atomic<bool>& cancelled);

  const Failed failed_;
  std::string failed_digest_;              // "": not known, or the files that failed could not be read.
  std::optional<std::string> stamp_{};     // Of the last look.
  std::optional<std::string> compared_{};  // The stamp of the files that were compared last.
};

}  // namespace longshore::version_watch

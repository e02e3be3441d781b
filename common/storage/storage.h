// All that a program keeps on disk, in parts. A part that cannot be written, for example because the disk is full, is
// shown by a metric and by Problems(), and is written again until that succeeds.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "common/metrics/metrics.h"
#include "common/os/ticker.h"
#include "common/storage/write_health.h"

namespace longshore::storage {

// Why a part cannot be written at the moment.
struct Problem {
  std::string what;                  // The part: "journal".
  std::vector<std::string> items{};  // For each item of the part: its name, and the file with the error of the system.

  // Returns the first item and the number of the others: a part may have a problem with each of many files.
  std::string message() const;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// Thread-safe.
class Storage {
 public:
  // The text of the registry must not be read any more after this object is destroyed. `write_again_every`: the time
  // between two attempts to write the parts that have a problem.
  explicit Storage(metrics::Registry& registry, std::chrono::milliseconds write_again_every = std::chrono::seconds(10));

  // Adds a part, which must outlive this object. While the part has a problem, `write_again` is called on a thread of
  // this object. It writes again, and reports the result to the part.
  void Add(const WriteHealth& part, std::function<void()> write_again);

  // Returns the parts that cannot be written, in the order in which they were added.
  std::vector<Problem> Problems() const;

  // Writes the parts that have a problem again, on this thread.
  void WriteAgain();

 private:
  struct Part {
    const WriteHealth* health;
    std::function<void()> write_again;
  };
  std::vector<Part> Parts() const;

  mutable std::mutex mutex_;  // Guards parts_; not held while a part is written.
  std::vector<Part> parts_;
  Ticker ticker_;  // Declared last: it uses the other members.
};

// Writes a small file into the folder, which is created if need be, and removes the file. For a part whose files are
// not kept in memory: they cannot be written again, but this tells whether the next one can be written.
Status TryFolder(const Path& folder);

}  // namespace longshore::storage

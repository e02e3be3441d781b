// The journal entries of candidates' first runs. The entry must be on disk before any run of the candidate begins, so
// that a candidate that crashes the process is found after the restart.
#pragma once

#include <functional>
#include <mutex>

#include "common/os/worker.h"
#include "serving-node/routing/table.h"

namespace longshore::rehearsal {
class Journal;
}

namespace longshore::routing {

// Thread-safe. The destructor runs the functions that still wait.
class FirstRuns {
 public:
  // `journal` may be null: no entries are written then.
  explicit FirstRuns(rehearsal::Journal* journal) : journal_(journal) {}

  // Whether runs of the candidate may begin at once.
  bool IsNoted(const Arm& candidate) const;

  // Calls `then` on another thread as soon as the entry is on disk. `is_first`: the entry stands for this run, and the
  // caller must call End after it. Never blocks. Returns false, without calling `then`, if too many runs wait.
  bool Post(Arm& candidate, std::function<void(bool is_first)> then);

  // Removes the entry of a first run that has ended. `ran`: whether it ran at all; if not, the next run gets an entry.
  void End(Arm& candidate, bool ran);

 private:
  bool Note(Arm& candidate);

  rehearsal::Journal* const journal_;
  std::mutex mutex_;  // Held while a run is posted: the run that writes the entry must be posted first.
  Worker writer_;     // Declared last, so destroyed first: its tasks use the other members.
};

}  // namespace longshore::routing

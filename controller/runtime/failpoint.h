// Points at which the controller can be made to kill itself, for the proof that it may die anywhere.
//
// Every write to the store and every message to a node is a point, named by what is written and by how often the same
// was written before in this process: "status of Model/default/half Step 50%#1". The names, unlike a count of all
// operations, mean the same in the next run, in which other things may have been written as one.
//   LONGSHORE_CRASH_AT=before:NAME      dies instead of that operation
//   LONGSHORE_CRASH_AT=lost:NAME        dies when it is done and its answer has not been looked at
//   LONGSHORE_CRASH_AT=after:NAME       dies when its answer was looked at, before anything else is done
//   LONGSHORE_CRASH_COUNT_FILE=F        appends one line, the name, per operation
// Without them nothing here does anything.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/error.h"
#include "common/file.h"
#include "controller/nodes/nodes.h"
#include "controller/store/store.h"

namespace longshore::runtime {

enum class CrashMode { kBefore, kLost, kAfter };
struct CrashAt {
  CrashMode mode = CrashMode::kBefore;
  std::string point;
};

// "lost:NAME". InvalidArgument saying what is allowed.
Result<CrashAt> ParseCrashAt(const std::string& text);

// Thread-safe.
class Failpoint {
 public:
  Failpoint(std::optional<CrashAt> crash_at, Path count_file);
  // From the environment variables above.
  static Result<std::unique_ptr<Failpoint>> FromEnvironment();

  // Around each operation. Done waits, where a crash needs it, until `is_applied` says that the other side has it.
  void Begin(const std::string& what);
  void Done(const std::function<bool()>& is_applied);
  // The answers of all operations so far were looked at.
  void Seen();

 private:
  [[noreturn]] static void Die();
  bool Is(CrashMode mode) const { return crash_at_ && crash_at_->mode == mode && point_ == crash_at_->point; }

  const std::optional<CrashAt> crash_at_;
  const Path count_file_;
  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::string point_;  // The newest.
};

// The same store and registry, with every write and message counted. All references outlive what is returned.
std::unique_ptr<store::Store> WithFailpoints(store::Store& store, Failpoint& failpoint);
std::unique_ptr<nodes::Registry> WithFailpoints(nodes::Registry& registry, Failpoint& failpoint);

}  // namespace longshore::runtime

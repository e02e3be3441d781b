// Points at which the controller can be made to kill itself, for tests that it survives a crash at any point.
//
// Each write to the store and each message to a node is a point. Its name is the operation and how often this process
// has done it: "status of Model/default/half Step 50%#1". In the next run, which may combine other writes, a name still
// means the same operation; a number that counts all operations would not.
//   LONGSHORE_CRASH_AT=before:NAME      exits instead of doing that operation
//   LONGSHORE_CRASH_AT=lost:NAME        exits after the operation, before its result is processed
//   LONGSHORE_CRASH_AT=after:NAME       exits after its result was processed, before anything else
//   LONGSHORE_CRASH_COUNT_FILE=F        appends one line, the name, per operation
// Without these variables, failpoints have no effect.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/base/path.h"
#include "controller/nodes/nodes.h"
#include "controller/store/store.h"

namespace longshore::runtime {

enum class CrashMode { kBefore, kLost, kAfter };
struct CrashAt {
  CrashMode mode = CrashMode::kBefore;
  std::string point;
};

// Parses "lost:NAME". Returns InvalidArgument with the allowed forms if the text has another form.
Result<CrashAt> ParseCrashAt(const std::string& text);

// Thread-safe.
class Failpoint {
 public:
  Failpoint(std::optional<CrashAt> crash_at, Path count_file);
  // Creates a Failpoint from the environment variables above.
  static Result<std::unique_ptr<Failpoint>> FromEnvironment();

  // Call Begin before each operation, and Done after it. Before Done crashes the process, it waits until `is_applied`
  // returns true, which shows that the receiver has the operation.
  void Begin(const std::string& what);
  void Done(const std::function<bool()>& is_applied);
  // Call it when the results of all operations so far have been processed.
  void Processed();

 private:
  [[noreturn]] static void Die();
  bool Is(CrashMode mode) const { return crash_at_ && crash_at_->mode == mode && point_ == crash_at_->point; }

  const std::optional<CrashAt> crash_at_;
  const Path count_file_;
  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::string point_;  // The name of the newest point.
};

// Wraps the store and registry so that each write and message is a point. All references must outlive the result.
std::unique_ptr<store::Store> WithFailpoints(store::Store& store, Failpoint& failpoint);
std::unique_ptr<nodes::Registry> WithFailpoints(nodes::Registry& registry, Failpoint& failpoint);

}  // namespace longshore::runtime

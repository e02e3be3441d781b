// Guards. A guard sets the weight of a harmful candidate to 0 on this node, from the next request on, without asking
// the controller.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "common/os/worker.h"
#include "common/storage/write_health.h"
#include "longshore/control.pb.h"
#include "serving-node/routing/error_window.h"

namespace longshore::routing {

// Identifies one rollout of one version. A new attempt to roll out the version has a new salt, so its guard starts
// untripped.
struct GuardKey {
  std::string model;
  int64_t version = 0;
  std::string salt;
  auto operator<=>(const GuardKey&) const = default;
};

struct Trip {
  GuardKey key;
  std::string reason;  // One of NonFinite, Errors, Crashed and ControllerSilent.
  std::string message;
  TimePoint at;
  friend bool operator==(const Trip&, const Trip&) = default;
};

// The state of one guard. Reading it is lock-free. A guard that has tripped stays tripped.
class GuardState {
 public:
  explicit GuardState(GuardKey key) : key_(std::move(key)) {}
  bool tripped() const { return tripped_.load(std::memory_order_acquire); }
  const GuardKey& key() const { return key_; }

 private:
  friend class GuardBook;
  const GuardKey key_;
  std::atomic<bool> tripped_{false};
};

// Returns the reason why the errors among a candidate's last requests trip the guard; "" if they do not.
std::string ErrorsTrip(const control::Guard& guard, const ErrorWindow::Seen& seen);

// All guards of the node. Thread-safe.
class GuardBook {
 public:
  static constexpr size_t kTripsMax = 1000;  // Above this number, the oldest trip is removed.
  using OnTrip = std::function<void(const Trip&)>;

  // Trips are stored in <state_dir>/guards.json and survive a restart; with an empty state_dir they are not stored.
  // Returns DataLoss if the file is damaged.
  static Result<std::unique_ptr<GuardBook>> Open(const Path& state_dir);

  // Returns the state of the guard with this key. The same key gives the same object.
  std::shared_ptr<GuardState> For(const GuardKey& key);

  // Trips the guard at once and calls on_trip. The trip is written to disk soon after, on another thread, so that
  // requests do not wait for the disk. A failed write is in health() and does not undo the trip. If the process crashes
  // before the write, the guard is untripped after the restart; by then the controller knows of the trip, or the
  // candidate trips the guard again. Returns false, without any effect, if the guard has already tripped.
  bool TripNow(GuardState& guard, std::string reason, std::string message, TimePoint at);
  // Appends `more` to the message of the trip and calls on_trip again. No effect if the trip has been removed.
  void Explain(const GuardKey& key, const std::string& more);
  std::vector<Trip> Trips() const;
  // Removes all guards, tripped or not, whose keys are not among `keys`.
  void Keep(const std::vector<GuardKey>& keys);
  // Sets the function that is called after every trip and every explanation, without a lock held. Call it before
  // requests arrive.
  void SetOnTrip(OnTrip on_trip);

  // Whether the file could be written the last time.
  const storage::WriteHealth& health() const { return health_; }
  void WriteAgain();  // Does not wait for the disk.
  // Blocks until everything that changed before this call was written, or could not be.
  void Flush() { writer_.Flush(); }

 private:
  explicit GuardBook(Path file) : file_(std::move(file)) {}
  Status Read();
  void WriteSoon();  // Requires: mutex_ held.
  void Write();      // Runs on writer_.

  const Path file_;
  storage::WriteHealth health_{"guards"};
  mutable std::mutex mutex_;
  bool write_waits_ = false;
  std::map<GuardKey, std::shared_ptr<GuardState>> guards_;
  std::vector<Trip> trips_;
  OnTrip on_trip_;
  Worker writer_;  // Declared last, so destroyed first: its tasks use the other members.
};

}  // namespace longshore::routing

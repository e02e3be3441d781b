// The node's own rule about a candidate: when it harms, its weight is 0 from the next request on, whoever is reachable.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/file.h"
#include "common/worker.h"
#include "longshore/control.pb.h"
#include "serving-node/routing/error_window.h"

namespace longshore::routing {

// One rollout of one version: a new attempt has a new salt, and starts untripped.
struct GuardKey {
  std::string model;
  int64_t version = 0;
  std::string salt;
  auto operator<=>(const GuardKey&) const = default;
};

struct Trip {
  GuardKey key;
  std::string reason;  // NonFinite, Errors, Crashed, ControllerSilent.
  std::string message;
  TimePoint at;
  friend bool operator==(const Trip&, const Trip&) = default;
};

// Lock-free where requests look. The first trip stands.
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

// Why the errors among a candidate's last requests trip the guard; "" when they do not.
std::string ErrorsTrip(const control::Guard& guard, const ErrorWindow::Seen& seen);

// All guards of the node. Thread-safe.
class GuardBook {
 public:
  static constexpr size_t kTripsMax = 1000;  // Kept on disk; the oldest goes first.
  using OnTrip = std::function<void(const Trip&)>;

  // Trips survive a restart in <state_dir>/guards.json; no directory: they do not.
  static Result<std::unique_ptr<GuardBook>> Open(const Path& state_dir);

  // The same object for the same key.
  std::shared_ptr<GuardState> For(const GuardKey& key);

  // Trips at once, calls on_trip, and has it written down soon, on another thread: whoever runs a request waits for no
  // disk. A full disk is logged, and the trip holds all the same. A process that dies before it is written starts
  // untripped: the controller was told by then, or the candidate trips again. False, and nothing happens, when it is
  // tripped already.
  bool TripNow(GuardState& guard, std::string reason, std::string message, TimePoint at);
  // Adds to the trip's message what was found out since, and calls on_trip again. Nothing for a trip that is forgotten.
  void Explain(const GuardKey& key, const std::string& more);
  std::vector<Trip> Trips() const;
  // Forgets the guards, tripped or not, that are not among those of the state any more.
  void Keep(const std::vector<GuardKey>& keys);
  // Called after every trip and every explanation, no lock held. Set before requests arrive.
  void SetOnTrip(OnTrip on_trip);

 private:
  explicit GuardBook(Path file) : file_(std::move(file)) {}
  Status Read();
  void WriteSoon();  // Requires: mutex_ held.
  void Write();      // On the writer.

  const Path file_;
  mutable std::mutex mutex_;
  bool write_waits_ = false;
  std::map<GuardKey, std::shared_ptr<GuardState>> guards_;
  std::vector<Trip> trips_;
  OnTrip on_trip_;
  Worker writer_;  // The last member: what it still writes needs the others.
};

}  // namespace longshore::routing

// Who of several controllers leads: an election by a Lease, as a state machine.
//
// Pure: told the time and what came of its last move, it says what to do next. A Lease is held from the moment before
// its renewal was sent; a holder that could not renew it for `renew_deadline` leads no more, whatever else is the case,
// and others take it only `lease_duration` after they saw it renewed last, by their own clocks. No two clocks are
// compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "common/clock.h"

namespace longshore::leader {

struct Options {
  std::string identity{};  // Unique among all that ever ask.
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
};
// "" when they keep two from leading at once: retry_period < renew_deadline < lease_duration.
std::string WrongWith(const Options& options);

// What a Lease says (coordination.k8s.io/v1).
struct Lease {
  std::string holder{};
  Duration duration{0};     // Of whoever holds it.
  int64_t transitions = 0;  // The epoch of its newest holder.
  std::string version{};    // resourceVersion.
};

struct Read {};
// Creates it when `over` is empty, otherwise replaces what has this version.
struct Write {
  Lease lease;
  std::string over;
};
struct WaitUntil {
  MonotonicPoint at;
};
using Move = std::variant<Read, Write, WaitUntil>;

class Election {
 public:
  Election(Options options, MonotonicPoint now) : options_(std::move(options)), due_(now) {}

  // What to do now. `epoch_floor`: the highest epoch that is known. A term begins above it; one that is below it gives
  // way to another of ours.
  Move Next(MonotonicPoint now, int64_t epoch_floor) const;

  // What came of it.
  void OnRead(const std::optional<Lease>& lease, MonotonicPoint now);  // nullopt: there is none.
  void OnReadFailed(MonotonicPoint now);
  // `sent_at`: before it was sent. `written`: with its new version.
  void OnWritten(const Lease& written, MonotonicPoint sent_at, MonotonicPoint now);
  // Somebody else wrote or deleted it, or a write of ours was carried out and its answer lost.
  void OnConflict(MonotonicPoint now);
  void OnWriteFailed(MonotonicPoint now);
  // Gives up what is held, in order.
  std::optional<Write> Release();

  // Whether it leads at this time.
  bool IsLeading(MonotonicPoint now) const { return held_ && now < deadline(); }
  // Until when, if nothing else comes.
  MonotonicPoint deadline() const { return renewed_at_ + options_.renew_deadline; }
  // Of the term; 0 when it does not hold the Lease.
  int64_t epoch() const { return held_ ? held_->transitions : 0; }
  // Who does; "" nobody, or not known.
  std::string holder() const { return held_ ? options_.identity : seen_ ? seen_->holder : ""; }

 private:
  bool IsFree(MonotonicPoint now, int64_t epoch_floor) const;
  // For so long we may look away from a Lease that is missing.
  Duration BlinkMax() const { return options_.lease_duration - options_.renew_deadline; }

  const Options options_;
  std::optional<Lease> held_;              // By us. Its version is empty when it has to be created again.
  bool in_doubt_ = false;                  // Whether `held_` has the newest version.
  MonotonicPoint renewed_at_{};            // By us.
  std::optional<Lease> seen_;              // When we do not hold it.
  bool has_read_ = false;                  // `seen_` is news, and not acted upon.
  MonotonicPoint seen_since_{};            // Since when it has been as it was seen, or missing.
  std::optional<MonotonicPoint> read_at_;  // The last read of somebody else's, or of none.
  MonotonicPoint due_;                     // Of the next move.
};

}  // namespace longshore::leader

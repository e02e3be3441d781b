// Elects the leader among several controllers by a Lease, as a state machine.
//
// Pure: given the time and the result of its last move, it returns the next move. A holder measures its time from the
// moment before it sent the renewal, and stops leading if it could not renew the Lease for `renew_deadline`. Other
// candidates take the Lease only when they have seen no change of it for `lease_duration`. Each candidate uses only its
// own clock, so clocks need not agree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "common/base/clock.h"

namespace longshore::leader {

struct Options {
  std::string identity{};  // Unique among all candidates, including earlier processes.
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  // What the holder says about itself on the Lease, for programs that only read it.
  std::map<std::string, std::string> annotations{};
};
// Returns "" if the options ensure that at most one candidate leads (retry_period < renew_deadline < lease_duration),
// otherwise what is wrong.
std::string ProblemWith(const Options& options);

// The fields of a Lease (coordination.k8s.io/v1) that the election uses.
struct Lease {
  std::string holder{};
  Duration duration{0};     // The lease duration of its holder.
  int64_t transitions = 0;  // The epoch of its newest holder.
  std::string version{};    // resourceVersion.
};

struct Read {};
// Creates the Lease if `over` is empty, otherwise replaces the Lease if its version is `over`.
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

  // Returns the move to make now. `epoch_floor` is the highest known epoch. A new term gets a higher epoch. A current
  // term with a lower epoch is replaced by a new term of the same holder.
  Move Next(MonotonicPoint now, int64_t epoch_floor) const;

  // The functions OnRead to OnWriteFailed report the result of the last move.
  void OnRead(const std::optional<Lease>& lease, MonotonicPoint now);  // nullopt: the Lease does not exist.
  void OnReadFailed(MonotonicPoint now);
  // `sent_at` is a time before the write was sent. `written` has the new version.
  void OnWritten(const Lease& written, MonotonicPoint sent_at, MonotonicPoint now);
  // Another client wrote or deleted the Lease, or the server executed an earlier write whose answer was lost.
  void OnConflict(MonotonicPoint now);
  void OnWriteFailed(MonotonicPoint now);
  // Ends the term. Returns the write that releases the Lease, or nullopt if it is not held.
  std::optional<Write> Release();

  // Whether this candidate leads at this time.
  bool IsLeading(MonotonicPoint now) const { return held_ && now < deadline(); }
  // The end of the term unless the Lease is renewed.
  MonotonicPoint deadline() const { return renewed_at_ + options_.renew_deadline; }
  // The epoch of the term; 0 if this candidate does not hold the Lease.
  int64_t epoch() const { return held_ ? held_->transitions : 0; }
  // The identity of the leader; "" if there is no leader or it is not known.
  std::string holder() const { return held_ ? options_.identity : seen_ ? seen_->holder : ""; }

 private:
  bool IsFree(MonotonicPoint now, int64_t epoch_floor) const;
  // If two reads find no Lease and are at most this far apart, the Lease counts as missing for the whole time between
  // them.
  Duration UnobservedMax() const { return options_.lease_duration - options_.renew_deadline; }

  const Options options_;
  std::optional<Lease> held_;              // The Lease that this candidate holds; version "": it was deleted.
  bool in_doubt_ = false;                  // Whether the version of `held_` may be outdated.
  MonotonicPoint renewed_at_{};            // A time just before the last successful renewal was sent.
  std::optional<Lease> seen_;              // The last Lease that was read while this candidate did not hold it.
  bool has_read_ = false;                  // Whether the last move was a successful read, into `seen_`.
  MonotonicPoint seen_since_{};            // The time since which `seen_` has not changed.
  std::optional<MonotonicPoint> read_at_;  // The time of the last read into `seen_`.
  MonotonicPoint due_;                     // The time of the next move.
};

}  // namespace longshore::leader

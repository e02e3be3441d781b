// The ledger: every request that was sent, its one answer, and the version and node that answered.
//
// Requests belong to the segment in which they were sent; `Mark` opens the next one. The memory is limited by the
// number of requests in flight, the number of keys, kSegmentsMax, kNamesMax and kMovesMax.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "tests/load/client.h"
#include "tests/load/latency.h"

namespace longshore::load {

inline constexpr size_t kSegmentsMax = 1000;
// Maximum number of names (of nodes, or of error texts) that are counted separately; further names count as "other".
inline constexpr size_t kNamesMax = 200;
inline constexpr size_t kMovesMax = 1'000'000;

using RequestId = uint64_t;

struct VersionCounts {
  int64_t keyed = 0;
  int64_t unkeyed = 0;
  int64_t non_finite = 0;
  std::optional<TimePoint> first_answer;
  std::optional<TimePoint> last_answer;
  std::optional<TimePoint> first_non_finite;
};

// The failures with one code.
struct ErrorCounts {
  int64_t count = 0;
  std::string first_message;
};

struct Counts {
  int64_t sent = 0;
  int64_t answered = 0;  // Number of good answers.
  int64_t failed = 0;
  int64_t retried = 0;
  int64_t without_version = 0;  // Good answers that do not name their version.
  int64_t version_disputed = 0;
  int64_t answered_twice = 0;
  std::map<int64_t, VersionCounts> versions;
  std::map<std::string, int64_t> nodes;
  std::map<std::string, int64_t> failures;    // Number of failures by code and text.
  std::map<std::string, ErrorCounts> errors;  // The same failures by code only.
  LatencyCounts latency;
};
Json ToJson(const Counts& counts);

// A move: the answer to a key came from another version than the previous answer to this key.
struct Move {
  TimePoint sent_at;
  KeyIndex key = 0;
  int64_t from = 0;
  int64_t to = 0;
};

struct SegmentReport {
  std::string name;
  TimePoint began_at;
  std::optional<TimePoint> ended_at;
  Counts counts;
};
Json ToJson(const SegmentReport& report);

// Thread-safe.
class Ledger {
 public:
  Ledger(TimePoint now, uint64_t keys);

  void Sent(RequestId id, std::optional<KeyIndex> key, TimePoint now);
  void Retried(RequestId id);
  // Counts the answer to a request. A second answer to the same request is counted as answered_twice and otherwise
  // ignored.
  void Answered(RequestId id, const Reply& reply, TimePoint now);

  // Ends the current segment and opens the next one. ResourceExhausted if there are kSegmentsMax segments already.
  Status Mark(const std::string& name, TimePoint now);

  // Returns the segments that have ended and whose requests are all answered, in order. Each is returned only once.
  std::vector<SegmentReport> TakeFinished();
  // Returns the counts since the last call, over all segments.
  Counts TakeRecent();
  // Returns the moves since the last call, in order of the answers.
  std::vector<Move> TakeMoves();

  Counts Total() const;
  size_t in_flight() const;
  uint64_t distinct_keys() const;

 private:
  struct Pending {
    size_t segment;
    std::optional<KeyIndex> key;
    TimePoint sent_at;
  };
  struct Segment {
    SegmentReport report;
    int64_t in_flight = 0;
    bool given_out = false;
  };
  struct KeyState {
    int64_t version = 0;
    TimePoint answered_at;
  };

  void CountAll(const Pending& request, const Reply& reply, TimePoint now);
  void NoteKey(const Pending& request, int64_t version, TimePoint now);

  mutable std::mutex mutex_;
  std::unordered_map<RequestId, Pending> pending_;
  std::deque<Segment> segments_;
  std::vector<KeyState> keys_;
  std::vector<Move> moves_;
  size_t moves_total_ = 0;
  uint64_t distinct_keys_ = 0;
  Counts total_;
  Counts recent_;
};

}  // namespace longshore::load

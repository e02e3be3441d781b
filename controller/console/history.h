// What the versions of Models did in the last hour, for the graphs of the console.
//
// Pure: time is an argument. Everything is limited: points are at most kHistoryAge old, a series has at most
// `points_max` of them, and there are at most `series_max` series. Only Models with a series have pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/console/worst_pairs.h"

namespace longshore::console {

inline constexpr std::chrono::milliseconds kSampleInterval{5000};
inline constexpr Duration kHistoryAge = std::chrono::hours(1);

// What one version did on all nodes between two samples.
struct TrafficPoint {
  TimePoint at;  // The end of that time.
  float requests_per_second = 0;
  float errors_per_second = 0;
  float median_ms = 0;  // The run times of the version; 0: it had no run.
  float p90_ms = 0;
};

// What the evidence of a rollout had shown at a time: the intervals that contain the true values with 95 % confidence,
// and the limits of the spec.
struct EvidencePoint {
  TimePoint at;
  float error_low = 0;  // The candidate's error rate less stable's.
  float error_high = 0;
  std::optional<float> error_limit{};  // nullopt: the test is disabled.
  std::optional<float> ratio_low{};    // The candidate's median run time divided by stable's; nullopt: too few runs.
  std::optional<float> ratio_high{};
  std::optional<float> ratio_limit{};
};

struct ModelHistory {
  std::map<int64_t, std::deque<TrafficPoint>> versions;
  std::deque<EvidencePoint> evidence;  // The evidence of the newest rollout.
  int attempt = 0;                     // The RolloutStatus::attempt of `evidence`.
  bool evidence_is_complete = false;   // Whether the last point of `evidence` is that of the end of the rollout.
  std::vector<NodePair> worst_pairs;   // The pairs of the newest rollout that WorstOf chose.
  std::string rollout;                 // The RolloutStatus::id of `worst_pairs`.
};

struct HistoryLimits {
  size_t points_max = kHistoryAge / kSampleInterval;
  size_t series_max = 400;
};

// Not thread-safe. `model` is the uid of a Model: one that is created again under the same name has no history.
class History {
 public:
  explicit History(HistoryLimits limits = {}) : limits_(limits) {}

  // A point of a new series is dropped if there are `series_max` series already.
  void Add(const std::string& model, int64_t version, const TrafficPoint& point);
  // Evidence of an earlier rollout is removed.
  void Add(const std::string& model, int attempt, const EvidencePoint& point);
  // Adds the point of the end of the rollout if the evidence does not have it yet.
  void AddEnd(const std::string& model, int attempt, EvidencePoint point);

  // Keeps the worst pairs among the new ones and the ones that it has. First removes the pairs of an earlier rollout.
  // Does nothing for a Model that has no series.
  void Add(const std::string& model, const std::string& rollout, const std::vector<NodePair>& reported);

  // Removes points that are older than kHistoryAge, and empty series.
  void Expire(TimePoint now);

  // Returns an empty history for an unknown Model.
  ModelHistory Of(const std::string& model) const;

  size_t series() const { return series_; }

 private:
  template <typename Point>
  void Append(const Point& point, std::deque<Point>& points);

  const HistoryLimits limits_;
  std::map<std::string, ModelHistory> models_;
  size_t series_ = 0;  // Series that have a point.
};

}  // namespace longshore::console

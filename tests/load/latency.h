// Counts of latencies, from which quantiles are computed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"

namespace longshore::load {

// Counts latencies in the buckets of common/base/buckets.h, so quantiles are off by at most 9 %.
class LatencyCounts {
 public:
  static constexpr size_t kBuckets = 256;

  void Add(Duration latency);
  void Merge(const LatencyCounts& other);
  int64_t count() const { return count_; }
  const std::array<int64_t, kBuckets>& buckets() const { return buckets_; }
  // The upper end of the bucket that contains the quantile, in milliseconds; 0 if nothing was counted.
  double QuantileMs(double quantile) const;
  // The quantile, interpolated within its bucket, in milliseconds; 0 if nothing was counted. For comparisons, in which
  // a step from one bucket to the next would look like a difference of 9 %.
  double InterpolatedMs(double quantile) const;
  // The longest latency, exactly; 0 when nothing was counted.
  double MaxMs() const;
  // The buckets that are not empty, as pairs of their upper end in microseconds and their count. Programs that read
  // them can merge the latencies of several segments.
  Json ToJson() const;
  // Reads the result of ToJson; the longest latency becomes the upper end of the last bucket. InvalidArgument if it is
  // not a list of such pairs.
  static Result<LatencyCounts> FromJson(const Json& json);

 private:
  std::array<int64_t, kBuckets> buckets_{};
  int64_t count_ = 0;
  Duration max_{0};
};

}  // namespace longshore::load

// Run times as counts per bucket of common/base/buckets.h.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/base/clock.h"
#include "controller/api/types.h"

namespace longshore::analysis {

using Buckets = api::TimeBuckets;
using BucketsByRows = std::map<int, Buckets>;
inline constexpr int kBucketsMax = 320;  // 2^40 us, twelve days; longer times count in the last bucket.

int64_t Total(const Buckets& buckets);
// Number of samples slower than the upper edge of `bucket`.
int64_t CountAbove(const Buckets& buckets, int bucket);
// The first bucket that reaches this quantile. Requires: Total(buckets) > 0.
int QuantileBucket(const Buckets& buckets, double quantile);
// The same questions about one histogram, many times: the counts are added up only once.
class CumulativeBuckets {
 public:
  explicit CumulativeBuckets(const Buckets& buckets);
  int64_t Total() const { return up_to_.empty() ? 0 : up_to_.back(); }
  int64_t CountAbove(int bucket) const;
  // Requires: Total() > 0.
  int QuantileBucket(double quantile) const;

 private:
  std::vector<int64_t> up_to_;  // The number of samples in each bucket and in those below it.
};
// The bucket to which a time belongs.
int BucketOf(Duration time);
void AddTo(const Buckets& more, Buckets& total);
// Adds the counts for each number of rows.
void AddTo(const BucketsByRows& more, BucketsByRows& total);
// The sum over all numbers of rows.
Buckets Sum(const BucketsByRows& by_rows);

}  // namespace longshore::analysis

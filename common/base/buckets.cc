#include "common/base/buckets.h"

#include <algorithm>
#include <cmath>

namespace longshore {
namespace {

constexpr double kPerDoubling = 8;

}  // namespace

int TimeBucketOf(Duration time) {
  if (time.count() <= 1) return 0;
  // Powers of two are the only whole numbers that are equal to a bucket's upper bound, and std::log2 of them is exact.
  return static_cast<int>(std::ceil(kPerDoubling * std::log2(static_cast<double>(time.count()))));
}

int RatioBucketOf(double log2_ratio) {
  const double bucket = kRatioBucketOfOne + std::ceil(kRatioBucketsPerDoubling * log2_ratio);
  return static_cast<int>(std::clamp(bucket, 0.0, kRatioBuckets - 1.0));
}

double TimeBucketUpperMicroseconds(int bucket) { return std::exp2(bucket / kPerDoubling); }

}  // namespace longshore

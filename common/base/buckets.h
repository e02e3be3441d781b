// The histogram buckets in which nodes, the controller and tools count times, and ratios of times.
//
// Times: the upper bound doubles every eight
// buckets: bucket i holds times in (2^((i-1)/8), 2^(i/8)] microseconds, and bucket 0 holds all times up to 1
// microsecond. The message `Evidence` in control.proto has the same buckets.
//
// Ratios: the run time of a candidate divided by that of stable, for the same input. Bucket i holds ratios in
// (2^((i-65)/16), 2^((i-64)/16)]; the first and the last bucket also hold all ratios beyond. The message `PairEvidence`
// has the same buckets.
#pragma once

#include "common/base/clock.h"

namespace longshore {

// Returns the bucket of a time, from 0 to 504. The result is exact for times at a bucket's upper bound, at least up to
// 2^40 microseconds: 1024 us belong to bucket 80, 1025 us to bucket 81.
int TimeBucketOf(Duration time);

// The longest time that belongs to the bucket, in microseconds.
double TimeBucketUpperMicroseconds(int bucket);

inline constexpr int kRatioBucketOfOne = 64;  // The bucket that ends at a ratio of 1.
inline constexpr int kRatioBucketsPerDoubling = 16;
inline constexpr int kRatioBuckets = 129;  // Their number.

// Returns the bucket of a ratio, given by its binary logarithm.
int RatioBucketOf(double log2_ratio);

}  // namespace longshore

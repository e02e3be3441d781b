// The buckets in which nodes, controller and tools count times, eight to a doubling: bucket i holds times in
// (2^((i-1)/8), 2^(i/8)] microseconds, bucket 0 all up to 1 (control.proto, Evidence).
#pragma once

#include "common/clock.h"

namespace longshore {

// 0 to 504. Exact at the edges, up to 2^40 microseconds at least: 1024 are in bucket 80, 1025 in 81.
int TimeBucketOf(Duration time);

// The longest time of the bucket.
double TimeBucketUpperMicroseconds(int bucket);

}  // namespace longshore

// The histogram buckets in which nodes, the controller and tools count times. Eight buckets double the time: bucket i
// holds times in (2^((i-1)/8), 2^(i/8)] microseconds, bucket 0 all times up to 1 microsecond (control.proto, Evidence).
#pragma once

#include "common/base/clock.h"

namespace longshore {

// The bucket of a time, 0 to 504. Exact at the edges, at least up to 2^40 microseconds: 1024 us belong to bucket 80,
// 1025 us to bucket 81.
int TimeBucketOf(Duration time);

// The longest time that belongs to the bucket, in microseconds.
double TimeBucketUpperMicroseconds(int bucket);

}  // namespace longshore

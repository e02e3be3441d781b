#include "common/base/buckets.h"

#include <cmath>

namespace longshore {
namespace {

constexpr double kPerDoubling = 8;

}  // namespace

int TimeBucketOf(Duration time) {
  if (time.count() <= 1) return 0;
  // Powers of two are the only whole numbers on an edge, and their logarithms are exact.
  return static_cast<int>(std::ceil(kPerDoubling * std::log2(static_cast<double>(time.count()))));
}

double TimeBucketUpperMicroseconds(int bucket) { return std::exp2(bucket / kPerDoubling); }

}  // namespace longshore

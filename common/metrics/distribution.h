// A histogram for several metric families with different buckets: each value is observed once, and read with the
// buckets of each family. A histogram of prometheus-cpp has the buckets of only one family, and takes a lock for each
// value.
//
//   Distribution latency(TimeBounds());                  // Microseconds.
//   latency.Observe(250);
//   latency.Read(SecondsBounds());                       // For longshore_request_seconds,
//   latency.Read(ServingBounds());                       // for :tensorflow:serving:request_latency.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace longshore::metrics {

// Upper bounds of buckets, ascending.
using Bounds = std::vector<double>;

// Returns all bounds of the given lists, ascending and each one once.
Bounds Union(const std::vector<Bounds>& all);
// Returns first, first * factor, first * factor^2, ..., rounded to six significant digits.
Bounds Exponential(double first, double factor, int count);

// Bounds of times in microseconds. SecondsBounds has the bounds of metrics::SecondsBuckets. ServingBounds has those of
// TensorFlow Serving's latency metrics (10 us times powers of 1.8), QueuingBounds those of its batching queues.
// TimeBounds has all these bounds.
const Bounds& SecondsBounds();
const Bounds& ServingBounds();
const Bounds& QueuingBounds();
const Bounds& TimeBounds();
// Bounds of counts: 1, 2, 4, ... 16384.
const Bounds& CountBounds();

// The number of observations per bucket. The last bucket counts the observations above the last bound.
struct Buckets {
  Bounds bounds;
  std::vector<int64_t> counts;
  double sum = 0;

  int64_t count() const;
  // Requires: `other` has the same bounds.
  void Add(const Buckets& other);
  // Divides the bounds and the sum by `units`, to convert them to another unit.
  void DivideBy(double units);
};

// Thread-safe without locks. A reader may see an observation in the counts before it is in the sum.
class Distribution {
 public:
  // `bounds` must outlive the distribution.
  explicit Distribution(const Bounds& bounds);

  void Observe(double value);
  // Requires: `other` has the same bounds.
  void Add(const Distribution& other);
  // Requires: the distribution has all of `bounds`.
  Buckets Read(const Bounds& bounds) const;

 private:
  const Bounds& bounds_;
  const std::unique_ptr<std::atomic<int64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

}  // namespace longshore::metrics

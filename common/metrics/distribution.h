// A histogram that several families of metrics show, each with buckets of its own: one observation feeds them all.
//
//   Distribution latency(TimeBounds());                  // Microseconds.
//   latency.Observe(250);
//   latency.Read(SecondsBounds());                       // What longshore_request_seconds shows,
//   latency.Read(ServingBounds());                       // and :tensorflow:serving:request_latency.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace longshore::metrics {

// Upper bounds of buckets, rising.
using Bounds = std::vector<double>;

// All that are in one of them.
Bounds Union(const std::vector<Bounds>& all);
// first, first * factor, ... to six digits.
Bounds Exponential(double first, double factor, int count);

// Of times in microseconds. SecondsBounds are those of SecondsBuckets; ServingBounds those of TensorFlow Serving's
// latencies (10 us times powers of 1.8), QueuingBounds those of its batching queues; TimeBounds holds all of them.
const Bounds& SecondsBounds();
const Bounds& ServingBounds();
const Bounds& QueuingBounds();
const Bounds& TimeBounds();
// Of counts: 1, 2, 4, ... 16384.
const Bounds& CountBounds();

// How many observations each bucket holds, the last one all above the last bound.
struct Buckets {
  Bounds bounds;
  std::vector<int64_t> counts;
  double sum = 0;

  int64_t count() const;
  // Requires: the same bounds.
  void Add(const Buckets& other);
  // Bounds and sum in another unit.
  void DivideBy(double units);
};

// Thread-safe without locks. A reader may see an observation's count before its share of the sum.
class Distribution {
 public:
  // `bounds` must outlive it.
  explicit Distribution(const Bounds& bounds);

  void Observe(double value);
  // Requires: the same bounds.
  void Add(const Distribution& other);
  // Requires: every one of `bounds` is one of its own.
  Buckets Read(const Bounds& bounds) const;

 private:
  const Bounds& bounds_;
  const std::unique_ptr<std::atomic<int64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

}  // namespace longshore::metrics

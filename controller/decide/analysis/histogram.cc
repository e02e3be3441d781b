#include "controller/decide/analysis/histogram.h"

#include <algorithm>
#include <numeric>

#include "common/base/buckets.h"

namespace longshore::analysis {

int64_t Total(const Buckets& buckets) { return std::accumulate(buckets.begin(), buckets.end(), int64_t{0}); }

int64_t CountAbove(const Buckets& buckets, int bucket) {
  const size_t first = static_cast<size_t>(std::max(bucket + 1, 0));
  if (first >= buckets.size()) return 0;
  return std::accumulate(buckets.begin() + static_cast<std::ptrdiff_t>(first), buckets.end(), int64_t{0});
}

int QuantileBucket(const Buckets& buckets, double quantile) {
  const double wanted = quantile * static_cast<double>(Total(buckets));
  int64_t seen = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    seen += buckets[i];
    if (seen > 0 && static_cast<double>(seen) >= wanted) return static_cast<int>(i);
  }
  return static_cast<int>(buckets.size()) - 1;
}

int BucketOf(Duration time) { return std::min(TimeBucketOf(time), kBucketsMax - 1); }

void AddTo(const Buckets& more, Buckets& total) {
  const size_t size = std::min<size_t>(more.size(), kBucketsMax);
  if (total.size() < size) total.resize(size);
  for (size_t i = 0; i < more.size(); ++i) total[std::min(i, total.size() - 1)] += more[i];
}

void AddTo(const BucketsByRows& more, BucketsByRows& total) {
  for (const auto& [rows, buckets] : more) AddTo(buckets, total[rows]);
}

Buckets Sum(const BucketsByRows& by_rows) {
  Buckets sum;
  for (const auto& [_, buckets] : by_rows) AddTo(buckets, sum);
  return sum;
}

}  // namespace longshore::analysis

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
  return CumulativeBuckets(buckets).QuantileBucket(quantile);
}

CumulativeBuckets::CumulativeBuckets(const Buckets& buckets) : up_to_(buckets.size()) {
  std::partial_sum(buckets.begin(), buckets.end(), up_to_.begin());
}

int64_t CumulativeBuckets::CountAbove(int bucket) const {
  if (bucket < 0 || up_to_.empty()) return Total();
  return Total() - up_to_[std::min(static_cast<size_t>(bucket), up_to_.size() - 1)];
}

int CumulativeBuckets::QuantileBucket(double quantile) const {
  const double wanted = quantile * static_cast<double>(Total());
  const auto reaches = [&](int64_t count) { return count > 0 && static_cast<double>(count) >= wanted; };
  const auto at = std::ranges::partition_point(up_to_, [&](int64_t count) { return !reaches(count); });
  return static_cast<int>(std::min<std::ptrdiff_t>(at - up_to_.begin(), std::ssize(up_to_) - 1));
}

int BucketOf(Duration time) { return std::min(TimeBucketOf(time), kBucketsMax - 1); }

void AddTo(const Buckets& more, Buckets& total) {
  const size_t size = std::min<size_t>(more.size(), kBucketsMax);
  if (total.size() < size) total.resize(size);
  for (size_t i = 0; i < size; ++i) total[i] += more[i];
  for (size_t i = size; i < more.size(); ++i) total.back() += more[i];
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

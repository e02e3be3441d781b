#include "tests/load/latency.h"

#include <algorithm>

#include "common/base/buckets.h"

namespace longshore::load {
namespace {

size_t BucketOf(Duration latency) {
  return std::min(static_cast<size_t>(TimeBucketOf(latency)), LatencyCounts::kBuckets - 1);
}

double UpperUs(size_t bucket) { return TimeBucketUpperMicroseconds(static_cast<int>(bucket)); }
double UpperMs(size_t bucket) { return UpperUs(bucket) / 1000; }

// Returns the bucket whose upper end was written as this number.
size_t BucketEndingAt(double upper_us) {
  size_t bucket = 0;
  while (bucket + 1 < LatencyCounts::kBuckets && UpperUs(bucket) * 1.001 < upper_us) ++bucket;
  return bucket;
}

}  // namespace

void LatencyCounts::Add(Duration latency) {
  buckets_[BucketOf(latency)] += 1;
  count_ += 1;
  max_ = std::max(max_, latency);
}

void LatencyCounts::Merge(const LatencyCounts& other) {
  for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

double LatencyCounts::QuantileMs(double quantile) const {
  const double wanted = quantile * static_cast<double>(count_);
  int64_t seen = 0;
  for (size_t i = 0; i < buckets_.size() && count_ > 0; ++i) {
    seen += buckets_[i];
    if (static_cast<double>(seen) >= wanted) return UpperMs(i);
  }
  return 0;
}

double LatencyCounts::InterpolatedMs(double quantile) const {
  const double wanted = quantile * static_cast<double>(count_);
  double seen = 0;
  for (size_t i = 0; i < buckets_.size() && count_ > 0; ++i) {
    const auto here = static_cast<double>(buckets_[i]);
    if (here > 0 && seen + here >= wanted) {
      const double lower = i == 0 ? 0 : UpperMs(i - 1);
      return lower + (UpperMs(i) - lower) * (wanted - seen) / here;
    }
    seen += here;
  }
  return 0;
}

double LatencyCounts::MaxMs() const { return std::chrono::duration<double, std::milli>(max_).count(); }

Json LatencyCounts::ToJson() const {
  Json buckets = Json::array();
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i] > 0) buckets.push_back({UpperUs(i), buckets_[i]});
  }
  return buckets;
}

Result<LatencyCounts> LatencyCounts::FromJson(const Json& json) {
  LatencyCounts counts;
  for (const Json& pair : json) {
    const bool is_pair = pair.is_array() && pair.size() == 2 && pair[0].is_number() && pair[1].is_number_integer();
    if (!is_pair || pair[1] < 0) return InvalidArgument("{} is not a bucket of latencies", pair.dump());
    const size_t bucket = BucketEndingAt(pair[0].get<double>());
    counts.buckets_[bucket] += pair[1].get<int64_t>();
    counts.count_ += pair[1].get<int64_t>();
    counts.max_ = std::max(counts.max_, Duration(static_cast<int64_t>(UpperUs(bucket))));
  }
  return counts;
}

}  // namespace longshore::load

#include "common/metrics/distribution.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "common/base/error.h"

namespace longshore::metrics {
namespace {

constexpr double kMicroseconds = 1e6;

double ToSixDigits(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

}  // namespace

Bounds Union(const std::vector<Bounds>& all) {
  Bounds merged;
  for (const Bounds& each : all) merged.insert(merged.end(), each.begin(), each.end());
  std::ranges::sort(merged);
  const auto rest = std::ranges::unique(merged);
  merged.erase(rest.begin(), rest.end());
  return merged;
}

Bounds Exponential(double first, double factor, int count) {
  Bounds bounds;
  for (int i = 0; i < count; ++i) bounds.push_back(ToSixDigits(first * std::pow(factor, i)));
  return bounds;
}

const Bounds& SecondsBounds() {
  static const Bounds bounds = [] {
    Bounds made;
    for (double power = 1e2; power <= 1e7; power *= 10) {
      for (const double step : {1, 2, 3, 5}) made.push_back(step * power);
    }
    made.push_back(100 * kMicroseconds);
    return made;
  }();
  return bounds;
}

const Bounds& ServingBounds() {
  static const Bounds bounds = Exponential(10, 1.8, 33);
  return bounds;
}

const Bounds& QueuingBounds() {
  static const Bounds bounds = Exponential(100, 1.2, 52);
  return bounds;
}

const Bounds& TimeBounds() {
  static const Bounds bounds = Union({SecondsBounds(), ServingBounds(), QueuingBounds()});
  return bounds;
}

const Bounds& CountBounds() {
  static const Bounds bounds = Exponential(1, 2, 15);
  return bounds;
}

int64_t Buckets::count() const { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

void Buckets::Add(const Buckets& other) {
  CHECK(bounds == other.bounds);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  sum += other.sum;
}

void Buckets::DivideBy(double units) {
  for (double& bound : bounds) bound /= units;
  sum /= units;
}

Distribution::Distribution(const Bounds& bounds)
    : bounds_(bounds), counts_(std::make_unique<std::atomic<int64_t>[]>(bounds.size() + 1)) {}

void Distribution::Observe(double value) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void Distribution::Add(const Distribution& other) {
  CHECK(&bounds_ == &other.bounds_);
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    counts_[i].fetch_add(other.counts_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  sum_.fetch_add(other.sum_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

Buckets Distribution::Read(const Bounds& bounds) const {
  Buckets read{bounds, std::vector<int64_t>(bounds.size() + 1), sum_.load(std::memory_order_relaxed)};
  size_t to = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    read.counts[to] += counts_[i].load(std::memory_order_relaxed);
    if (i < bounds_.size() && to < bounds.size() && bounds_[i] == bounds[to]) ++to;
  }
  CHECK(to == bounds.size());
  return read;
}

}  // namespace longshore::metrics

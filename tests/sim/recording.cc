#include "tests/sim/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace longshore::sim {
namespace {

// Buckets of run times with 16 per doubling, from 2 ms to 4 s. That is finer than the buckets of usual histograms in
// Prometheus, so the quantiles of the peers are better than in practice.
constexpr int kPerDoubling = 16;
constexpr double kFirstLog = 11;  // The binary logarithm of 2,048 us.
constexpr int kBuckets = 11 * kPerDoubling + 1;

double UpperMicroseconds(int bucket) { return std::exp2(kFirstLog + static_cast<double>(bucket) / kPerDoubling); }

size_t BucketOf(double run_time_us) {
  const double bucket = std::ceil((std::log2(run_time_us) - kFirstLog) * kPerDoubling);
  return static_cast<size_t>(std::clamp(bucket, 0.0, kBuckets - 1.0));
}

}  // namespace

void Recording::AddArm(const api::ArmEvidence& evidence, const std::vector<double>& run_times_us, Arm& arm) const {
  arm.requests += evidence.requests;
  arm.errors += evidence.errors;
  if (!options_.run_times) return;
  arm.run_times.resize(kBuckets);
  for (const double run_time : run_times_us) ++arm.run_times[BucketOf(run_time)];
}

void Recording::Add(double seconds, const Period& period) {
  points_.resize(static_cast<size_t>(std::ceil(seconds / options_.interval_seconds)));
  Point& point = points_.back();
  const analysis::WindowEvidence sum = analysis::Sum(period.windows);
  AddArm(sum.candidate, period.candidate_run_times_us, point.candidate);
  AddArm(sum.stable, period.stable_run_times_us, point.stable);
}

void Recording::WriteArm(const char* name, const Arm& arm, std::string& line) const {
  const auto to = std::back_inserter(line);
  fmt::format_to(to, ",\"{0}_requests\":{1},\"{0}_errors\":{2}", name, arm.requests, arm.errors);
  if (options_.run_times) fmt::format_to(to, ",\"{}_run_times\":[{}]", name, fmt::join(arm.run_times, ","));
}

std::string Recording::Line(uint64_t id) const {
  std::string line = fmt::format("{{\"id\":{},\"interval_seconds\":{}", id, options_.interval_seconds);
  const auto to = std::back_inserter(line);
  if (options_.run_times) {
    fmt::format_to(to, ",\"run_time_bounds_us\":[");
    for (int i = 0; i < kBuckets; ++i) fmt::format_to(to, "{}{:.1f}", i == 0 ? "" : ",", UpperMicroseconds(i));
    line += ']';
  }
  line += ",\"points\":[";
  for (size_t i = 0; i < points_.size(); ++i) {
    fmt::format_to(to, "{}{{\"t\":{}", i == 0 ? "" : ",", (i + 1) * static_cast<size_t>(options_.interval_seconds));
    WriteArm("candidate", points_[i].candidate, line);
    WriteArm("stable", points_[i].stable, line);
    line += '}';
  }
  return line + "]}";
}

}  // namespace longshore::sim

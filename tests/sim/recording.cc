#include "tests/sim/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "common/json/json.h"

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

void WritePast(const Past& past, std::string& line) {
  Json known = Json::object();
  if (past.error_share > 0) known["error_share"] = past.error_share;
  if (past.p50_us > 0) known["p50_us"] = past.p50_us;
  if (past.p90_us > 0) known["p90_us"] = past.p90_us;
  if (past.p99_us > 0) known["p99_us"] = past.p99_us;
  if (!known.empty()) line += ",\"stable_past\":" + known.dump();
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

Recording::Range Recording::UsedBuckets() const {
  Range range{kBuckets, 0};
  for (const Point& point : points_) {
    for (const Arm* arm : {&point.candidate, &point.stable}) {
      for (int i = 0; i < std::ssize(arm->run_times); ++i) {
        if (arm->run_times[static_cast<size_t>(i)] > 0) range = {std::min(range.begin, i), std::max(range.end, i + 1)};
      }
    }
  }
  if (range.end == 0) return {0, 1};
  return {std::max(range.begin - 1, 0), range.end};
}

void Recording::WriteArm(const char* name, const Arm& arm, const Range& range, std::string& line) const {
  const auto to = std::back_inserter(line);
  fmt::format_to(to, ",\"{0}_requests\":{1},\"{0}_errors\":{2}", name, arm.requests, arm.errors);
  if (!options_.run_times) return;
  const std::span counts(arm.run_times.begin() + range.begin, arm.run_times.begin() + range.end);
  fmt::format_to(to, ",\"{}_run_times\":[{}]", name, fmt::join(counts, ","));
}

std::string Recording::Line(uint64_t id) const {
  std::string line = fmt::format("{{\"id\":{},\"interval_seconds\":{}", id, options_.interval_seconds);
  const Range range = UsedBuckets();
  WritePast(options_.past, line);
  const auto to = std::back_inserter(line);
  if (options_.run_times) {
    line += ",\"run_time_bounds_us\":[";
    for (int i = range.begin; i < range.end; ++i) {
      fmt::format_to(to, "{}{:.1f}", i == range.begin ? "" : ",", UpperMicroseconds(i));
    }
    line += ']';
  }
  line += ",\"points\":[";
  for (size_t i = 0; i < points_.size(); ++i) {
    fmt::format_to(to, "{}{{\"t\":{}", i == 0 ? "" : ",", (i + 1) * static_cast<size_t>(options_.interval_seconds));
    WriteArm("candidate", points_[i].candidate, range, line);
    WriteArm("stable", points_[i].stable, range, line);
    line += '}';
  }
  return line + "]}";
}

}  // namespace longshore::sim

#include "controller/decide/analysis/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/base/error.h"
#include "controller/decide/analysis/pairs.h"

namespace longshore::analysis {
namespace {

// The bound is tightest near this variance, which is that of a few errors.
constexpr double kVarianceTuned = 5;
// The quantile of the normal distribution for a power of 80 %.
constexpr double kQuantileOfPower = 0.8416;

// The position below which so many samples lie, in buckets: 2.5 is the middle of bucket 2 on a logarithmic scale.
// Returns nullopt if there is no such position.
std::optional<double> PositionOfRank(const Buckets& buckets, double rank) {
  if (rank <= 0) return std::nullopt;
  double below = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const auto count = static_cast<double>(buckets[i]);
    if (count > 0 && below + count >= rank) return static_cast<double>(i) + (rank - below) / count;
    below += count;
  }
  return std::nullopt;
}

// The interval of the median's position; nullopt if the samples are too few.
std::optional<Interval> MedianPosition(const Buckets& buckets, double alpha) {
  const auto samples = static_cast<double>(Total(buckets));
  const double bound = SumBound(samples / 4, alpha);
  const auto low = PositionOfRank(buckets, samples / 2 - bound);
  const auto high = PositionOfRank(buckets, samples / 2 + bound);
  if (!low || !high) return std::nullopt;
  return Interval{*low, *high};
}

}  // namespace

Interval MedianRatio(const Buckets& candidate, const Buckets& stable, double confidence) {
  const auto of_candidate = MedianPosition(candidate, (1 - confidence) / 2);
  const auto of_stable = MedianPosition(stable, (1 - confidence) / 2);
  if (!of_candidate || !of_stable) return {0, std::numeric_limits<double>::infinity()};
  return {std::exp2((of_candidate->low - of_stable->high) / 8), std::exp2((of_candidate->high - of_stable->low) / 8)};
}

Interval MedianOfRatios(const Buckets& ratio_buckets, double confidence) {
  const auto position = MedianPosition(ratio_buckets, 1 - confidence);
  if (!position) return {0, std::numeric_limits<double>::infinity()};
  const auto ratio = [](double at) { return std::exp2((at - kRatioBucketOfOne - 1) / kRatioBucketsPerDoubling); };
  return {ratio(position->low), ratio(position->high)};
}

// The mixture of normal distributions of Robbins (1970), as in arXiv:2103.06476, equation 6.
double SumBound(double variance, double alpha) {
  const double log = -2 * std::log(alpha);
  const double square = (log + std::log1p(log)) / kVarianceTuned;
  const double scaled = variance * square + 1;
  return std::sqrt(2 * scaled / square * std::log(std::sqrt(scaled) / alpha));
}

void RateDifference::Add(const Block& block, double rate) {
  const auto candidate = static_cast<double>(block.candidate_requests);
  const auto stable = static_cast<double>(block.stable_requests);
  if (candidate == 0 || stable == 0) return;
  const double block_weight = candidate * stable / (candidate + stable);
  weight += block_weight;
  sum += block_weight *
         (static_cast<double>(block.candidate_events) / candidate - static_cast<double>(block.stable_events) / stable);
  variance += block_weight * rate * (1 - rate);
}

Interval RateDifference::At(double confidence) const {
  if (weight == 0) return {-1, 1};
  const double radius = SumBound(variance, 1 - confidence) / weight;
  return {std::max(estimate() - radius, -1.0), std::min(estimate() + radius, 1.0)};
}

double RateDifference::Detectable(double alpha) const {
  if (weight == 0) return 1;
  return std::min(1.0, (SumBound(variance, 2 * alpha) + kQuantileOfPower * std::sqrt(variance)) / weight);
}

std::string TwoDigits(double number) {
  constexpr double kDecimalsMax = 6;
  if (number <= 0) return "0";
  const auto decimals_of = [&](double of) { return std::clamp(1 - std::floor(std::log10(of)), 0.0, kDecimalsMax); };
  const double scale = std::pow(10, decimals_of(number));
  const double rounded = std::round(number * scale) / scale;  // 9.96 becomes 10.0, which needs one decimal less.
  return fmt::format("{:.{}f}", number, static_cast<int>(decimals_of(rounded)));
}

std::string RatioText(double ratio) {
  return fmt::format("{} % {}", TwoDigits(100 * std::abs(ratio - 1)), ratio < 1 ? "shorter" : "longer");
}

std::string RatioIntervalText(double low, double high) {
  const std::string most = fmt::format("more than {:.0f} times as long", kRatioTold);
  const std::string least = fmt::format("less than 1/{:.0f} as long", kRatioTold);
  if (low >= kRatioTold) return most;
  if (high <= 1 / kRatioTold) return least;
  return fmt::format("{} to {}", low <= 1 / kRatioTold ? least : RatioText(low),
                     high >= kRatioTold ? most : RatioText(high));
}

std::optional<double> EvidenceNeeded(double e, double limit) {
  constexpr double kGrownMin = 1.5;
  return e > kGrownMin ? std::optional(std::log(limit) / std::log(e)) : std::nullopt;
}

}  // namespace longshore::analysis

// Estimates with intervals, for people: how much worse or better than stable the candidate may be. The verdict does not
// depend on them.
//
// The intervals are asymptotic confidence sequences (Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas, arXiv:2103.06476):
// with many observations they hold at all times at once, as the tests do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/statistics/evalue.h"
#include "controller/decide/analysis/histogram.h"

namespace longshore::analysis {

using statistics::Block;

struct Interval {
  double low = 0;
  double high = 0;
};

// The difference of two error rates, summed over blocks with the weights of Mantel and Haenszel, n_c n_s / (n_c + n_s).
// So nodes, hours and steps with different error rates and different weights of the candidate do not bias it.
struct RateDifference {
  double weight = 0;
  double sum = 0;       // The sum of weight times difference over the blocks.
  double variance = 0;  // The variance of `sum`.

  // Adds a block; `rate` is the error rate of both versions so far.
  void Add(const Block& block, double rate);
  double estimate() const { return weight > 0 ? sum / weight : 0; }
  // The interval that contains the true difference at all times with the probability `confidence`; from -1 to 1 without
  // data.
  Interval At(double confidence) const;
  // The smallest true difference that a test of this size, with the error probability alpha at all times, finds with a
  // probability of 80 %; 1 without data.
  double Detectable(double alpha) const;

  friend bool operator==(const RateDifference&, const RateDifference&) = default;
};

// The interval of the ratio of two medians: the candidate's run time divided by stable's, from histograms with the
// buckets of common/base/buckets.h. From 0 to infinity without enough data.
Interval MedianRatio(const Buckets& candidate, const Buckets& stable, double confidence);
// The interval of the median of the ratios of pairs, from PairEvidence::ratio_buckets.
Interval MedianOfRatios(const Buckets& ratio_buckets, double confidence);

// The bound that a sum with this variance stays within at all times, on both sides, with the probability 1 - alpha.
double SumBound(double variance, double alpha);

// The number with two digits, without an exponent: "0.021", "2.1", "210".
std::string TwoDigits(double number);
// A ratio of two run times: "2.1 % shorter", "14 % longer".
std::string RatioText(double ratio);
// An interval of such ratios: "2.1 % shorter to 14 % longer". Ratios of pairs are counted up to 16 only
// (common/base/buckets.h), so that a bound above kRatioTold, or below its inverse, is not told as a number.
inline constexpr double kRatioTold = 15;
std::string RatioIntervalText(double low, double high);

// How many times the evidence so far an e-value needs to reach its limit, if it goes on growing as it has so far; at
// most 1 if it has reached it, nullopt if it has hardly grown.
std::optional<double> EvidenceNeeded(double e, double limit);

}  // namespace longshore::analysis

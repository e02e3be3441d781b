#include "controller/decide/analysis/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace longshore::analysis {
namespace {

using statistics::LogEValueAgainst;

constexpr double kRateMin = 1e-9;
constexpr double kRateMax = 1 - 1e-9;

// The relative entropy of two Bernoulli distributions, of p with respect to q.
double RelativeEntropy(double p, double q) { return p * std::log(p / q) + (1 - p) * (std::log1p(-p) - std::log1p(-q)); }

// A part of the boundary of the null hypothesis: candidate = offset + slope * stable, for stable from `from` to `to`.
struct Line {
  double offset = 0;
  double slope = 1;
  double from = kRateMin;
  double to = kRateMax;

  double CandidateAt(double stable) const { return offset + slope * stable; }
};

struct Weighted {
  Rates alternative;
  double candidate_requests = 0;
  double stable_requests = 0;

  double EntropyAt(const Rates& rates) const {
    return candidate_requests * RelativeEntropy(alternative.candidate, rates.candidate) +
           stable_requests * RelativeEntropy(alternative.stable, rates.stable);
  }
  // Whether EntropyAt falls along the line: whether its derivative is negative. The derivative is multiplied by both
  // variances, which are positive, because divisions are slow.
  bool FallsAt(double stable, const Line& line) const {
    const double candidate = line.CandidateAt(stable);
    return line.slope * candidate_requests * (candidate - alternative.candidate) * (stable * (1 - stable)) +
               stable_requests * (stable - alternative.stable) * (candidate * (1 - candidate)) <
           0;
  }
};

// The point of the line with the lowest entropy. The entropy is convex along the line.
Rates LowestOn(const Line& line, const Weighted& weighted) {
  double low = line.from;
  double high = line.to;
  constexpr int kBisections = 40;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (weighted.FallsAt(middle, line) ? low : high) = middle;
  }
  const double stable = (low + high) / 2;
  return {line.CandidateAt(stable), stable};
}

}  // namespace

double ErrorTolerance::LimitFor(double stable_rate) const {
  return stable_rate + std::max(absolute, relative * stable_rate);
}

ErrorTolerance ToleranceOf(const api::AnalysisErrorRate& spec) { return {spec.tolerance, spec.relative_tolerance}; }

Rates NearestTooBad(const Rates& alternative, double candidate_requests, double stable_requests,
                    const ErrorTolerance& tolerance) {
  const Weighted weighted{alternative, candidate_requests, stable_requests};
  // The absolute part of the tolerance is the larger one up to this error rate of stable.
  const double turn = tolerance.relative > 0 ? tolerance.absolute / tolerance.relative : kRateMax;
  const Line absolute{tolerance.absolute, 1, kRateMin, std::min(turn, kRateMax - tolerance.absolute)};
  const Line relative{0, 1 + tolerance.relative, std::max(turn, kRateMin), kRateMax / (1 + tolerance.relative)};
  Rates nearest;
  double lowest = std::numeric_limits<double>::infinity();
  for (const Line& line : {absolute, relative}) {
    if (line.from >= line.to) continue;
    const Rates rates = LowestOn(line, weighted);
    const double entropy = weighted.EntropyAt(rates);
    if (entropy >= lowest) continue;
    nearest = rates;
    lowest = entropy;
  }
  return nearest;
}

double LogEValueOfTooBad(const Block& block, const Rates& alternative, const ErrorTolerance& tolerance) {
  if (block.candidate_requests == 0 || block.stable_requests == 0) return 0;
  if (alternative.candidate >= tolerance.LimitFor(alternative.stable)) return 0;
  const Rates null = NearestTooBad(alternative, static_cast<double>(block.candidate_requests),
                                   static_cast<double>(block.stable_requests), tolerance);
  if (null.candidate <= 0) return 0;  // No error rate is too high: the limit is above 1.
  return LogEValueAgainst(null.candidate, block.candidate_requests, block.candidate_events, alternative.candidate) +
         LogEValueAgainst(null.stable, block.stable_requests, block.stable_events, alternative.stable);
}

void ProveErrors(const Block& block, double stable_rate, const ErrorTolerance& tolerance,
                 statistics::EProcess& process) {
  for (size_t i = 0; i < kErrorFactors.size(); ++i) {
    const Rates alternative{stable_rate * kErrorFactors[i].value, stable_rate};
    Multiply(process, kErrorFactors, i, LogEValueOfTooBad(block, alternative, tolerance));
  }
}

double GrowthPerRequest(double candidate_share, const Rates& alternative, const ErrorTolerance& tolerance) {
  if (alternative.candidate >= tolerance.LimitFor(alternative.stable)) return 0;
  const Weighted weighted{alternative, candidate_share, 1 - candidate_share};
  const Rates null = NearestTooBad(alternative, candidate_share, 1 - candidate_share, tolerance);
  return null.candidate <= 0 ? 0 : weighted.EntropyAt(null);
}

}  // namespace longshore::analysis

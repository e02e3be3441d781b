// Tests on pairs: inputs that a node ran on both versions, one right after the other, in alternating order.
//
// Suppose that the candidate is no worse than stable. Then it failed in at most half of the pairs in which exactly one
// version failed, and its run time exceeds stable's by more than the tolerance in at most half of the pairs.
// So each pair that tells the versions apart is the throw of a coin. This holds whatever the inputs are, who sent them
// and how they depend on each other, because both versions get the same ones.
#pragma once

#include <array>
#include <cstdint>

#include "common/base/buckets.h"
#include "common/statistics/eprocess.h"
#include "controller/api/types.h"
#include "controller/decide/analysis/tolerance.h"

namespace longshore::analysis {

using statistics::Alternative;
using statistics::EProcess;
using statistics::Mixture;

// Adds the counts of `more` to `total`.
void Add(const api::PairDrops& more, api::PairDrops& total);
void Add(const api::PairEvidence& more, api::PairEvidence& total);

// Number of pairs with a ratio above the upper edge of `bucket`; with at most that ratio.
int64_t PairsAbove(const api::PairEvidence& pairs, int bucket);
int64_t PairsUpTo(const api::PairEvidence& pairs, int bucket);

// How many times a coin fell on each side.
struct Throws {
  int64_t candidate = 0;  // The candidate did worse.
  int64_t stable = 0;     // Stable did worse.
};

// The pairs on which only one version failed.
Throws ErrorThrows(const api::PairEvidence& pairs);

// The pairs of which the candidate's run time divided by stable's is above or below (1 + tolerance) by at least the
// factor 2^(margin / 16). A margin of 0 takes all pairs and sees small changes of every run; a large one sees that a
// few inputs have become much slower. `tolerance` and `margin` are in buckets.
struct RatioLimits {
  int tolerance = 0;
  int margin = 0;
};
Throws RunTimeThrows(const api::PairEvidence& pairs, const RatioLimits& limits);

// Margins that RunTimeThrows is used with, with their weights.
inline constexpr std::array<Alternative, 3> kMargins = {{{0, 0.6}, {6, 0.2}, {16, 0.2}}};

// Alternatives: the probability that the candidate does worse in a throw. TestCoin is for the null hypothesis that it
// is at most 1/2, ProveCoin for the null hypothesis that it is at least 1/2.
inline constexpr std::array<Alternative, 6> kWorseCoins = {
    {{0.57, 0.2}, {0.6, 0.2}, {0.67, 0.25}, {0.75, 0.15}, {0.9, 0.1}, {0.99, 0.1}}};
inline constexpr std::array<Alternative, 7> kBetterCoins = {
    {{0.48, 0.2}, {0.45, 0.15}, {0.4, 0.15}, {0.33, 0.15}, {0.25, 0.15}, {0.1, 0.1}, {0.01, 0.1}}};
void TestCoin(const Throws& throws, Mixture coins, EProcess& process);

// Multiplies in the evidence of `pairs` against "the candidate fails more often than stable by more than the
// tolerance". The factor of a pair is 1 + bet (limit - x), where x is the difference of the two failures (1 or 0 each)
// and the null hypothesis is that its mean is at least the limit: Waudby-Smith, Ramdas, "Estimating means of bounded
// random variables by betting", arXiv:2010.09686. The first half of the bets is on the absolute part of the tolerance,
// the second half on the relative part.
inline constexpr std::array<Alternative, 10> kBets = {{{0.05, 0.05},
                                                       {0.1, 0.1},
                                                       {0.2, 0.15},
                                                       {0.4, 0.15},
                                                       {0.9, 0.15},
                                                       {0.05, 0.05},
                                                       {0.1, 0.1},
                                                       {0.2, 0.1},
                                                       {0.4, 0.1},
                                                       {0.9, 0.05}}};
void ProvePairErrors(const api::PairEvidence& pairs, const ErrorTolerance& tolerance, EProcess& process);

// The expected logarithm of the factor of one pair, for each bet, if each version fails on a share `error_rate` of the
// inputs and independently of the other one. Versions that fail on the same inputs need fewer pairs.
std::array<double, kBets.size()> GrowthPerPair(double error_rate, const ErrorTolerance& tolerance);

}  // namespace longshore::analysis

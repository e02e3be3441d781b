// How much worse than stable a candidate may be, and e-values for the null hypothesis that it is worse by more.
//
// The candidate's error rate r_c is worse by more than the tolerance if r_c >= r_s + absolute and
// r_c >= (1 + relative) r_s, where r_s is stable's. The pairs (r_s, r_c) of which this is true are a convex set. For a
// convex null hypothesis, the likelihood ratio of an alternative to the point of the null that is nearest to it in
// relative entropy is an e-value (Turner, Ly, Grünwald, arXiv:2106.02693, theorem 1; Grünwald, de Heide, Koolen, "Safe
// testing", arXiv:1906.07801). By the concavity of the logarithm this holds even if the rates change from request to
// request, if their means over the block are in the null hypothesis.
#pragma once

#include <array>

#include "common/statistics/eprocess.h"
#include "common/statistics/evalue.h"
#include "controller/api/types.h"

namespace longshore::analysis {

using statistics::Block;

struct ErrorTolerance {
  double absolute = 0.005;  // A share of the requests.
  double relative = 0.5;    // A share of stable's error rate.

  // The lowest error rate of a candidate that is too high.
  double LimitFor(double stable_rate) const;

  friend bool operator==(const ErrorTolerance&, const ErrorTolerance&) = default;
};
ErrorTolerance ToleranceOf(const api::AnalysisErrorRate& spec);

struct Rates {
  double candidate = 0;
  double stable = 0;
};

// The point of the null hypothesis "worse by more than the tolerance" that is nearest to `alternative`, for blocks with
// these numbers of requests (which need not be whole numbers). Requires: 0 < rates < 1, and `alternative` is not in the
// null hypothesis.
Rates NearestTooBad(const Rates& alternative, double candidate_requests, double stable_requests,
                    const ErrorTolerance& tolerance);

// Logarithm of the e-value for "the candidate is worse by more than the tolerance", with the alternative that the error
// rates are `alternative`. 0 if `alternative` is in the null hypothesis or one version has no requests.
double LogEValueOfTooBad(const Block& block, const Rates& alternative, const ErrorTolerance& tolerance);

// Alternatives of a proof: the candidate's error rate divided by stable's.
inline constexpr std::array<statistics::Alternative, 2> kErrorFactors = {{{1, 0.8}, {0.5, 0.2}}};
// Multiplies in the evidence of a block against "the candidate is worse by more than the tolerance". `stable_rate` is
// stable's error rate in earlier blocks. Requires: 0 < stable_rate < 1.
void ProveErrors(const Block& block, double stable_rate, const ErrorTolerance& tolerance,
                 statistics::EProcess& process);

// The expected logarithm of that e-value per request if the error rates are `alternative` and the candidate gets this
// share of the requests: evidence grows by this much with each request. Requires: 0 < candidate_share < 1.
double GrowthPerRequest(double candidate_share, const Rates& alternative, const ErrorTolerance& tolerance);

}  // namespace longshore::analysis

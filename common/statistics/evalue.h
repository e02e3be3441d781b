// E-values for "the candidate's rate of events is not above stable's".
//
// A block holds n_c requests of the candidate with e_c events and n_s of stable with e_s. For an alternative
// (t_c, t_s), t_c > t_s, chosen before the block, and t_0 = (n_c t_c + n_s t_s) / (n_c + n_s),
//
//   E = (t_c/t_0)^e_c ((1-t_c)/(1-t_0))^(n_c-e_c) (t_s/t_0)^e_s ((1-t_s)/(1-t_0))^(n_s-e_s)
//
// has mean at most 1 when both rates are equal, whatever they are (Turner, Ly, Grünwald, arXiv:2106.02693, theorem 1).
// The mean is also at most 1 when the candidate's rate is lower: for the true rates r_c and r_s it is
// f_c(r_c)^n_c f_s(r_s)^n_s with f(r) = r t/t_0 + (1-r)(1-t)/(1-t_0), and f_c grows with r_c because t_c > t_0. By the
// concavity of the logarithm this holds even if the rates change from request to request, provided that their mean over
// the block is not higher for the candidate.
#pragma once

#include <cstdint>

namespace longshore::statistics {

struct Block {
  int64_t candidate_requests = 0;
  int64_t candidate_events = 0;
  int64_t stable_requests = 0;
  int64_t stable_events = 0;
};

// Logarithm of E. Requires 0 < stable_rate < candidate_rate < 1.
double LogEValue(const Block& block, double candidate_rate, double stable_rate);

// Logarithm of the e-value for "the rate of the candidate is at most null_rate", with the alternative candidate_rate.
double LogEValueAgainst(double null_rate, int64_t requests, int64_t events, double candidate_rate);

// The rate whose odds are `ratio` times those of `rate`.
double WithOdds(double rate, double ratio);

// Returns the one-sided bound of Dvoretzky, Kiefer, Wolfowitz and Massart: with probability 1 - delta, the true share
// of samples above a threshold is, for all thresholds at once, at most the observed share plus this bound.
double ShareMargin(int64_t samples, double delta);

}  // namespace longshore::statistics

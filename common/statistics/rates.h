// Tests that compare the rates of events of two versions, block by block (evalue.h).
#pragma once

#include <array>
#include <cstdint>

#include "common/statistics/eprocess.h"
#include "common/statistics/evalue.h"

namespace longshore::statistics {

// Alternatives: the candidate's odds of an event divided by stable's. The weights favour factors near 2, because a
// larger difference is found soon with any weight.
inline constexpr std::array<Alternative, 8> kWorseOdds = {
    {{1.25, 0.12}, {1.5, 0.18}, {2, 0.25}, {3, 0.18}, {5, 0.1}, {10, 0.08}, {30, 0.05}, {100, 0.04}}};
inline constexpr std::array<Alternative, 7> kBetterOdds = {
    {{0.87, 0.15}, {0.77, 0.15}, {0.65, 0.2}, {0.5, 0.2}, {0.3, 0.15}, {0.1, 0.1}, {0.01, 0.05}}};

// Multiplies in the evidence of a block against "the candidate's rate is not above stable's". `stable_rate` is stable's
// rate in earlier blocks. Requires: 0 < stable_rate < 1.
void TestRates(const Block& block, double stable_rate, EProcess& process);
// Against "the candidate's rate is not below stable's".
void ProveRates(const Block& block, double stable_rate, EProcess& process);

// An estimate of a rate for alternatives, from 1e-7 to 0.99. While there are few requests, it is drawn towards 1 %.
double EstimateRate(int64_t events, int64_t requests);

}  // namespace longshore::statistics

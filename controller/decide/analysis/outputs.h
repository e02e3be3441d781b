// Tests on the outputs of pairs: how often the candidate's row differs from stable's, beyond stable's own noise.
//
// Of each pair one row counts, chosen at random, because the rows of one request depend on each other. Let d be 1 if
// this row of the candidate differs from stable's by the rule, and s be 1 if stable's row differs between its two runs
// on the same input. A rule allows the share `limit` of the rows to differ, so the null hypothesis of the test is E[d -
// s] <= limit, and that of the proof is E[d - s] >= limit. The factors of a pair are 1 + bet (d - s - limit) and 1 +
// bet (limit - (d - s)): Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting",
// arXiv:2010.09686. If the outputs of a version are random, two equal versions differ as often as one of them differs
// from itself, so E[d - s] is 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/json/json.h"
#include "common/statistics/eprocess.h"
#include "controller/api/types.h"
#include "longshore/control.pb.h"

namespace longshore::analysis {

using statistics::Alternative;
using statistics::EProcess;

control::OutputRule ToProto(const api::OutputRule& rule);
// Returns the text under which nodes report the counts of the rule.
std::string TextOf(const api::OutputRule& rule);

// Bets of the test as shares of the largest possible one, 1 / (1 + limit), and bets of the proof. Small ones are for
// outputs with much noise.
inline constexpr std::array<Alternative, 6> kOutputBets = {
    {{0.05, 0.05}, {0.1, 0.1}, {0.2, 0.15}, {0.4, 0.2}, {0.7, 0.2}, {0.95, 0.3}}};

// What is known about one rule.
struct OutputTest {
  double limit = 0;              // The share of the rows that may differ.
  api::OutputEvidence counts{};  // All pairs so far. `rule` is the text of the rule.
  EProcess worse{};              // Against "at most `limit` differ".
  EProcess proof{};              // Against "at least `limit` differ".
};

// Makes the tests those of `rules`, in their order; returns true if a rule or its limit has changed. A test is kept
// while the text of its rule stays the same. What the evidence has shown about a limit that counts no more is
// forgotten.
bool ApplyRules(const std::vector<api::OutputRule>& rules, std::vector<OutputTest>& tests);

// Multiplies in the evidence of more pairs. Rules without a test are ignored.
void TestOutputs(const std::vector<api::OutputEvidence>& more, std::vector<OutputTest>& tests);

// Adds the counts of `more` to `total`. Rules that `more` does not have are dropped, because nodes do not count them
// any more; does nothing if `more` has no rules.
void Add(const std::vector<api::OutputEvidence>& more, std::vector<api::OutputEvidence>& total);

// How many more pairs a proof with this limit of the e-value needs, about, if the shares stay as they are; nullopt if
// more pairs do not bring it nearer.
std::optional<double> PairsToProve(const OutputTest& test, double e_limit);

// "probabilities: Top1: differs in 7.3 % of 410 compared rows, and stable from itself in 0 %; at most 1 % may differ".
std::string ToText(const OutputTest& test);

Json ToJson(const std::vector<OutputTest>& tests);
// Throws Json::exception if the JSON was not written by ToJson.
std::vector<OutputTest> OutputTestsFrom(const Json& json);

}  // namespace longshore::analysis

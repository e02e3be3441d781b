#include "controller/decide/analysis/outputs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "controller/decide/analysis/analysis.h"

namespace longshore::analysis {
namespace {

using api::OutputEvidence;
using testing::HasSubstr;

std::vector<OutputTest> TestsFor(const std::vector<api::OutputRule>& rules) {
  std::vector<OutputTest> tests;
  ApplyRules(rules, tests);
  return tests;
}

api::OutputRule Top1(double rows = 0.99, const std::string& output = "o") { return {.output = output, .rows = rows}; }

double Worse(const OutputTest& test) { return std::exp(statistics::LogE(test.worse, kOutputBets)); }
double Proof(const OutputTest& test) { return std::exp(statistics::LogE(test.proof, kOutputBets)); }

TEST(Outputs, TheWeightsOfTheBetsAddUpToOne) {
  double sum = 0;
  for (const auto& bet : kOutputBets) sum += bet.weight;
  EXPECT_NEAR(sum, 1, 1e-12);
}

// The mean of a factor over the distribution of d - s is at most 1 for each distribution of the null hypothesis.
TEST(Outputs, EachFactorHasAMeanOfAtMostOneUnderItsNullHypothesis) {
  for (const double limit : {0.0, 0.01, 0.5, 1.0}) {
    for (const double noise : {0.0, 0.2, 0.4}) {
      const double above = std::min(1 - noise, noise + limit);
      std::array<std::vector<OutputTest>, 3> tests;
      for (auto& test : tests) test = TestsFor({Top1(1 - limit)});
      TestOutputs({{"o: Top1", 1, 1, 0, 0}}, tests[0]);
      TestOutputs({{"o: Top1", 1, 0, 1, 0}}, tests[1]);
      TestOutputs({{"o: Top1", 1, 0, 0, 1}}, tests[2]);
      const std::array<double, 3> shares = {above, noise, 1 - above - noise};
      double worse = 0, proof = 0;
      for (size_t i = 0; i < 3; ++i) {
        worse += shares[i] * Worse(tests[i][0]);
        proof += shares[i] * Proof(tests[i][0]);
      }
      EXPECT_LE(worse, 1 + 1e-12) << limit << " " << noise;
      if (above < 1 - noise) {
        EXPECT_NEAR(proof, 1, 1e-12) << limit << " " << noise;
      }
    }
  }
}

TEST(Outputs, ARuleKeepsItsEvidenceWhileItsTextStaysTheSame) {
  std::vector<OutputTest> tests = TestsFor({Top1(), Top1(0.99, "p")});
  TestOutputs({{"o: Top1", 100, 3, 0, 0}, {"p: Top1", 50, 0, 0, 0}, {"q: Top1", 9, 9, 0, 0}}, tests);
  EXPECT_FALSE(ApplyRules({Top1(), Top1(0.99, "p")}, tests));
  EXPECT_TRUE(ApplyRules({Top1(0.99, "p"), {.output = "o", .measure = api::Measure::kEqual}}, tests));
  EXPECT_EQ(tests[0].counts.pairs, 50);
  EXPECT_EQ(tests[1].counts.rule, "o: Equal");
  EXPECT_EQ(tests[1].counts.pairs, 0) << "another measure starts anew";
  EXPECT_TRUE(ApplyRules({}, tests));
  EXPECT_TRUE(tests.empty());
}

TEST(Outputs, AStricterLimitTakesBackTheProofAndALooserOneTheBlame) {
  std::vector<OutputTest> good = TestsFor({Top1()});
  TestOutputs({{"o: Top1", 1000, 0, 0, 0}}, good);
  ASSERT_GT(Proof(good[0]), 20);
  EXPECT_TRUE(ApplyRules({Top1(0.999)}, good));
  EXPECT_LE(Proof(good[0]), 1);
  std::vector<OutputTest> bad = TestsFor({Top1()});
  TestOutputs({{"o: Top1", 1000, 50, 0, 0}}, bad);
  ASSERT_GT(Worse(bad[0]), 1000);
  EXPECT_TRUE(ApplyRules({Top1(0.9)}, bad));
  EXPECT_LE(Worse(bad[0]), 1);
  EXPECT_EQ(bad[0].counts.differs, 50);
}

TEST(Outputs, CountsOfNewRulesReplaceThoseOfOldOnes) {
  std::vector<OutputEvidence> total;
  Add({{"a", 10, 1, 0, 0}, {"b", 5, 0, 0, 0}}, total);
  Add({{"a", 10, 2, 3, 4}}, total);
  ASSERT_EQ(total.size(), 1u);
  EXPECT_EQ(total[0], (OutputEvidence{"a", 20, 3, 3, 4}));
  Add(std::vector<OutputEvidence>{}, total);
  EXPECT_EQ(total.size(), 1u) << "a report without pairs has no rules";
}

TEST(Outputs, SayHowManyMorePairsAProofNeeds) {
  std::vector<OutputTest> tests = TestsFor({Top1()});
  const auto first = PairsToProve(tests[0], 20);
  ASSERT_TRUE(first);
  TestOutputs({{"o: Top1", static_cast<int64_t>(*first) + 1, 0, 0, 0}}, tests);
  EXPECT_GE(Proof(tests[0]), 20);
  TestOutputs({{"o: Top1", 10000, 400, 0, 0}}, tests);
  EXPECT_FALSE(PairsToProve(tests[0], 20)) << "2 % differ, and 1 % may";
  EXPECT_THAT(ToText(tests[0]), HasSubstr("o: Top1: differs in "));
}

TEST(Outputs, ReadBackAsTheyWereWritten) {
  std::vector<OutputTest> tests = TestsFor({Top1(), {.output = "p", .measure = api::Measure::kTopK, .k = 5}});
  TestOutputs({{"o: Top1", 10, 1, 2, 3}}, tests);
  const auto again = OutputTestsFrom(ToJson(tests));
  EXPECT_EQ(ToJson(again), ToJson(tests));
  EXPECT_EQ(again[1].counts.rule, "p: Top5, overlap 0.8");
}

// A version whose row differs from its own second run with this probability, and from stable's in `changed` of the
// rows.
struct World {
  double noise = 0;
  double changed = 0;
};

// Returns how many pairs it takes until the e-value reaches the limit; nullopt if it does not within `pairs_max`.
std::optional<int> PairsUntil(const World& world, bool proof, double limit, int pairs_max, std::mt19937_64& random) {
  std::vector<OutputTest> tests = TestsFor({Top1()});
  std::bernoulli_distribution is_noisy(world.noise), is_changed(world.changed);
  for (int pair = 1; pair <= pairs_max; ++pair) {
    // With two or more equally likely answers, each pair of runs differs with the same probability.
    const bool differs = is_noisy(random) || is_changed(random);
    const bool noise = is_noisy(random);
    TestOutputs({{"o: Top1", 1, differs && !noise, noise && !differs, differs && noise}}, tests);
    if ((proof ? Proof(tests[0]) : Worse(tests[0])) >= limit) return pair;
  }
  return std::nullopt;
}

constexpr double kLimitOfThree = 3 / (kAlphaTotal - kAlphaGuards);  // Errors, run times and one rule share alpha.

TEST(Outputs, EqualVersionsWithNoiseAreHardlyEverBlamed) {
  std::mt19937_64 random(5);
  int blamed = 0;
  constexpr int kSequences = 2000;
  for (int i = 0; i < kSequences; ++i) {
    // The worst case of the null hypothesis: as many rows differ as may.
    if (PairsUntil({.noise = 0.02 * (i % 5), .changed = 0.01}, false, kLimitOfThree, 1000, random)) ++blamed;
  }
  EXPECT_LE(blamed, kSequences / 100);
}

TEST(Outputs, ACandidateThatDiffersInFivePercentIsFoundAfterSomeHundredPairs) {
  std::mt19937_64 random(6);
  for (const auto& [noise, median] : {std::pair(0.0, 400), {0.02, 800}}) {
    std::vector<int> needed;
    for (int i = 0; i < 201; ++i)
      needed.push_back(PairsUntil({noise, 0.05}, false, kLimitOfThree, 5000, random).value_or(5000));
    std::ranges::nth_element(needed, needed.begin() + 100);
    EXPECT_LE(needed[100], median) << "noise " << noise;
  }
}

TEST(Outputs, ACandidateThatDiffersTooOftenIsHardlyEverProven) {
  std::mt19937_64 random(7);
  int proven = 0;
  constexpr int kSequences = 600;
  for (int i = 0; i < kSequences; ++i) {
    if (PairsUntil({.noise = 0.02 * (i % 3), .changed = 0.0101}, true, 1 / kAlphaProof, 2000, random)) ++proven;
  }
  EXPECT_LE(proven, kSequences / 20);
  EXPECT_GT(proven, 0) << "the test must be able to fail";
}

}  // namespace
}  // namespace longshore::analysis

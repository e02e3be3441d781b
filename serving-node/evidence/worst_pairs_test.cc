#include "serving-node/evidence/worst_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::evidence {
namespace {

using ::testing::ElementsAre;

control::WorstPair Pair(double severity, const std::string& what = "") {
  control::WorstPair pair;
  pair.set_severity(severity);
  pair.set_what(what);
  return pair;
}

std::vector<double> SeveritiesOf(const WorstPairs& worst) {
  control::PairEvidence evidence;
  worst.CopyTo(evidence.mutable_worst());
  std::vector<double> severities;
  for (const control::WorstPair& pair : evidence.worst()) severities.push_back(pair.severity());
  return severities;
}

TEST(WorstPairs, KeepsTheWorstOnesWorstFirst) {
  WorstPairs worst;
  for (const double severity : {0.3, 0.1, 0.6, 0.2, 0.5, 0.4, 0.05, 1.0}) worst.Add("a", Pair(severity));
  EXPECT_THAT(SeveritiesOf(worst), ElementsAre(1.0, 0.6, 0.5, 0.4, 0.3));
}

TEST(WorstPairs, OfEqualPairsKeepsTheFirst) {
  WorstPairs worst;
  for (const char* what : {"1", "2", "3", "4", "5", "6"}) worst.Add("a", Pair(1, what));
  control::PairEvidence evidence;
  worst.CopyTo(evidence.mutable_worst());
  EXPECT_EQ(evidence.worst(0).what(), "1");
  EXPECT_EQ(evidence.worst(4).what(), "5");
}

TEST(WorstPairs, AnotherRolloutBeginsWithoutPairs) {
  WorstPairs worst;
  worst.Add("a", Pair(1));
  worst.Add("b", Pair(0.5));
  EXPECT_THAT(SeveritiesOf(worst), ElementsAre(0.5));
}

TEST(WorstPairs, LimitsTheTextsOfAPair) {
  WorstPairs worst;
  control::WorstPair pair = Pair(1, std::string(10'000, '.'));
  pair.set_inputs(std::string(10'000, '.'));
  worst.Add("a", pair);
  control::PairEvidence evidence;
  worst.CopyTo(evidence.mutable_worst());
  EXPECT_EQ(evidence.worst(0).what().size(), WorstPairs::kTextBytesMax);
  EXPECT_EQ(evidence.worst(0).inputs().size(), WorstPairs::kTextBytesMax);
}

}  // namespace
}  // namespace longshore::evidence

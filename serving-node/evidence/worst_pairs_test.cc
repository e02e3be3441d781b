#include "serving-node/evidence/worst_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/node_contract/worst_pairs.h"

namespace longshore::evidence {
namespace {

using ::testing::ElementsAre;

control::WorstPair Pair(double difference, int64_t at_unix_ms = 0) {
  control::WorstPair pair;
  pair.set_relative_difference(difference);
  pair.set_at_unix_ms(at_unix_ms);
  return pair;
}

control::PairEvidence Reported(const WorstPairs& worst) {
  control::PairEvidence evidence;
  worst.CopyTo(&evidence);
  return evidence;
}

std::vector<double> DifferencesOf(const WorstPairs& worst) {
  const control::PairEvidence evidence = Reported(worst);
  std::vector<double> differences;
  for (const control::WorstPair& pair : evidence.worst()) differences.push_back(pair.relative_difference());
  return differences;
}

TEST(WorstPairs, KeepsTheWorstOnesWorstFirst) {
  WorstPairs worst;
  for (const double difference : {0.3, 0.1, 0.6, 0.2, 0.5, 0.4, 0.05, 1.0}) worst.Add("a", Pair(difference));
  EXPECT_THAT(DifferencesOf(worst), ElementsAre(1.0, 0.6, 0.5, 0.4, 0.3));
}

TEST(WorstPairs, WantsWhatItWouldKeep) {
  WorstPairs worst;
  EXPECT_TRUE(worst.Wants("a", Pair(0.1)));
  for (const double difference : {0.3, 0.4, 0.5, 0.6, 0.7}) worst.Add("a", Pair(difference));
  EXPECT_FALSE(worst.Wants("a", Pair(0.3)));
  EXPECT_TRUE(worst.Wants("a", Pair(0.31)));
  EXPECT_TRUE(worst.Wants("b", Pair(0.1))) << "another rollout";
}

TEST(WorstPairs, OfEqualPairsKeepsTheFirst) {
  WorstPairs worst;
  for (int64_t at = 1; at <= 6; ++at) worst.Add("a", Pair(1, at));
  EXPECT_EQ(Reported(worst).worst(0).at_unix_ms(), 1);
  EXPECT_EQ(Reported(worst).worst(4).at_unix_ms(), 5);
}

TEST(WorstPairs, AnotherRolloutBeginsWithoutPairs) {
  WorstPairs worst;
  worst.Add("a", Pair(1));
  worst.Add("b", Pair(0.5));
  EXPECT_THAT(DifferencesOf(worst), ElementsAre(0.5));
  EXPECT_EQ(Reported(worst).worst_salt(), "b");
}

TEST(WorstPairs, TakesFewBytesWhateverTheNamesAre) {
  WorstPairs worst;
  for (int i = 0; i < 100; ++i) {
    control::WorstPair pair = Pair(1, i);
    for (std::string* text : {pair.mutable_signature(), pair.mutable_output(), pair.mutable_candidate_type()})
      *text = std::string(1'000'000, '.');
    worst.Add("a", std::move(pair));
  }
  EXPECT_LT(Reported(worst).ByteSizeLong(), 5000u);
}

}  // namespace
}  // namespace longshore::evidence

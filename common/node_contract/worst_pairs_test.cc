#include "common/node_contract/worst_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace longshore::node_contract {
namespace {

control::WorstPair Pair(const std::string& name, double relative, double absolute, int64_t at_unix_ms) {
  control::WorstPair pair;
  pair.set_output(name);
  pair.set_relative_difference(relative);
  pair.set_absolute_difference(absolute);
  pair.set_at_unix_ms(at_unix_ms);
  return pair;
}

TEST(WorstPairs, FailuresOfTheCandidateComeFirstThenTheLargestDifferences) {
  std::vector<control::WorstPair> pairs = {
      Pair("candidate failed", 0, 0, 9),     Pair("large", 0.5, 3, 8), Pair("as large, but later", 0.5, 3, 9),
      Pair("of smaller numbers", 0.5, 2, 1), Pair("small", 0.1, 7, 1), Pair("stable failed", 0, 0, 1)};
  pairs.front().set_candidate_error("INTERNAL");
  pairs.back().set_stable_error("INTERNAL");
  std::vector<std::string> names;
  for (const control::WorstPair& pair : pairs) names.push_back(pair.output());
  std::ranges::shuffle(pairs, std::mt19937_64(7));
  std::ranges::sort(pairs, IsWorse);
  std::vector<std::string> sorted;
  for (const control::WorstPair& pair : pairs) sorted.push_back(pair.output());
  EXPECT_EQ(sorted, names);
}

TEST(WorstPairs, AllTextsAreLimited) {
  control::WorstPair pair;
  const auto* descriptor = pair.GetDescriptor();
  const auto* reflection = pair.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    if (descriptor->field(i)->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING)
      reflection->SetString(&pair, descriptor->field(i), std::string(10'000, '.'));
  }
  LimitTexts(pair);
  EXPECT_LT(pair.ByteSizeLong(), 1000u);
  EXPECT_EQ(pair.signature().size(), kWorstPairTextBytesMax);
}

}  // namespace
}  // namespace longshore::node_contract

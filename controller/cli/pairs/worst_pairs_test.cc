#include "controller/cli/pairs/worst_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::cli::pairs {
namespace {

using testing::HasSubstr;
using testing::Not;

Json Pair(const char* node) {
  return {{"node", node},
          {"traceId", "4bf92f35"},
          {"signature", "serving_default"},
          {"rows", 4},
          {"output", "probabilities"},
          {"relativeDifference", 0.5123},
          {"absoluteDifference", 0.98},
          {"stable", {{"error", ""}}},
          {"candidate", {{"error", ""}}}};
}

TEST(WorstPairs, ShowsTheFirstThree) {
  const Json history = {{"worstPairs", {Pair("a"), Pair("b"), Pair("c"), Pair("d")}}};
  const std::string text = WorstPairsTable(history);
  EXPECT_THAT(text, HasSubstr("probabilities   0.512      0.98       serving_default, 4 rows   a      4bf92f35\n"));
  EXPECT_THAT(text, HasSubstr("   c      "));
  EXPECT_THAT(text, Not(HasSubstr("   d      ")));
  EXPECT_THAT(text, HasSubstr("longshore console"));
}

TEST(WorstPairs, NamesARunThatFailed) {
  Json pair = Pair("a");
  pair["output"] = "";
  pair["absoluteDifference"] = nullptr;
  pair["candidate"]["error"] = "out of memory";
  EXPECT_THAT(WorstPairsTable({{"worstPairs", {pair}}}), HasSubstr("candidate failed: out of memory   0.512      -  "));
}

TEST(WorstPairs, AnAnswerOfAnotherFormHasNoPairs) {
  for (const Json& answer : {Json(), Json::array(), Json{{"worstPairs", 3}}, Json{{"worstPairs", Json::array()}}})
    EXPECT_EQ(WorstPairsTable(answer), "");
  EXPECT_THAT(WorstPairsTable({{"worstPairs", {7}}}), HasSubstr("-")) << "a pair that is no object";
}

}  // namespace
}  // namespace longshore::cli::pairs

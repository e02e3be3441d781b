#include "controller/api/sentences.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "common/base/text.h"

namespace longshore::api {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(JoinSentences, KeepsAllInTheirOrderIfTheyFit) {
  EXPECT_EQ(JoinSentences({}), "");
  EXPECT_EQ(JoinSentences({{"node a: ", "no file"}, {"node b: ", "no file"}}), "node a: no file; node b: no file");
}

TEST(JoinSentences, Of130PodsIsWithinTheLimitAndCountsTheOmittedOnes) {
  std::vector<Sentence> pods;
  for (int i = 0; i < 130; ++i) pods.push_back({fmt::format("cpu-{}: ", i), fmt::format("{:0>250}", i)});
  const std::string joined = JoinSentences(pods);
  EXPECT_LE(joined.size(), 4096u);
  EXPECT_GT(joined.size(), 3800u) << "the limit is used";
  EXPECT_THAT(joined, StartsWith("cpu-0: 000"));
  EXPECT_THAT(joined, EndsWith("; and 115 more nodes"));
}

TEST(JoinSentences, KeepsEachTextBeforeItRepeatsOne) {
  std::vector<Sentence> pods;
  for (int i = 0; i < 130; ++i) pods.push_back({fmt::format("cpu-{}: ", i), std::string(250, 'x')});
  pods[129].text = "the image cannot be pulled";
  const std::string joined = JoinSentences(pods);
  EXPECT_LE(joined.size(), 4096u);
  EXPECT_THAT(joined, StartsWith("cpu-0: xxx"));
  EXPECT_THAT(joined, HasSubstr("; cpu-129: the image cannot be pulled; and "));
}

TEST(JoinSentences, CutsBetweenCharacters) {
  std::string chinese;
  for (int i = 0; i < 1000; ++i) chinese += "模";
  for (const char* name : {"", "a", "ab"}) {
    const std::string joined = JoinSentences({{name, chinese}, {name, chinese + "b"}, {"c: ", "short \xFF"}});
    EXPECT_EQ(ValidUtf8(joined), joined);
    EXPECT_THAT(joined, EndsWith("...; c: short \uFFFD"));
  }
}

TEST(JoinSentences, NamesAtMostTheGivenNumber) {
  const SentenceLimits two{.noun = "Model", .count_max = 2};
  EXPECT_EQ(JoinSentences({{"a: ", "x"}, {"b: ", "x"}}, two), "a: x; b: x");
  EXPECT_EQ(JoinSentences({{"a: ", "x"}, {"b: ", "x"}, {"c: ", "y"}}, two), "a: x; c: y; and 1 more Model");
}

TEST(NoFleetSentence, NamesTheFleetOfTheNamespaceThatWasProbablyMeant) {
  const Key wanted{kServingFleetKind, "default", "mian"};
  EXPECT_EQ(NoFleetSentence(wanted, {{kServingFleetKind, "vision", "mian"}, {kServingFleetKind, "default", "gpu"}}),
            "ServingFleet default/mian does not exist");
  EXPECT_EQ(NoFleetSentence(wanted, {{kServingFleetKind, "default", "gpu"}, {kServingFleetKind, "default", "main"}}),
            "ServingFleet default/mian does not exist; did you mean main?");
}

TEST(NoFleetSentence, SuggestsNotTheFleetItself) {
  const Key wanted{kServingFleetKind, "default", "cpu"};
  EXPECT_EQ(NoFleetSentence(wanted, {{kServingFleetKind, "default", "cpu2"}, wanted}),
            "ServingFleet default/cpu exists, but the controller has not processed it yet");
}

}  // namespace
}  // namespace longshore::api

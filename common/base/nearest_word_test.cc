#include "common/base/nearest_word.h"

#include <gtest/gtest.h>

namespace longshore {
namespace {

TEST(EditDistance, CountsEachKindOfChangeOnce) {
  EXPECT_EQ(EditDistance("source", "source"), 0u);
  EXPECT_EQ(EditDistance("sorce", "source"), 1u);
  EXPECT_EQ(EditDistance("sourrce", "source"), 1u);
  EXPECT_EQ(EditDistance("sourke", "source"), 1u);
  EXPECT_EQ(EditDistance("soruce", "source"), 1u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
}

TEST(EditDistance, IgnoresTheCaseOfLetters) { EXPECT_EQ(EditDistance("ServedName", "servedname"), 0u); }

TEST(NearestWord, ReturnsTheNearestWordOnlyIfAMistakeIsLikely) {
  const std::vector<std::string> known = {"promote", "pause", "profile"};
  EXPECT_EQ(NearestWord("prommote", known), "promote");
  EXPECT_EQ(NearestWord("puase", known), "pause");
  EXPECT_EQ(NearestWord("deploy", known), std::nullopt);
  EXPECT_EQ(NearestWord("cat", {"dog"}), std::nullopt);
  EXPECT_EQ(NearestWord("promote", {}), std::nullopt);
}

TEST(NearestWord, FindsAWordThatHasMoreParts) {
  const std::vector<std::string> known = {"--port", "--rest_api_port_file", "--rest_api_port", "--rest_api_timeout"};
  EXPECT_EQ(NearestWord("--rest_port", known), "--rest_api_port");
  EXPECT_EQ(NearestWord("--REST-port", known), "--rest_api_port");
  EXPECT_EQ(NearestWord("--port_rest", known), std::nullopt);
  EXPECT_EQ(NearestWord("--rest", known), std::nullopt) << "one part says too little";
}

TEST(NearestWord, AnotherPartIsNoTypingMistake) {
  EXPECT_EQ(NearestWord("--console_address", {"--node_address", "--console_port"}), std::nullopt);
  EXPECT_EQ(NearestWord("--console_prot", {"--node_address", "--console_port"}), "--console_port");
  EXPECT_EQ(NearestWord("--manifest_foldr", {"--manifests_folder"}), "--manifests_folder");
}

}  // namespace
}  // namespace longshore

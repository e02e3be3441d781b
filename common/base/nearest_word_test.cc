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

}  // namespace
}  // namespace longshore

#include "common/regex/regex.h"

#include <gmock/gmock.h>

namespace longshore::regex {
namespace {

TEST(Expression, MatchesTheWholeText) {
  const auto regex = Expression::Compile("team-[0-9]+|ml");
  ASSERT_TRUE(regex) << regex.error().message;
  for (const auto* good : {"team-7", "team-12345", "ml"}) EXPECT_TRUE(regex->Matches(good)) << good;
  for (const auto* bad : {"", "team-", "a team-7", "team-7 ", "mlx", "team-7\n"})
    EXPECT_FALSE(regex->Matches(bad)) << bad;
}

TEST(Expression, MatchesNoTextAboveTheMaximumLength) {
  const auto regex = Expression::Compile("a*");
  EXPECT_TRUE(regex->Matches(std::string(kTextBytesMax, 'a')));
  EXPECT_FALSE(regex->Matches(std::string(kTextBytesMax + 1, 'a')));
}

TEST(Expression, TheMoreInstructionsItHasTheShorterMayTheTextBe) {
  const auto uuid = Expression::Compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  ASSERT_TRUE(uuid) << uuid.error().message;
  EXPECT_TRUE(uuid->Matches("5f0c1b9e-7a54-4f5d-9a0e-2c1d3b4a5e6f"));
  EXPECT_TRUE(Expression::Compile(".*Mobile.*")->Matches(std::string(200, 'x') + "Mobile"));
  const auto longer = Expression::Compile("a*(b|[0-9]{40}c|[0-9]{30}d|)");
  ASSERT_TRUE(longer) << longer.error().message;
  EXPECT_LT(longer->text_bytes_max(), kTextBytesMax);
  EXPECT_TRUE(longer->Matches(std::string(longer->text_bytes_max(), 'a')));
  EXPECT_FALSE(longer->Matches(std::string(longer->text_bytes_max() + 1, 'a')));
}

TEST(Expression, NamesWhatRe2ObjectsToAndWhere) {
  const std::pair<std::string, std::string> cases[] = {
      {"ab(c", "\"ab(c\" is not a valid regular expression of RE2: missing ): ab(c"},
      {"x[a-", "\"x[a-\" is not a valid regular expression of RE2: missing ]: [a-, at character 2"},
      {"a**b", "\"a**b\" is not a valid regular expression of RE2: bad repetition operator: **, at character 2"},
      {"(?=a)", "\"(?=a)\" is not a valid regular expression of RE2: invalid perl operator: (?=, at character 1"},
      {"(a)\\1", "\"(a)\\1\" is not a valid regular expression of RE2: invalid escape sequence: \\1, at character 4"},
      {"(a{1,30}){1,30}",
       "\"(a{1,30}){1,30}\" is too complex: RE2 needs 1865 instructions for it, and at most 100 are "
       "allowed"},
      {"\\pL{50}", "\"\\pL{50}\" is not a valid regular expression of RE2: pattern too large - compile failed"},
      {"", "a regular expression must have 1 to 256 bytes, not 0"},
      {std::string(257, 'a'), "a regular expression must have 1 to 256 bytes, not 257"}};
  for (const auto& [expression, message] : cases) {
    const auto regex = Expression::Compile(expression);
    ASSERT_FALSE(regex) << expression;
    EXPECT_EQ(regex.error().code, Code::kInvalidArgument);
    EXPECT_EQ(regex.error().message, message);
  }
}

// Without the limit on instructions, a text with a new state of the automaton at each position takes 0.5 ms.
TEST(Expression, RefusesExpressionsThatTakeLong) {
  for (const auto* slow : {".*a.{20}", "[ab]*a[ab]{100}", "(.*a){20}", "(a{0,15}){0,15}b"}) {
    const auto regex = Expression::Compile(slow);
    ASSERT_FALSE(regex) << slow;
    EXPECT_THAT(regex.error().message, testing::HasSubstr("is too complex"));
  }
}

TEST(Expression, GroupsAndQuotedTextMeanTheSameAsAlone) {
  EXPECT_TRUE(Expression::Compile("a|b")->Matches("b"));
  EXPECT_FALSE(Expression::Compile("a|b")->Matches("ab"));
  EXPECT_TRUE(Expression::Compile("^(?i)a(b)$")->Matches("AB"));
  EXPECT_TRUE(Expression::Compile("\\Qa.b\\E")->Matches("a.b"));
  EXPECT_THAT(Expression::Compile("\\Qa.b").error().message, testing::HasSubstr("missing )"));
}

TEST(Expression, AcceptsAListOfWordsOfTheMaximumLength) {
  std::string words = "team-a";
  while (words.size() + 7 <= kBytesMax) words += "|team-b";
  EXPECT_TRUE(Expression::Compile(words));
}

}  // namespace
}  // namespace longshore::regex

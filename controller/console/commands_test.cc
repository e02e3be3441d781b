#include "controller/console/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::console {
namespace {

using ::testing::HasSubstr;

TEST(ParseCommand, ReadsTheVerbAndWhatThePageShowed) {
  const auto request = ParseCommand(
      R"({"verb": "undo", "seen": {"generation": 3, "attempt": 2, "step": 1, "from": 20260101000000}, "to": 7})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->verb, "undo");
  EXPECT_EQ(request->seen->generation, 3);
  EXPECT_EQ(request->seen->attempt, 2);
  EXPECT_EQ(request->seen->step, 1);
  EXPECT_EQ(request->seen->from, 20260101000000);
  EXPECT_EQ(request->to, 7);
  EXPECT_EQ(request->by, "") << "only the console itself says who gives it";
}

TEST(ParseCommand, RejectsWhatIsNotACommand) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", ""},
      {"[]", "verb"},
      {"{}", "verb"},
      {R"({"verb": 7, "seen": {}})", "verb"},
      {R"({"verb": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "seen": {}})", "verb"},
      {R"({"verb": "abort\nx", "seen": {}})", "verb"},
      {R"({"verb": "abort"})", "seen"},
      {R"({"verb": "abort", "seen": []})", "seen"},
      {R"({"verb": "abort", "seen": {"generation": -1}})", "generation"},
      {R"({"verb": "abort", "seen": {"attempt": 3000000000}})", "attempt"},
      {R"({"verb": "abort", "seen": {"step": 1.5}})", "step"},
      {R"({"verb": "abort", "seen": {"step": "1"}})", "step"},
      {R"({"verb": "abort", "seen": {"from": 99999999999999999999}})", "from"},
      {R"({"verb": "abort", "seen": {}, "to": {}})", "to"}};
  for (const auto& [body, what] : wrong) {
    const auto request = ParseCommand(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code, Code::kInvalidArgument) << body;
    EXPECT_THAT(request.error().message, HasSubstr(what)) << body;
  }
}

}  // namespace
}  // namespace longshore::console

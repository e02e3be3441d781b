#include "common/json/json.h"

#include <gtest/gtest.h>

#include "common/json/path.h"

namespace longshore {
namespace {

TEST(ParseJson, ReturnsErrorsWithoutThrowing) {
  for (const char* text : {"", "{", "{\"a\": 1e999}", "[-1e999]", "\xff", "1 2", "{\"a\": 1,}"}) {
    const auto json = ParseJson(text);
    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().code, Code::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParseJson("{\"a\": [1.5, null]}")->at("a").size(), 2U);
}

TEST(DumpJson, ReplacesInvalidUtf8WithoutThrowing) {
  const Json json = {{"a", "cut \xE6\xA8"}, {"b", "模"}};
  EXPECT_EQ(DumpJson(json), "{\"a\":\"cut \uFFFD\",\"b\":\"模\"}");
  EXPECT_EQ(DumpJson(Json{{"a", 1}}, 1), "{\n \"a\": 1\n}");
  EXPECT_TRUE(ParseJson(DumpJson(json)));
}

TEST(TextAt, ReturnsTheStringAtThePathOrAnEmptyString) {
  const Json json = {{"a", {{"b/c", "x"}, {"n", 1}}}, {"list", {{{"d", "y"}}}}, {"text", "z"}};
  EXPECT_EQ(TextAt(json, {"a", "b/c"}), "x");
  EXPECT_EQ(TextAt(json, {"list", "0", "d"}), "y");
  EXPECT_EQ(TextAt(json, {}), "");
  EXPECT_EQ(TextAt(json, {"a"}), "");
  EXPECT_EQ(TextAt(json, {"a", "n"}), "") << "a number";
  EXPECT_EQ(TextAt(json, {"none", "x"}), "");
  EXPECT_EQ(TextAt(json, {"list", "1"}), "");
  EXPECT_EQ(TextAt(json, {"list", "d"}), "");
  EXPECT_EQ(TextAt(json, {"list", ""}), "");
  EXPECT_EQ(TextAt(json, {"text", "0"}), "");
  EXPECT_EQ(TextAt(Json(), {"a"}), "");
  EXPECT_TRUE(At(json, {"a", "none"}).is_null());
  EXPECT_EQ(At(json, {"a", "n"}), 1);
}

}  // namespace
}  // namespace longshore

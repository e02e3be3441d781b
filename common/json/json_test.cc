#include "common/json/json.h"

#include <gtest/gtest.h>

namespace longshore {
namespace {

TEST(ParseJson, WhateverCannotBeHeldIsAnErrorAndNothingIsThrown) {
  for (const char* text : {"", "{", "{\"a\": 1e999}", "[-1e999]", "\xff", "1 2", "{\"a\": 1,}"}) {
    const auto json = ParseJson(text);
    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().code, Code::kInvalidArgument) << text;
  }
  EXPECT_EQ(ParseJson("{\"a\": [1.5, null]}")->at("a").size(), 2U);
}

}  // namespace
}  // namespace longshore

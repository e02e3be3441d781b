#include "serving-node/app/flags/limit_flags.h"

#include <gtest/gtest.h>

#include <cstring>

#include "serving-node/app/flags/flags.h"

namespace longshore::app::flags {
namespace {

Result<ParsedFlags> Parse(const std::string& flag) { return ParseFlags({"--model_base_path=/m", flag}); }

TEST(LimitFlags, SetTheBudgetOfARequest) {
  EXPECT_EQ(Parse("--request_inflated_bytes_max=1000")->flags.limits.budget.inflated_bytes_max, 1000U);
  EXPECT_EQ(Parse("--request_elements_max=1000")->flags.limits.budget.elements_max, 1000);
  EXPECT_EQ(Parse("--run_memory_bytes_max=1000")->flags.limits.budget.run_bytes_max, 1000U);
}

TEST(LimitFlags, RefuseALimitOfZero) {
  for (const char* flag : {"--request_elements_max=0", "--run_memory_bytes_max=0", "--request_inflated_bytes_max=0"}) {
    const auto parsed = Parse(flag);
    ASSERT_FALSE(parsed) << flag;
    const std::string name(flag, std::strlen(flag) - 2);
    EXPECT_EQ(parsed.error().message.find(name), 0U) << parsed.error().message;
  }
}

}  // namespace
}  // namespace longshore::app::flags

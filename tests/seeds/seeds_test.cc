#include "tests/seeds/seeds.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace longshore::seeds {
namespace {

class SeedsTest : public testing::Test {
 protected:
  void SetUp() override { unsetenv("LONGSHORE_SEED"); }
  void TearDown() override { unsetenv("LONGSHORE_SEED"); }
};

TEST_F(SeedsTest, AreNewEachTimeAndPrinted) {
  testing::internal::CaptureStdout();
  std::set<uint64_t> drawn;
  for (int i = 0; i < 5; ++i) drawn.insert(First());
  const std::string printed = testing::internal::GetCapturedStdout();
  EXPECT_GT(drawn.size(), 1U);
  for (const uint64_t seed : drawn) {
    EXPECT_NE(printed.find("LONGSHORE_SEED=" + std::to_string(seed) + " "), std::string::npos) << printed;
  }
}

TEST_F(SeedsTest, AreTheOnesOfTheEnvironmentVariable) {
  setenv("LONGSHORE_SEED", "5000000000", 1);
  testing::internal::CaptureStdout();
  EXPECT_EQ(First(3), 5'000'000'000U);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "seeds 5000000000 to 5000000002; LONGSHORE_SEED=5000000000 repeats them\n");
}

TEST_F(SeedsTest, RefusesATextThatIsNotANumber) {
  for (const char* text : {"", "abc", "12x", "-1", " 1", "18446744073709551616"}) {
    setenv("LONGSHORE_SEED", text, 1);
    EXPECT_DEATH(First(), "is not a whole number");
  }
}

}  // namespace
}  // namespace longshore::seeds

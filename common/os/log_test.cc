#include "common/os/log.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace longshore {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST(Log, CutsLongLines) {
  ASSERT_TRUE(InitLog("test", "info"));
  testing::internal::CaptureStderr();
  spdlog::info("{}", std::string(10'000, 'x'));
  spdlog::info("short");
  const auto lines = Lines(testing::internal::GetCapturedStderr());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].size() + 1, kLogLineBytesMax);
  EXPECT_TRUE(lines[0].ends_with("xxx..."));
  EXPECT_TRUE(lines[1].ends_with("I test: short"));
}

TEST(Log, DropsAndCountsLinesAboveTheLimitPerSecond) {
  ASSERT_TRUE(InitLog("test", "info"));
  testing::internal::CaptureStderr();
  const auto logger = spdlog::default_logger();
  spdlog::log_clock::time_point now{std::chrono::seconds(1'000'000)};
  const auto log = [&] { logger->log(now, spdlog::source_loc{}, spdlog::level::err, "it fails"); };
  for (int i = 0; i < kLogLinesPerSecondMax + 50; ++i) log();
  now += std::chrono::seconds(1);
  log();
  const auto lines = Lines(testing::internal::GetCapturedStderr());
  ASSERT_EQ(lines.size(), static_cast<size_t>(kLogLinesPerSecondMax) + 2);
  EXPECT_THAT(lines[kLogLinesPerSecondMax], HasSubstr("W test: 50 lines were dropped"));
  EXPECT_THAT(lines.back(), HasSubstr("E test: it fails"));
}

TEST(Log, ChangesTheLevelAtRunTime) {
  ASSERT_TRUE(InitLog("test", "warning"));
  EXPECT_EQ(LogLevel(), "warning");
  testing::internal::CaptureStderr();
  spdlog::info("before");
  ASSERT_TRUE(SetLogLevel("debug"));
  spdlog::debug("after");
  const auto refused = SetLogLevel("loud");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(LogLevel(), "debug");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("after"));
  EXPECT_THAT(text, Not(HasSubstr("before")));
  EXPECT_FALSE(InitLog("test", "loud"));
}

}  // namespace
}  // namespace longshore

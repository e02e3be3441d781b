#include "common/metrics/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::metrics {
namespace {

double ValueOf(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

TEST(Process, ShowsTheResourcesOfThisProgram) {
  Registry registry;
  AddProcessMetrics(TimePoint(std::chrono::seconds(1000)), "1.2.3", registry);
  const std::string text = registry.Text();
  EXPECT_EQ(ValueOf(text, "process_start_time_seconds"), 1000);
  EXPECT_GT(ValueOf(text, "process_cpu_seconds_total"), 0);
  EXPECT_GT(ValueOf(text, "process_resident_memory_bytes"), 1e6);
  EXPECT_GE(ValueOf(text, "process_open_fds"), 3);
  EXPECT_GT(ValueOf(text, "process_max_fds"), ValueOf(text, "process_open_fds"));
  EXPECT_THAT(text, ::testing::HasSubstr("version=\"1.2.3\"} 1\n"));
}

}  // namespace
}  // namespace longshore::metrics

#include "common/os/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

namespace longshore {
namespace {

// A folder with the files of the kernel that a process in the control group /pods/one sees.
class ProcessorsTest : public ::testing::Test {
 protected:
  ProcessorsTest() {
    Write("proc/self/cgroup", "0::/pods/one\n");
    sched_getaffinity(0, sizeof before_, &before_);
  }
  ~ProcessorsTest() override { sched_setaffinity(0, sizeof before_, &before_); }

  void Write(const Path& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  const Path root_ =
      Path(::testing::TempDir()) / "processors_test" / ::testing::UnitTest::GetInstance()->current_test_info()->name();
  cpu_set_t before_{};
};

TEST_F(ProcessorsTest, CountsThoseOfTheAffinityMask) {
  EXPECT_EQ(Processors(root_), CPU_COUNT(&before_));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before_)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(Processors(root_), 1);
}

TEST_F(ProcessorsTest, ALimitOfTheGroupCounts) {
  Write("sys/fs/cgroup/pods/one/cpu.max", "50000 100000\n");
  EXPECT_EQ(Processors(root_), 1);
}

TEST_F(ProcessorsTest, ALimitOfAGroupAboveCounts) {
  Write("sys/fs/cgroup/pods/one/cpu.max", "max 100000\n");
  Write("sys/fs/cgroup/pods/cpu.max", "20000 100000\n");
  EXPECT_EQ(Processors(root_), 1);
}

// In a container, the process sees its own group as the top.
TEST_F(ProcessorsTest, ALimitOfTheTopCounts) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(Processors(root_), 1);
}

TEST_F(ProcessorsTest, OtherHierarchiesAreIgnored) {
  Write("proc/self/cgroup", "5:cpu:/pods/one\n");
  Write("sys/fs/cgroup/pods/one/cpu.max", "1 100000\n");
  EXPECT_EQ(Processors(root_), CPU_COUNT(&before_));
}

TEST(WithinLimit, RoundsUpAndIsAtLeastOneAndAtMostAll) {
  EXPECT_EQ(WithinLimit(8, 1.5), 2);
  EXPECT_EQ(WithinLimit(8, 2), 2);
  EXPECT_EQ(WithinLimit(8, 7.01), 8);
  EXPECT_EQ(WithinLimit(8, 64), 8);
  EXPECT_EQ(WithinLimit(8, 1e12), 8);
  EXPECT_EQ(WithinLimit(8, 0.2), 1);
  EXPECT_EQ(WithinLimit(8, 0), 1);
}

TEST(ProcessorsOfLimit, ReadsQuotaAndPeriod) {
  EXPECT_EQ(ProcessorsOfLimit("150000 100000\n"), 1.5);
  EXPECT_EQ(ProcessorsOfLimit("400000 100000"), 4);
  for (const char* none : {"", "max 100000\n", "100000", "0 100000", "-5 100000", "1 0", "1x 2", "1 2 3"})
    EXPECT_EQ(ProcessorsOfLimit(none), std::nullopt) << none;
}

}  // namespace
}  // namespace longshore

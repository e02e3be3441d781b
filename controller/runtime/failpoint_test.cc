#include "controller/runtime/failpoint.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/os/file.h"

namespace longshore::runtime {
namespace {

TEST(Failpoint, ParsesItsSettingAndRejectsAWrongOne) {
  EXPECT_EQ(ParseCrashAt("lost:status of a:b#2")->point, "status of a:b#2");
  EXPECT_EQ(ParseCrashAt("lost:x#1")->mode, CrashMode::kLost);
  for (const char* wrong : {"", "lost", "lost:", ":x", "soon:x", " after:x"}) {
    EXPECT_EQ(ParseCrashAt(wrong).error().code, Code::kInvalidArgument) << wrong;
  }
}

TEST(Failpoint, NamesEachOperationInAFile) {
  char name[] = "/tmp/longshore_failpoint_XXXXXX";
  const Path dir = mkdtemp(name);
  Failpoint failpoint(std::nullopt, dir / "count");
  for (const char* what : {"first", "second", "first"}) failpoint.Begin(what);
  EXPECT_EQ(ReadFile(dir / "count").value(), "first#1\nsecond#1\nfirst#2\n");
  std::filesystem::remove_all(dir);
}

// Runs three operations and prints its progress to standard error.
void RunThree(const std::string& at) {
  Failpoint failpoint(ParseCrashAt(at).value(), {});
  for (int i = 1; i <= 3; ++i) {
    failpoint.Begin("x");
    fmt::print(stderr, "done {};", i);
    failpoint.Done([] { return true; });
    fmt::print(stderr, "processed {};", i);
    failpoint.Processed();
  }
}

TEST(FailpointDeathTest, ExitsExactlyAtTheGivenPoint) {
  const auto killed = ::testing::KilledBySignal(SIGKILL);
  EXPECT_EXIT(RunThree("before:x#2"), killed, "^done 1;processed 1;$");
  EXPECT_EXIT(RunThree("lost:x#2"), killed, "^done 1;processed 1;done 2;$");
  EXPECT_EXIT(RunThree("after:x#2"), killed, "^done 1;processed 1;done 2;processed 2;$");
}

}  // namespace
}  // namespace longshore::runtime

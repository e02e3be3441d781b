#include "controller/runtime/failpoint.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace longshore::runtime {
namespace {

TEST(Failpoint, UnderstandsItsSettingAndNamesAWrongOne) {
  EXPECT_EQ(ParseCrashAt("12:lost")->operation, 12);
  EXPECT_EQ(ParseCrashAt("12:lost")->mode, CrashMode::kLost);
  for (const char* wrong : {"", "12", "0:before", "x:after", "12:soon", "1 :after"}) {
    EXPECT_EQ(ParseCrashAt(wrong).error().code, Code::kInvalidArgument) << wrong;
  }
}

TEST(Failpoint, CountsEachOperationInAFile) {
  char name[] = "/tmp/longshore_failpoint_XXXXXX";
  const Path dir = mkdtemp(name);
  Failpoint failpoint(std::nullopt, dir / "count");
  failpoint.Begin("first");
  failpoint.Begin("second");
  EXPECT_EQ(ReadFile(dir / "count").value(), "1 first\n2 second\n");
  std::filesystem::remove_all(dir);
}

// Runs three operations and says how far it came in standard error.
void RunThree(const std::string& at) {
  Failpoint failpoint(ParseCrashAt(at).value(), {});
  for (int i = 1; i <= 3; ++i) {
    failpoint.Begin("");
    fmt::print(stderr, "done {};", i);
    failpoint.Done([] { return true; });
    fmt::print(stderr, "seen {};", i);
    failpoint.Seen();
  }
}

TEST(FailpointDeathTest, DiesExactlyWhereItIsTold) {
  const auto killed = ::testing::KilledBySignal(SIGKILL);
  EXPECT_EXIT(RunThree("2:before"), killed, "^done 1;seen 1;$");
  EXPECT_EXIT(RunThree("2:lost"), killed, "^done 1;seen 1;done 2;$");
  EXPECT_EXIT(RunThree("2:after"), killed, "^done 1;seen 1;done 2;seen 2;$");
}

}  // namespace
}  // namespace longshore::runtime

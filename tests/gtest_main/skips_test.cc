#include "tests/gtest_main/skips.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

namespace longshore::gtest_main {
namespace {

const Skip kNoMemory{"NoMemory.FailsTheRun", "the sanitizer's operator new cannot be made to fail"};
const Skip kFleet{"FleetTest.Asks", "gRPC is not built with the thread sanitizer"};

TEST(FindFault, ARunWithoutTestsHasAFault) { EXPECT_NE(FindFault(0, {}, {}, Build::kPlain), ""); }

TEST(FindFault, ARunWithoutSkipsHasNone) { EXPECT_EQ(FindFault(1, {}, {}, Build::kPlain), ""); }

TEST(FindFault, ASkipIsAllowedOnlyInTheBuildsOfItsRow) {
  EXPECT_EQ(FindFault(2, {kNoMemory}, {}, Build::kAddressSanitizer), "");
  EXPECT_EQ(FindFault(2, {kNoMemory, kFleet}, {}, Build::kThreadSanitizer), "");
  EXPECT_NE(FindFault(2, {kNoMemory}, {}, Build::kPlain), "");
  EXPECT_NE(FindFault(2, {kFleet}, {}, Build::kAddressSanitizer), "");
}

TEST(FindFault, ASkipNeedsTheTestAndTheReasonOfOneRow) {
  const Skip other_test{"Other.Test", kNoMemory.reason}, other_reason{kNoMemory.test, "it takes too long"};
  for (const Skip& skip : {other_test, other_reason}) {
    const std::string fault = FindFault(2, {kNoMemory, skip}, {}, Build::kThreadSanitizer);
    EXPECT_NE(fault.find(skip.test + ": " + skip.reason), std::string::npos) << fault;
    EXPECT_EQ(fault.find(kNoMemory.test + ": " + kNoMemory.reason), std::string::npos) << fault;
  }
}

TEST(FindFault, ADisabledTestThatIsNotASampleOfThisFolderHasAFault) {
  EXPECT_EQ(FindFault(1, {}, {"Sample.DISABLED_Skips"}, Build::kPlain), "");
  for (const std::string test : {"Other.DISABLED_Skips", "Sample.DISABLED_Other", "DISABLED_Sample.Skips"}) {
    EXPECT_NE(FindFault(1, {}, {"Sample.DISABLED_Skips", test}, Build::kPlain).find(test), std::string::npos) << test;
  }
}

// Only the tests below run this test, in a process of their own.
TEST(Sample, DISABLED_Skips) { GTEST_SKIP() << "a reason without a row"; }

// Runs this program with other flags, and returns its exit code.
int RunThisProgram(const std::string& flags) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  const int status = std::system(("'" + program.string() + "' " + flags + " >&2").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RunTests, AFilterThatMatchesNoTestFails) { EXPECT_EQ(RunThisProgram("--gtest_filter=None.Such"), 1); }

TEST(RunTests, ASkipWithoutARowFails) {
  EXPECT_EQ(RunThisProgram("--gtest_also_run_disabled_tests --gtest_filter=Sample.*"), 1);
}

TEST(RunTests, ATestThatPassesAndAListOfTheTestsDoNotFail) {
  EXPECT_EQ(RunThisProgram("--gtest_filter=FindFault.ARunWithoutSkipsHasNone"), 0);
  EXPECT_EQ(RunThisProgram("--gtest_list_tests"), 0);
}

}  // namespace
}  // namespace longshore::gtest_main

#include "common/os/log_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "common/os/file.h"
#include "common/os/log.h"

namespace longshore {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// While it lives, no file of this process can grow above `bytes`. It stands for a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class LogFileTest : public testing::Test {
 protected:
  ~LogFileTest() override { std::filesystem::remove_all(dir_); }

  std::string Text(const Path& path) const { return ReadFile(path).value_or("missing"); }

  static Path NewFolder() {
    std::string pattern = testing::TempDir() + "log.XXXXXX";
    return ::mkdtemp(pattern.data());
  }

  const Path dir_ = NewFolder();
  const LogPaths paths_{dir_ / "log"};
};

TEST_F(LogFileTest, BeginsANewFileAndKeepsTheOneBefore) {
  const auto log = LogFile::Open({.path = paths_.log, .bytes_max = 10}).value();
  for (const char* line : {"1\n", "2\n", "third\n", "four\n", "fifth\n"}) ASSERT_TRUE(log->Write(line));
  EXPECT_EQ(Text(paths_.older), "four\n");
  EXPECT_EQ(Text(paths_.log), "fifth\n");
}

TEST_F(LogFileTest, ContinuesTheFileOfAnEarlierProcess) {
  ASSERT_TRUE(LogFile::Open({.path = paths_.log}).value()->Write("one\n"));
  ASSERT_TRUE(LogFile::Open({.path = paths_.log}).value()->Write("two\n"));
  EXPECT_EQ(Text(paths_.log), "one\ntwo\n");
}

TEST_F(LogFileTest, OtherDescriptorsFollowToTheNewFile) {
  const int output = open("/dev/null", O_WRONLY | O_CLOEXEC);
  const auto log = LogFile::Open({.path = paths_.log, .bytes_max = 8, .descriptors = {output}}).value();
  ASSERT_TRUE(log->Write("before\n"));
  ASSERT_TRUE(log->Write("after\n"));
  ASSERT_EQ(write(output, "crash\n", 6), 6);
  EXPECT_EQ(Text(paths_.log), "after\ncrash\n");
  close(output);
}

TEST_F(LogFileTest, KeepsTheLogOfTheLastRunAndOfNoneBefore) {
  ASSERT_TRUE(KeepLogOfLastRun(paths_));  // There is nothing to keep.
  for (const std::string run : {"1", "2", "3"}) {
    ASSERT_TRUE(WriteFileAtomically(paths_.older, "older " + run));
    ASSERT_TRUE(WriteFileAtomically(paths_.log, "newer " + run));
    ASSERT_TRUE(KeepLogOfLastRun(paths_));
  }
  EXPECT_EQ(Text(paths_.previous_older), "older 3");
  EXPECT_EQ(Text(paths_.previous), "newer 3");
  ASSERT_TRUE(WriteFileAtomically(paths_.log, "short run"));
  ASSERT_TRUE(KeepLogOfLastRun(paths_));
  EXPECT_EQ(Text(paths_.previous_older), "missing");
}

TEST_F(LogFileTest, AFullDiskLosesNoOlderLinesAndIsReportedAfterwards) {
  ASSERT_TRUE(InitLogInFile("test", "info", LogFile::Open({.path = paths_.log}).value()));
  spdlog::info("before");
  {
    const FileSizeLimit full(std::filesystem::file_size(paths_.log) + 5);
    spdlog::info("lost 1");
    spdlog::info("lost 2");
  }
  spdlog::info("after");
  ASSERT_TRUE(InitLog("test", "info"));
  EXPECT_THAT(Text(paths_.log), HasSubstr("I test: before\n"));
  EXPECT_THAT(Text(paths_.log),
              ContainsRegex("\n[0-9TZ:.-]+ W test: 2 lines are lost: cannot write .*: File too large\n"
                            "[0-9TZ:.-]+ I test: after\n"));
}

}  // namespace
}  // namespace longshore

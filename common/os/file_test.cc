#include "common/os/file.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <utility>

// The test program's fsync and write replace those of the C library, also for the code under test. They call the C
// library's functions unless a test sets `fsync_instead` or `write_instead`.
namespace {
std::function<int(int)> fsync_instead;                           // Returns 0, or sets errno and returns -1.
std::function<ssize_t(int, const void*, size_t)> write_instead;  // Returns and sets errno like write(2).

template <typename Function>
Function* LibraryFunction(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
}  // namespace

extern "C" int fsync(int fd) {
  static const auto library = LibraryFunction<int(int)>("fsync");
  return fsync_instead ? fsync_instead(fd) : library(fd);
}

extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
  static const auto library = LibraryFunction<ssize_t(int, const void*, size_t)>("write");
  return write_instead ? write_instead(fd, bytes, size) : library(fd, bytes, size);
}

namespace longshore {
namespace {

using testing::HasSubstr;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "longshore_file_XXXXXX";
    folder_ = mkdtemp(name.data());
    file_ = folder_ / "state";
    ASSERT_TRUE(WriteFileAtomically(file_, "old"));
  }
  void TearDown() override {
    fsync_instead = nullptr;
    write_instead = nullptr;
    std::filesystem::remove_all(folder_);
  }

  std::string Content() const { return ReadFile(file_).value_or("cannot be read"); }
  size_t FilesInFolder() const {
    const std::filesystem::directory_iterator files(folder_);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  Path folder_;
  Path file_;
};

int FailWith(int error) {
  errno = error;
  return -1;
}

TEST_F(FileTest, ReplacesTheContentAndLeavesNoOtherFile) {
  EXPECT_TRUE(WriteFileAtomically(file_, "new"));
  EXPECT_EQ(Content(), "new");
  EXPECT_EQ(FilesInFolder(), 1U);
}

TEST_F(FileTest, ReplacesTheTargetOfALinkAndKeepsItsMode) {
  const Path target = folder_ / "target";
  ASSERT_TRUE(WriteFileAtomically(target, "old"));
  std::filesystem::permissions(target, std::filesystem::perms(0640));
  std::filesystem::create_symlink("target", folder_ / "link");
  ASSERT_TRUE(ReplaceFileAtomically(folder_ / "link", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(ReadFile(target).value(), "new");
  EXPECT_EQ(std::filesystem::status(target).permissions(), std::filesystem::perms(0640));
  EXPECT_EQ(ReplaceFileAtomically(folder_ / "none", "x").error().code, Code::kNotFound);
}

TEST_F(FileTest, WritesAFileInTheWorkingFolder) {
  const Path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  EXPECT_TRUE(WriteFileAtomically("state", "new"));
  std::filesystem::current_path(before);
  EXPECT_EQ(Content(), "new");
}

TEST_F(FileTest, FlushesTheFileBeforeTheRenameAndTheFolderAfterIt) {
  std::vector<std::string> seen;
  fsync_instead = [&](int) {
    seen.push_back(Content());
    return 0;
  };
  EXPECT_TRUE(WriteFileAtomically(file_, "new"));
  EXPECT_EQ(seen, (std::vector<std::string>{"old", "new"}));
}

TEST_F(FileTest, KeepsTheOldContentWhenTheFileCannotBeFlushed) {
  fsync_instead = [](int) { return FailWith(EIO); };
  const Status written = WriteFileAtomically(file_, "new");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kUnavailable);
  EXPECT_THAT(written.error().message, HasSubstr("cannot flush " + file_.string()));
  EXPECT_EQ(Content(), "old");
  EXPECT_EQ(FilesInFolder(), 1U);
}

TEST_F(FileTest, ReportsThatTheFolderCannotBeFlushed) {
  int calls = 0;
  fsync_instead = [&](int) { return ++calls == 2 ? FailWith(EIO) : 0; };
  const Status written = WriteFileAtomically(file_, "new");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("cannot flush " + folder_.string()));
}

TEST_F(FileTest, KeepsTheOldContentWhenTheDiskIsFull) {
  size_t room = 10;
  write_instead = [&](int, const void*, size_t size) -> ssize_t {
    if (room == 0) return FailWith(ENOSPC);
    return static_cast<ssize_t>(std::exchange(room, 0) < size ? 10 : size);
  };
  const Status written = WriteFileAtomically(file_, std::string(1'000, 'x'));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kResourceExhausted);
  EXPECT_EQ(Content(), "old");
  EXPECT_EQ(FilesInFolder(), 1U);
}

TEST_F(FileTest, ContinuesAfterPartialAndInterruptedWrites) {
  int calls = 0;
  write_instead = [&](int fd, const void* bytes, size_t size) -> ssize_t {
    if (++calls % 2 == 0) return FailWith(EINTR);
    return pwrite(fd, bytes, std::min<size_t>(size, 7), lseek(fd, 7, SEEK_CUR) - 7);
  };
  const std::string text = "a text that takes several writes";
  EXPECT_TRUE(WriteFileAtomically(file_, text));
  EXPECT_EQ(Content(), text);
  EXPECT_GT(calls, 8);
}

TEST_F(FileTest, HasTheOldOrTheNewContentIfTheProcessDiesAtAnyStep) {
  const std::string text(100, 'n');
  for (int dies_at = 0; dies_at < 6; ++dies_at) {
    ASSERT_TRUE(WriteFileAtomically(file_, "old"));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int step = 0;
      const auto die_here = [&] {
        if (step++ == dies_at) _exit(0);
      };
      write_instead = [&](int fd, const void* bytes, size_t size) -> ssize_t {
        die_here();
        const size_t part = std::min<size_t>(size, 40);
        return pwrite(fd, bytes, part, lseek(fd, static_cast<off_t>(part), SEEK_CUR) - static_cast<off_t>(part));
      };
      fsync_instead = [&](int) {
        die_here();
        return 0;
      };
      (void)WriteFileAtomically(file_, text);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(Content(), dies_at < 4 ? "old" : text) << "died at step " << dies_at;
  }
}

TEST_F(FileTest, RefusesToReadAFileAboveTheLimit) {
  ASSERT_TRUE(WriteFileAtomically(file_, "12345"));
  EXPECT_EQ(ReadFile(file_, 5).value_or(""), "12345");
  const auto refused = ReadFile(file_, 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

TEST_F(FileTest, NamesTheFileThatItCannotRead) {
  const auto missing = ReadFile(folder_ / "nothing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr((folder_ / "nothing").string()));
  EXPECT_EQ(ReadFile(folder_).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace longshore

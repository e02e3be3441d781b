#include "common/version_files/folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace longshore::version_files {
namespace {

namespace fs = std::filesystem;

using Versions = std::vector<int64_t>;

class VersionFolders : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "version-folders-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { fs::remove_all(base_); }

  Path base_;
};

TEST_F(VersionFolders, AreDirectoriesWithNumericNames) {
  for (const char* child : {"7", "00000123", "latest", "-3", "5x", "20"}) fs::create_directory(base_ / child);
  std::ofstream(base_ / "9") << "x";
  EXPECT_EQ(*ListVersions(base_), (Versions{7, 20, 123}));
  EXPECT_EQ(*FindVersionDir(base_, 123), base_ / "00000123");
  EXPECT_EQ(FindVersionDir(base_, 8).error().code, Code::kNotFound);
  EXPECT_EQ(ListVersions(base_ / "none").error().code, Code::kNotFound);
}

TEST_F(VersionFolders, OneWithoutLeadingZerosHasPrecedence) {
  for (const char* child : {"0007", "7", "007"}) fs::create_directory(base_ / child);
  EXPECT_EQ(*ListVersions(base_), Versions{7});
  EXPECT_EQ(*FindVersionDir(base_, 7), base_ / "7");
}

TEST_F(VersionFolders, DanglingAndCyclicLinksAreIgnored) {
  fs::create_directory(base_ / "1");
  fs::create_symlink("9", base_ / "9");
  fs::create_symlink("nowhere", base_ / "8");
  EXPECT_EQ(*ListVersions(base_), Versions{1});
  EXPECT_EQ(FindVersionDir(base_, 9).error().code, Code::kNotFound);
  EXPECT_EQ(FindVersionDir(base_, 8).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace longshore::version_files

#include "controller/app/version_files.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/base/path.h"

namespace longshore::app {
namespace {

class VersionFiles : public testing::Test {
 protected:
  VersionFiles() {
    char name[] = "/tmp/longshore_version_files_XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~VersionFiles() override { std::filesystem::remove_all(dir_); }
  std::optional<TimePoint> Changed() const { return FilesChangedAt("file://" + dir_.string(), 8); }

  Path dir_;
  SystemClock clock_;
};

TEST_F(VersionFiles, AFolderThatAppearsHasJustChangedEvenIfItsFilesAreOld) {
  EXPECT_EQ(Changed(), std::nullopt);
  const TimePoint before = clock_.Now() - std::chrono::seconds(1);  // File systems have coarse clocks.
  std::filesystem::create_directories(dir_ / "008" / "variables");
  const Path file = dir_ / "008/variables/variables.index";
  std::ofstream(file) << "x";
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24));
  std::filesystem::last_write_time(dir_ / "008",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(24));
  EXPECT_GE(Changed(), before);
}

TEST_F(VersionFiles, FilesOfOtherVersionsDoNotCount) {
  std::filesystem::create_directories(dir_ / "80");
  EXPECT_EQ(Changed(), std::nullopt);
}

TEST_F(VersionFiles, AnArchiveHasNoFolder) { EXPECT_EQ(FilesChangedAt("https://host/archive.tar", 8), std::nullopt); }

}  // namespace
}  // namespace longshore::app

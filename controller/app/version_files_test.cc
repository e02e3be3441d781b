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
    spec_.source_uri = "file://" + dir_.string();
  }
  ~VersionFiles() override { std::filesystem::remove_all(dir_); }
  std::optional<TimePoint> Changed() const { return FilesChangedAt(spec_, 8); }

  Path dir_;
  api::ModelSpec spec_;
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

TEST_F(VersionFiles, TheGoldenSetCounts) {
  std::filesystem::create_directories(dir_ / "8");
  const auto before = Changed();
  spec_.validation.golden_set = "golden.tfrecord";
  EXPECT_EQ(Changed(), before) << "it does not exist";
  // File systems have coarse clocks, so the first write may have the time of the folder.
  for (int i = 0; i < 1'000'000 && Changed() == before; ++i) std::ofstream(dir_ / "golden.tfrecord") << "x";
  EXPECT_GT(Changed(), before);
}

TEST_F(VersionFiles, AnArchiveHasNoFolder) {
  spec_.source_uri = "https://host/archive.tar";
  EXPECT_EQ(Changed(), std::nullopt);
}

}  // namespace
}  // namespace longshore::app

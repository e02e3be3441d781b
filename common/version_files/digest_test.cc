#include "common/version_files/digest.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "tests/source_tree/source_tree.h"

namespace longshore::version_files {
namespace {

namespace fs = std::filesystem;

class DigestOfAVersion : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "version-digest-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
    fs::copy(kModel, dir_, fs::copy_options::recursive);
  }
  void TearDown() override { fs::remove_all(dir_); }

  const Path kModel = source_tree::Root() / "tests" / "models" / "half_plus_two_tf2" / "1";
  Path dir_;
};

TEST_F(DigestOfAVersion, DependsOnlyOnNamesAndBytes) {
  const std::string digest = *VersionDigest(dir_);
  EXPECT_EQ(digest, *VersionDigest(kModel));
  EXPECT_EQ(digest.size(), 64U);
  fs::last_write_time(dir_ / "saved_model.pb", fs::file_time_type::clock::now() - std::chrono::hours(1));
  fs::create_directories(dir_ / "empty");
  EXPECT_EQ(*VersionDigest(dir_), digest);
  fs::rename(dir_ / "fingerprint.pb", dir_ / "fingerprint2.pb");
  const std::string renamed = *VersionDigest(dir_);
  EXPECT_NE(renamed, digest);
  std::ofstream(dir_ / "fingerprint2.pb", std::ios::app) << "x";
  EXPECT_NE(*VersionDigest(dir_), renamed);
}

TEST_F(DigestOfAVersion, NeedsFiles) {
  EXPECT_EQ(VersionDigest(dir_ / "nowhere").error().code, Code::kNotFound);
  fs::create_directories(dir_ / "empty");
  EXPECT_EQ(VersionDigest(dir_ / "empty").error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace longshore::version_files

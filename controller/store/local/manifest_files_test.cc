#include "controller/store/local/manifest_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/os/file.h"
#include "controller/store/local/local_store.h"

namespace longshore::store::local {
namespace {

constexpr const char* kDigits = R"(apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: digits}
spec:
  fleet: cpu
  source: {uri: "file:///models/digits"}
  version: 1
)";

class ManifestFilesTest : public ::testing::Test {
 protected:
  ManifestFilesTest() {
    char name[] = "/tmp/longshore_files_XXXXXX";
    dir_ = mkdtemp(name);
    store_ = LocalStore::Open({.dir = dir_, .read_manifests = true}).value();
  }
  ~ManifestFilesTest() override { std::filesystem::remove_all(dir_); }

  void Write(const std::string& file, const std::string& text) { ASSERT_TRUE(WriteFileAtomically(dir_ / file, text)); }
  ManifestFile Only() const {
    const std::vector<ManifestFile> files = ReadManifestFiles(dir_);
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? ManifestFile{} : files[0];
  }

  const api::Key key_{api::kModelKind, "default", "digits"};
  Path dir_;
  std::unique_ptr<LocalStore> store_;
};

TEST_F(ManifestFilesTest, ATextIsTakenWhenAControllerHasReadIt) {
  Write("digits.yaml", kDigits);
  EXPECT_FALSE(Only().is_taken);
  EXPECT_THAT(Only().not_taken, ::testing::ElementsAre(key_));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_TRUE(Only().is_taken);
  EXPECT_THAT(Only().objects, ::testing::ElementsAre(key_));
  EXPECT_THAT(Only().not_taken, ::testing::IsEmpty());
  Write("digits.yaml", std::string("# A comment.\n") + kDigits);
  EXPECT_FALSE(Only().is_taken);
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_TRUE(Only().is_taken) << "it is taken although nothing was applied";
}

TEST_F(ManifestFilesTest, AMistakeIsReportedWithItsFileAndLine) {
  Write("digits.yaml", kDigits);
  ASSERT_TRUE(store_->ReadManifests());
  Write("digits.yaml", std::string(kDigits) + "  colour: blue\n");
  EXPECT_THAT(Only().mistake, ::testing::HasSubstr("digits.yaml:8: spec.colour"));
  EXPECT_THAT(Only().objects, ::testing::ElementsAre(key_)) << "those of the previous text";
}

TEST_F(ManifestFilesTest, AnObjectThatAnotherFileDefinesIsRefused) {
  Write("a.yaml", kDigits);
  Write("b.yaml", kDigits);
  ASSERT_TRUE(store_->ReadManifests());
  const std::vector<ManifestFile> files = ReadManifestFiles(dir_);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_THAT(files[0].objects, ::testing::ElementsAre(key_));
  EXPECT_THAT(files[1].objects, ::testing::IsEmpty());
  EXPECT_THAT(files[1].refused, ::testing::ElementsAre(key_));
}

TEST_F(ManifestFilesTest, ADamagedRecordIsAMistakeOfItsFile) {
  Write("digits.yaml", kDigits);
  ASSERT_TRUE(store_->ReadManifests());
  ASSERT_TRUE(WriteFileAtomically(dir_ / ".longshore/manifests/digits.yaml.json", "{"));
  EXPECT_THAT(Only().mistake, ::testing::HasSubstr("digits.yaml.json"));
}

}  // namespace
}  // namespace longshore::store::local

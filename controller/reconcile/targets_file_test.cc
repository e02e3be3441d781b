#include "controller/reconcile/targets_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "common/os/file.h"

namespace longshore::reconcile {
namespace {

class TargetsFileTest : public ::testing::Test {
 protected:
  TargetsFileTest() {
    char name[] = "/tmp/longshore_targets_XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~TargetsFileTest() override { std::filesystem::remove_all(dir_); }

  void MakeUnwritable() {
    std::filesystem::remove_all(folder_);
    std::ofstream(folder_) << "a file where the folder should be";
  }
  std::string Text() const { return ReadFile(path_).value_or("no file"); }

  Path dir_;
  Path folder_ = dir_ / "prometheus";
  Path path_ = folder_ / "nodes.json";
  TargetsFile file_{path_};
};

TEST_F(TargetsFileTest, WritesOnlyATextThatChanged) {
  file_.Set("[1]");
  EXPECT_EQ(Text(), "[1]");
  std::filesystem::remove(path_);
  file_.Set("[1]");
  EXPECT_EQ(Text(), "no file");
  file_.Set("[2]");
  EXPECT_EQ(Text(), "[2]");
  EXPECT_TRUE(file_.health().Problems().empty());
}

TEST_F(TargetsFileTest, AFailedWriteIsTriedAgainAlsoIfTheTextNeverChanges) {
  MakeUnwritable();
  file_.Set("[1]");
  EXPECT_EQ(file_.health().Problems().size(), 1u);
  file_.WriteAgain();
  EXPECT_EQ(file_.health().Problems().size(), 1u);
  std::filesystem::remove(folder_);
  file_.WriteAgain();
  EXPECT_TRUE(file_.health().Problems().empty());
  EXPECT_EQ(Text(), "[1]");
}

// A node joins and leaves while the disk is full: the file then has the right text, but the problem must not stay.
TEST_F(TargetsFileTest, AProblemEndsAlsoIfTheTextBecomesTheOneThatWasWrittenLast) {
  file_.Set("[1]");
  MakeUnwritable();
  file_.Set("[2]");
  EXPECT_EQ(file_.health().Problems().size(), 1u);
  std::filesystem::remove(folder_);
  file_.Set("[1]");
  EXPECT_TRUE(file_.health().Problems().empty());
  EXPECT_EQ(Text(), "[1]");
}

}  // namespace
}  // namespace longshore::reconcile

#include "controller/app/epoch_file.h"

#include <gtest/gtest.h>

#include "common/os/file.h"

namespace longshore::app {
namespace {

class EpochFileTest : public ::testing::Test {
 protected:
  EpochFileTest() {
    char name[] = "/tmp/longshore_epoch_XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~EpochFileTest() override { std::filesystem::remove_all(dir_); }

  Path dir_;
};

TEST_F(EpochFileTest, EachTermIsAboveTheFileAndTheFloor) {
  const Path file = dir_ / "epoch";
  EXPECT_EQ(NextEpoch(file, 0).value(), 1);
  EXPECT_EQ(NextEpoch(file, 0).value(), 2);
  EXPECT_EQ(NextEpoch(file, 100).value(), 101);
  EXPECT_EQ(ReadFile(file).value(), "101\n");
  EXPECT_EQ(NextEpoch(file, 7).value(), 102);
}

TEST_F(EpochFileTest, ADamagedFileIsRejectedInsteadOfRestartingAtZero) {
  for (const char* text : {"12x\n", "", "-3\n", "99999999999999999999\n"}) {
    ASSERT_TRUE(WriteFileAtomically(dir_ / "epoch", text));
    EXPECT_EQ(NextEpoch(dir_ / "epoch", 0).error().code, Code::kDataLoss) << text;
    EXPECT_EQ(ReadFile(dir_ / "epoch").value(), text);
  }
}

}  // namespace
}  // namespace longshore::app

#include "serving-node/app/flags/batching_flags.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "common/os/file.h"
#include "serving-node/app/flags/config_files.h"

namespace longshore::app::flags {
namespace {

using testing::HasSubstr;

class BatchingFlagsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "batching-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  Flags With(const std::string& text, bool per_model = false) {
    CHECK(WriteFileAtomically(dir_ / "batching.txt", text));
    Flags flags;
    flags.batching.enable_batching = true;
    flags.batching.batching_parameters_file = dir_ / "batching.txt";
    flags.batching.enable_per_model_batching_parameters = per_model;
    return flags;
  }

  Path dir_;
};

TEST_F(BatchingFlagsTest, TurnBatchingOffByDefault) {
  Flags flags;
  ASSERT_TRUE(ReadConfigFiles(&flags));
  EXPECT_EQ(flags.batching.options, batching::Options{});
}

TEST_F(BatchingFlagsTest, ReadBatchSizeAndNumberOfConcurrentBatchesFromTheFile) {
  Flags flags = With("max_batch_size { value: 7 } num_batch_threads { value: 3 }");
  ASSERT_TRUE(ReadConfigFiles(&flags));
  EXPECT_EQ(flags.batching.options.max_batch_size, 7);
  EXPECT_EQ(flags.max_concurrent_runs, 3);
  flags.max_concurrent_runs = 5;
  ASSERT_TRUE(ReadConfigFiles(&flags));
  EXPECT_EQ(flags.max_concurrent_runs, 5);
}

TEST_F(BatchingFlagsTest, NameTheFlagAndTheFileInErrors) {
  Flags flags = With("max_batch_size: 7");
  const Status read = ReadConfigFiles(&flags);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message,
              HasSubstr("--batching_parameters_file: " + (dir_ / "batching.txt").string() + ":1:"));
}

TEST_F(BatchingFlagsTest, ReadTheParametersOfEachVersionExceptForTheThreads) {
  Flags flags = With("max_batch_size { value: 7 } num_batch_threads { value: 3 }", true);
  ASSERT_TRUE(ReadConfigFiles(&flags));
  EXPECT_EQ(flags.batching.options, batching::Options{});
  EXPECT_EQ(flags.max_concurrent_runs, 3);
  EXPECT_EQ(*BatchingOfVersion(dir_), std::nullopt);
  ASSERT_TRUE(WriteFileAtomically(dir_ / "batching_params.pbtxt", "max_batch_size { value: 9 }"));
  EXPECT_EQ((*BatchingOfVersion(dir_))->max_batch_size, 9);
  ASSERT_TRUE(WriteFileAtomically(dir_ / "batching_params.pbtxt", "max_batch_size { value: 0 }"));
  EXPECT_THAT(BatchingOfVersion(dir_).error().message, HasSubstr("batching_params.pbtxt:1:1: max_batch_size is 0"));
}

}  // namespace
}  // namespace longshore::app::flags

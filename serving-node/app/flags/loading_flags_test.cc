#include "serving-node/app/flags/loading_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace longshore::app::flags {
namespace {

LoadingFlags Parse(std::vector<std::string> arguments) {
  LoadingFlags flags;
  CLI::App app;
  flags.AddTo(app);
  app.parse(std::move(arguments));
  return flags;
}

TEST(LoadingFlags, UseTheDefaultNumberOfThreadsForZero) {
  const auto few = Parse({}).StoreOptions(false);
  EXPECT_EQ(few.load_threads, 2);
  EXPECT_EQ(few.unload_threads, 1);
  const auto many = Parse({"--num_load_threads=5", "--num_unload_threads=3"}).StoreOptions(false);
  EXPECT_EQ(many.load_threads, 5);
  EXPECT_EQ(many.unload_threads, 3);
}

TEST(LoadingFlags, SetTheOptionsOfTheStore) {
  const auto options =
      Parse({"--version_transition=resource", "--model_memory_bytes_max=1000", "--flush_filesystem_caches=false",
             "--max_num_load_retries=7", "--load_retry_interval_micros=3000"})
          .StoreOptions(false);
  EXPECT_TRUE(options.unload_first);
  EXPECT_EQ(options.memory_bytes_max, 1000);
  EXPECT_FALSE(options.flush_caches);
  EXPECT_EQ(options.load_retries_max, 7);
  EXPECT_EQ(options.load_retry_interval, std::chrono::milliseconds(3));
  EXPECT_TRUE(Parse({}).StoreOptions(false).flush_caches);
}

TEST(LoadingFlags, OnlyAManagedNodeUnloadsTheLastVersionForLackOfMemory) {
  EXPECT_TRUE(Parse({}).StoreOptions(true).unload_for_memory);
  EXPECT_FALSE(Parse({}).StoreOptions(false).unload_for_memory);
}

TEST(LoadingFlags, DoNotRepeatLoadsOnAManagedNode) { EXPECT_EQ(Parse({}).StoreOptions(true).load_retries_max, 0); }

}  // namespace
}  // namespace longshore::app::flags

#include "common/net/listen.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace longshore::net {
namespace {

TEST(Listen, PortZeroGivesAFreePort) {
  const Result<int> fd = Listen("127.0.0.1:0");
  ASSERT_TRUE(fd) << fd.error().message;
  EXPECT_GT(PortOf(*fd), 0);
  close(*fd);
}

TEST(Listen, APortInUseIsAnErrorThatNamesTheAddress) {
  const Result<int> first = Listen("127.0.0.1:0");
  ASSERT_TRUE(first);
  const std::string address = "127.0.0.1:" + std::to_string(PortOf(*first));

  const Result<int> second = Listen(address);

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(second.error().message, "cannot listen on " + address + ": Address already in use");
  close(*first);
}

TEST(Listen, WhatIsNoAddressIsRefused) {
  for (const char* address : {"", "nonsense", "127.0.0.1:http!", "unix:"}) {
    const Result<int> fd = Listen(address);
    ASSERT_FALSE(fd) << address;
    EXPECT_EQ(fd.error().code, Code::kInvalidArgument) << address;
  }
}

TEST(Listen, ReplacesTheSocketOfADeadProcessButNotOfALivingOne) {
  const std::string path = (std::filesystem::temp_directory_path() / ("listen_" + std::to_string(getpid()))).string();
  const Result<int> dead = Listen("unix:" + path);
  ASSERT_TRUE(dead) << dead.error().message;
  close(*dead);

  const Result<int> living = Listen("unix:" + path);
  ASSERT_TRUE(living) << living.error().message;
  const Result<int> third = Listen("unix:" + path);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kFailedPrecondition);
  close(*living);
  unlink(path.c_str());
}

}  // namespace
}  // namespace longshore::net

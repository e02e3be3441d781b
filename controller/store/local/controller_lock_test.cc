#include "controller/store/local/controller_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

namespace longshore::store::local {
namespace {

class ControllerLockTest : public ::testing::Test {
 protected:
  ControllerLockTest() {
    char name[] = "/tmp/longshore_lock_XXXXXX";
    dir_ = mkdtemp(name);
    std::filesystem::create_directories(dir_ / ".longshore");
  }
  ~ControllerLockTest() override { std::filesystem::remove_all(dir_); }

  ControllerLockState Seen() const { return ReadControllerLock(dir_).value(); }

  Path dir_;
};

TEST_F(ControllerLockTest, WithoutAFileNoControllerHasEverRun) {
  EXPECT_FALSE(Seen().is_running);
  EXPECT_EQ(Seen().last_active_at, TimePoint{});
}

TEST_F(ControllerLockTest, ShowsTheControllerWhileItHoldsTheLock) {
  std::optional<ControllerLock> lock(ControllerLock::Take(dir_).value());
  EXPECT_TRUE(Seen().is_running);
  EXPECT_GT(Seen().epoch, int64_t{1} << 60) << "the controller has not described itself, so no status is its own";
  ASSERT_TRUE(lock->Describe(7, "/state"));
  EXPECT_EQ(Seen().epoch, 7);
  EXPECT_EQ(Seen().pid, getpid());
  EXPECT_EQ(Seen().state_dir, "/state");
  EXPECT_EQ(Seen().console, "");
  ASSERT_TRUE(lock->Describe(7, "/state", "http://127.0.0.1:8620"));
  EXPECT_EQ(Seen().console, "http://127.0.0.1:8620");
  lock.reset();
  EXPECT_FALSE(Seen().is_running);
  EXPECT_EQ(Seen().state_dir, "/state") << "nodes of a controller that has ended may still serve";
}

TEST_F(ControllerLockTest, ShowsAProblemWithoutNewBlocksAndUntilItIsOver) {
  ControllerLock lock = ControllerLock::Take(dir_).value();
  ASSERT_TRUE(lock.Describe(7, "/state"));
  const auto bytes = std::filesystem::file_size(dir_ / ".longshore/controller.lock");
  EXPECT_EQ(bytes % 4096, 0u) << "so that the text fits while the disk is full";
  const std::string problem = "cannot create /a/b: " + std::string(300, 'x');
  ASSERT_TRUE(lock.SetProblem(problem));
  EXPECT_EQ(Seen().problem, problem);
  EXPECT_EQ(Seen().epoch, 7);
  EXPECT_EQ(std::filesystem::file_size(dir_ / ".longshore/controller.lock"), bytes);
  ASSERT_TRUE(lock.SetProblem(""));
  EXPECT_EQ(Seen().problem, "");
}

TEST_F(ControllerLockTest, CutsALongProblemBetweenTwoCharacters) {
  ControllerLock lock = ControllerLock::Take(dir_).value();
  std::string problem = "x";
  for (int i = 0; i < 600; ++i) problem += "é";
  ASSERT_TRUE(lock.Describe(7, "/state"));
  ASSERT_TRUE(lock.SetProblem(problem));
  EXPECT_TRUE(Seen().problem.ends_with("é...")) << Seen().problem;
}

TEST_F(ControllerLockTest, NeverShrinksTheFile) {
  ControllerLock lock = ControllerLock::Take(dir_).value();
  ASSERT_TRUE(lock.Describe(7, "/" + std::string(5000, 'x')));
  const auto bytes = std::filesystem::file_size(dir_ / ".longshore/controller.lock");
  EXPECT_GT(bytes, 5000u);
  ASSERT_TRUE(lock.Describe(8, "/state"));
  EXPECT_EQ(std::filesystem::file_size(dir_ / ".longshore/controller.lock"), bytes);
  EXPECT_EQ(Seen().epoch, 8);
}

TEST_F(ControllerLockTest, KeepsTheTimeOfTheLastActivityWhenTheNextControllerStarts) {
  std::optional<ControllerLock> lock(ControllerLock::Take(dir_).value());
  ASSERT_TRUE(lock->Describe(1, "/state"));
  EXPECT_EQ(Seen().last_active_at, TimePoint{}) << "it has not been active yet";
  const TimePoint before = SystemClock().Now() - std::chrono::seconds(1);  // File times are coarser than this clock.
  ASSERT_TRUE(lock->RecordActivity());
  const TimePoint at = Seen().last_active_at;
  EXPECT_GT(at, before);
  lock.reset();
  EXPECT_EQ(Seen().last_active_at, at);
  lock = ControllerLock::Take(dir_).value();
  ASSERT_TRUE(lock->Describe(2, "/state"));
  EXPECT_EQ(Seen().last_active_at, at);
}

TEST_F(ControllerLockTest, RejectsASecondControllerOfTheSameManifests) {
  ASSERT_TRUE(Seen().last_active_at == TimePoint{});
  const ControllerLock first = ControllerLock::Take(dir_).value();
  EXPECT_TRUE(Seen().is_running) << "reading does not take the lock";
  const auto second = ControllerLock::Take(dir_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  EXPECT_NE(second.error().message.find(dir_.string()), std::string::npos) << second.error().message;
}

}  // namespace
}  // namespace longshore::store::local

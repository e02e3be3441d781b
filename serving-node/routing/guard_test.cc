#include "serving-node/routing/guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace longshore::routing {
namespace {

const GuardKey kV4{"digits", 4, "uid/4/1"};

TEST(ErrorsTrip, NeedsEnoughRequestsAndTooManyErrors) {
  control::Guard guard;
  guard.set_error_rate_max(0.1);
  guard.set_errors_min_requests(20);
  EXPECT_EQ(ErrorsTrip(guard, {19, 19}), "");
  EXPECT_EQ(ErrorsTrip(guard, {20, 2}), "");
  EXPECT_EQ(ErrorsTrip(guard, {20, 3}), "3 of the last 20 requests failed, more than 10.00 %");
  guard.set_error_rate_max(0);
  EXPECT_EQ(ErrorsTrip(guard, {20, 20}), "");
}

TEST(ErrorsTrip, NeverNeedsMoreRequestsThanTheWindowHolds) {
  control::Guard guard;
  guard.set_error_rate_max(0.1);
  guard.set_errors_min_requests(1000000);
  EXPECT_NE(ErrorsTrip(guard, {ErrorWindow::kRequests, ErrorWindow::kRequests}), "");
}

TEST(ErrorWindow, CountsOnlyTheLastRequests) {
  ErrorWindow window;
  for (int i = 0; i < 3; ++i) window.Count(true);
  EXPECT_EQ(window.Count(false).requests, 4);
  EXPECT_EQ(window.Count(false).errors, 3);
  for (int64_t i = 5; i < ErrorWindow::kRequests; ++i) EXPECT_EQ(window.Count(false).errors, 3);
  EXPECT_EQ(window.Count(false).errors, 2);
  for (int i = 0; i < 2; ++i) window.Count(true);
  EXPECT_EQ(window.Count(false).errors, 2);
  EXPECT_EQ(window.Count(false).requests, ErrorWindow::kRequests);
}

class GuardBookTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/guards.XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  Path dir_;
};

TEST_F(GuardBookTest, StaysTrippedAfterARestart) {
  {
    const auto book = *GuardBook::Open(dir_);
    book->TripNow(*book->For(kV4), "NonFinite", "NaN", FromUnixMillis(5));
  }
  const auto book = *GuardBook::Open(dir_);
  EXPECT_TRUE(book->For(kV4)->tripped());
  EXPECT_FALSE(book->For({"digits", 4, "uid/4/2"})->tripped()) << "a new attempt starts untripped";
  ASSERT_EQ(book->Trips().size(), 1u);
  EXPECT_EQ(book->Trips()[0].message, "NaN");
  EXPECT_EQ(ToUnixMillis(book->Trips()[0].at), 5);
}

TEST_F(GuardBookTest, AddsALaterExplanationToTheTripAndReportsItAgain) {
  {
    const auto book = *GuardBook::Open(dir_);
    int reports = 0;
    book->SetOnTrip([&reports](const Trip&) { ++reports; });
    book->Explain(kV4, "of no trip");
    EXPECT_EQ(reports, 0);
    EXPECT_TRUE(book->TripNow(*book->For(kV4), "NonFinite", "NaN", FromUnixMillis(5)));
    EXPECT_FALSE(book->TripNow(*book->For(kV4), "Errors", "second", {}));
    EXPECT_EQ(reports, 1);
    book->Explain(kV4, "made by node x");
    EXPECT_EQ(reports, 2);
  }
  const auto book = *GuardBook::Open(dir_);
  ASSERT_EQ(book->Trips().size(), 1u);
  EXPECT_EQ(book->Trips()[0], (Trip{kV4, "NonFinite", "NaN: made by node x", FromUnixMillis(5)}));
}

TEST_F(GuardBookTest, TripsAndReportsOnce) {
  const auto book = *GuardBook::Open(dir_);
  int reports = 0;
  book->SetOnTrip([&reports](const Trip&) { ++reports; });
  book->TripNow(*book->For(kV4), "NonFinite", "first", {});
  book->TripNow(*book->For(kV4), "Errors", "second", {});
  EXPECT_EQ(reports, 1);
  EXPECT_EQ(book->Trips()[0].message, "first");
}

TEST_F(GuardBookTest, TripsEvenIfTheTripCannotBeWritten) {
  const auto book = *GuardBook::Open(dir_);
  std::filesystem::remove_all(dir_);
  book->TripNow(*book->For(kV4), "NonFinite", "NaN", {});
  EXPECT_TRUE(book->For(kV4)->tripped());
}

TEST_F(GuardBookTest, WritesATripAgainThatCouldNotBeWritten) {
  {
    const auto book = *GuardBook::Open(dir_);
    const Path aside = dir_.string() + ".aside";
    std::filesystem::rename(dir_, aside);
    book->TripNow(*book->For(kV4), "NonFinite", "NaN", {});
    book->Flush();
    EXPECT_EQ(book->health().Problems().size(), 1u);
    std::filesystem::rename(aside, dir_);
    book->WriteAgain();
    book->Flush();
    EXPECT_TRUE(book->health().Problems().empty());
  }
  EXPECT_TRUE((*GuardBook::Open(dir_))->For(kV4)->tripped());
}

TEST_F(GuardBookTest, DoesNotWaitForTheDisk) {
  // A named pipe in place of the temporary file: opening it for writing blocks until the test opens it for reading.
  const Path slow = dir_ / fmt::format("guards.json.{}.tmp", getpid());
  ASSERT_EQ(mkfifo(slow.c_str(), 0600), 0);
  const auto book = *GuardBook::Open(dir_);
  book->TripNow(*book->For(kV4), "NonFinite", "NaN", {});
  EXPECT_TRUE(book->For(kV4)->tripped());
  EXPECT_EQ(book->Trips().size(), 1u);
  book->Keep({});
  const int reader = open(slow.c_str(), O_RDONLY);
  char written[4096];
  while (read(reader, written, sizeof(written)) > 0) continue;
  close(reader);
}

TEST_F(GuardBookTest, ForgetsGuardsThatTheStateNoLongerContains) {
  {
    const auto book = *GuardBook::Open(dir_);
    book->TripNow(*book->For(kV4), "NonFinite", "NaN", {});
    book->Keep({{"digits", 4, "uid/4/2"}});
    EXPECT_TRUE(book->Trips().empty());
  }
  EXPECT_FALSE((*GuardBook::Open(dir_))->For(kV4)->tripped());
}

}  // namespace
}  // namespace longshore::routing

#include "controller/decide/autoscale/starts.h"

#include <gtest/gtest.h>

namespace longshore::autoscale {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kStart{std::chrono::seconds(1'800'000'000)};

TEST(Starts, StartTimeIsThatOfNineOfTen) {
  api::AutoscaleStatus status;
  EXPECT_EQ(StartTimeOf(status), seconds(30)) << "none is measured";
  status.start_seconds = {12};
  EXPECT_EQ(StartTimeOf(status), seconds(12));
  status.start_seconds = {10, 20, 30, 40, 50, 60, 70, 80, 90, 600};
  EXPECT_EQ(StartTimeOf(status), seconds(90)) << "one node that was stuck does not count";
}

TEST(Starts, NodesThatWereAskedForTogetherCountOncePerTimeTheyBecomeReady) {
  api::AutoscaleStatus status;
  NoteWanted(status, {.from = 6, .to = 10}, kStart);
  NoteReady(status, {.wanted = 10, .ready = 6}, kStart + seconds(10));
  EXPECT_TRUE(status.start_seconds.empty());
  NoteReady(status, {.wanted = 10, .ready = 9}, kStart + seconds(20));
  NoteReady(status, {.wanted = 10, .ready = 10}, kStart + seconds(25));
  EXPECT_EQ(status.start_seconds, (std::vector<double>{20, 25}));
  EXPECT_TRUE(status.asked.empty());
}

TEST(Starts, NodesThatBecomeUnreadyAndReadyAgainAreNoStarts) {
  api::AutoscaleStatus status;
  NoteWanted(status, {.from = 6, .to = 10}, kStart);
  NoteReady(status, {.wanted = 10, .ready = 0}, kStart + seconds(10));  // A new controller has seen no node yet.
  NoteReady(status, {.wanted = 10, .ready = 6}, kStart + seconds(13));
  EXPECT_TRUE(status.start_seconds.empty());
  EXPECT_EQ(status.asked, (std::vector<api::AskedNodes>{{kStart, 4}}));
}

TEST(Starts, FewerWantedNodesForgetTheNewestAskedOnes) {
  api::AutoscaleStatus status;
  NoteWanted(status, {.from = 1, .to = 3}, kStart);
  NoteWanted(status, {.from = 3, .to = 6}, kStart + seconds(5));
  NoteWanted(status, {.from = 6, .to = 2}, kStart + seconds(6));
  EXPECT_EQ(status.asked, (std::vector<api::AskedNodes>{{kStart, 1}}));
  NoteWanted(status, {.from = 2, .to = 0}, kStart + seconds(7));
  EXPECT_TRUE(status.asked.empty());
}

TEST(Starts, ListOfAskedNodesIsBounded) {
  api::AutoscaleStatus status;
  for (int i = 0; i < 100; ++i) NoteWanted(status, {.from = i, .to = i + 1}, kStart + seconds(i));
  EXPECT_EQ(status.asked.size(), api::kAskedMax);
  int nodes = 0;
  for (const api::AskedNodes& asked : status.asked) nodes += asked.nodes;
  EXPECT_EQ(nodes, 100);
}

TEST(Starts, ComingNodesAreExpectedAfterTheStartTime) {
  api::AutoscaleStatus status;
  status.start_seconds = {60};
  status.asked = {{kStart, 2}, {kStart + seconds(40), 3}};
  using Coming = std::vector<ComingNodes>;
  EXPECT_EQ(ComingOf(status, {.wanted = 10, .ready = 5}, kStart + seconds(50)),
            (Coming{{seconds(10), 2}, {seconds(50), 3}}));
  EXPECT_EQ(ComingOf(status, {.wanted = 10, .ready = 4}, kStart + seconds(70)),
            (Coming{{seconds(0), 2}, {seconds(30), 3}, {seconds(60), 1}}))
      << "two are late, and one became unready again";
  EXPECT_EQ(ComingOf(status, {.wanted = 10, .ready = 9}, kStart + seconds(50)), (Coming{{seconds(10), 1}}));
  EXPECT_TRUE(ComingOf(status, {.wanted = 10, .ready = 10}, kStart).empty());
}

TEST(Starts, ANodeThatIsMuchTooLateIsNotExpected) {
  api::AutoscaleStatus status;
  status.start_seconds = {60};
  EXPECT_FALSE(ExpectsNodes(status, kStart));
  status.asked = {{kStart, 1}};
  EXPECT_TRUE(ExpectsNodes(status, kStart + minutes(6)));
  EXPECT_FALSE(ExpectsNodes(status, kStart + minutes(6) + seconds(1)));
}

}  // namespace
}  // namespace longshore::autoscale

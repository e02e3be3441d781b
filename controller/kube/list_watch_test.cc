#include "controller/kube/list_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/seeds/seeds.h"

namespace longshore::kube {
namespace {

using std::chrono::seconds;

// Returns "list", "list TOKEN", "watch VERSION" or "pause, then ...".
std::string ToString(const Move& move) {
  if (const auto* page = std::get_if<ListPage>(&move))
    return page->continue_token.empty() ? "list" : "list " + page->continue_token;
  if (const auto* watch = std::get_if<WatchFrom>(&move)) return "watch " + watch->resource_version;
  return "pause, then " + std::visit([](const auto& then) { return ToString(Move(then)); }, std::get<Pause>(move).then);
}

class ListWatchTest : public ::testing::Test {
 protected:
  std::string next() const { return ToString(machine_.next()); }
  void StartWatch() {
    machine_.OnPage("100", "");
    machine_.OnEvent("101");
  }

  ListWatch machine_{1};
};

TEST_F(ListWatchTest, ListsPageByPageAndThenWatchesFromTheVersionOfTheList) {
  EXPECT_EQ(next(), "list");
  machine_.OnPage("100", "abc");
  EXPECT_EQ(next(), "list abc");
  machine_.OnPage("100", "");
  EXPECT_EQ(next(), "watch 100");
  EXPECT_EQ(machine_.lists(), 1);
}

TEST_F(ListWatchTest, AWatchThatEndsOrFailsContinuesFromTheNewestVersionWithoutAPause) {
  StartWatch();
  machine_.OnWatchEnded();
  EXPECT_EQ(next(), "watch 101");
  machine_.OnEvent("107");
  machine_.OnWatchFailed({});
  EXPECT_EQ(next(), "watch 107");
  EXPECT_EQ(machine_.lists(), 1);
}

TEST_F(ListWatchTest, ListsAgainWhenTheVersionIsGone) {
  StartWatch();
  machine_.OnWatchFailed({.gone = true, .retry_after = {}});
  EXPECT_EQ(next(), "list");
  EXPECT_EQ(machine_.lists(), 2);
}

TEST_F(ListWatchTest, PausesIfTheVersionOfANewListIsGone) {
  machine_.OnPage("100", "");
  machine_.OnWatchFailed({.gone = true, .retry_after = {}});
  EXPECT_EQ(next(), "pause, then list");
}

TEST_F(ListWatchTest, StartsTheListAgainWhenItsTokenIsGone) {
  machine_.OnPage("100", "abc");
  machine_.OnListFailed({.gone = true, .retry_after = {}});
  EXPECT_EQ(next(), "pause, then list");
}

TEST_F(ListWatchTest, AListContinuesAtTheFailedPage) {
  machine_.OnPage("100", "abc");
  machine_.OnListFailed({});
  EXPECT_EQ(next(), "pause, then list abc");
  machine_.OnPauseOver();
  EXPECT_EQ(next(), "list abc");
  EXPECT_EQ(machine_.lists(), 1);
}

TEST_F(ListWatchTest, PausesGrowUntilAnEventIsReceived) {
  StartWatch();
  machine_.OnWatchFailed({});
  Duration last{0};
  for (int i = 0; i < 30; ++i) {
    machine_.OnWatchEnded();
    const Duration pause = std::get<Pause>(machine_.next()).length;
    EXPECT_GE(pause, std::min<Duration>(last, ListWatch::kPauseMax / 2));
    EXPECT_LE(pause, ListWatch::kPauseMax);
    last = pause;
    machine_.OnPauseOver();
  }
  EXPECT_GE(last, ListWatch::kPauseMax / 2);
  machine_.OnEvent("200");
  machine_.OnWatchEnded();
  EXPECT_EQ(next(), "watch 200");
}

TEST_F(ListWatchTest, PausesAsLongAsTheServerAsks) {
  machine_.OnListFailed({.gone = false, .retry_after = seconds(100)});
  EXPECT_EQ(std::get<Pause>(machine_.next()).length, seconds(100));
  StartWatch();
  machine_.OnWatchFailed({.gone = false, .retry_after = seconds(7)});
  EXPECT_EQ(std::get<Pause>(machine_.next()).length, seconds(7));
}

// In any sequence of answers, only a 410 causes another list, and each watch starts from the newest version.
TEST_F(ListWatchTest, AnyHistoryListsOncePerVersionThatIsGone) {
  constexpr uint64_t kHistories = 200;
  const uint64_t first = seeds::First(kHistories);
  for (uint64_t seed = first; seed < first + kHistories; ++seed) {
    std::mt19937_64 random(seed);
    ListWatch machine(seed);
    int64_t gone = 0;
    int version = 1;
    for (int i = 0; i < 500; ++i) {
      const uint64_t percentile = random() % 100;
      if (std::holds_alternative<Pause>(machine.next())) {
        machine.OnPauseOver();
      } else if (std::holds_alternative<ListPage>(machine.next())) {
        if (percentile < 20)
          machine.OnListFailed({});
        else
          machine.OnPage(std::to_string(version), percentile < 50 ? "more" : "");
      } else {
        ASSERT_EQ(std::get<WatchFrom>(machine.next()).resource_version, std::to_string(version)) << "seed " << seed;
        if (percentile < 70)
          machine.OnEvent(std::to_string(++version));
        else if (percentile < 80)
          machine.OnWatchEnded();
        else if (percentile < 95)
          machine.OnWatchFailed({});
        else
          ++gone, machine.OnWatchFailed({.gone = true, .retry_after = {}});
      }
    }
    EXPECT_EQ(machine.lists(), 1 + gone) << "seed " << seed;
  }
}

TEST_F(ListWatchTest, AMillionEventsNeedOneListAndOneMorePerVersionThatIsGone) {
  constexpr int kEvents = 1'000'000;
  constexpr int kWatch = 5'000;   // Number of events after which the server ends a watch.
  constexpr int kGone = 250'000;  // Number of events after which a version is too old.
  int64_t gone = 0;
  int version = 100;
  machine_.OnPage("100", "");
  for (int i = 1; i <= kEvents; ++i) {
    ASSERT_EQ(std::get<WatchFrom>(machine_.next()).resource_version, std::to_string(version));
    machine_.OnEvent(std::to_string(++version));
    if (i % kGone == 0) {
      ++gone;
      machine_.OnWatchFailed({.gone = true, .retry_after = {}});
      ASSERT_EQ(next(), "list");
      machine_.OnPage(std::to_string(version), "");
    } else if (i % kWatch == 0) {
      machine_.OnWatchEnded();
    }
  }
  EXPECT_EQ(gone, 4);
  EXPECT_EQ(machine_.lists(), 1 + gone);
}

}  // namespace
}  // namespace longshore::kube

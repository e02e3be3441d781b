#include "serving-node/control/heartbeat_monitor.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace longshore::control {
namespace {

TEST(HeartbeatMonitor, MeasuresFromTheLastMessage) {
  using std::chrono::seconds;
  FakeMonotonicClock clock;
  std::promise<HeartbeatMonitor*> made;
  const auto self = made.get_future().share();
  std::vector<Duration> seen;
  std::promise<void> done;
  HeartbeatMonitor watch(clock, std::chrono::milliseconds(1), [&](Duration silent) {
    if (seen.size() == 3) return;
    seen.push_back(silent);
    if (seen.size() == 1) clock.Advance(seconds(40));
    if (seen.size() == 2) self.get()->NoteMessage();
    if (seen.size() == 2) clock.Advance(seconds(10));
    if (seen.size() == 3) done.set_value();
  });
  made.set_value(&watch);
  done.get_future().wait();
  EXPECT_EQ(seen, (std::vector<Duration>{seconds(0), seconds(40), seconds(10)}));
}

}  // namespace
}  // namespace longshore::control

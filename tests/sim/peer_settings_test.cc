#include "tests/sim/peer_settings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace longshore::sim {
namespace {

TEST(SweepOf, NamesEachSettingOnceAndHasThePeerInEach) {
  for (const Peer peer : AllPeers()) {
    for (const Measures measures : {Measures::kErrors, Measures::kRunTimes}) {
      const Json settings = SweepOf(peer, measures, 2400);
      std::set<std::string> names;
      for (const Json& setting : settings) {
        names.insert(setting.at("name").get<std::string>());
        EXPECT_EQ(setting.at("peer"), DocumentedSetting(peer).at("peer"));
      }
      EXPECT_EQ(names.size(), settings.size()) << NameOf(peer);
      EXPECT_GT(settings.size(), 100U) << NameOf(peer);
    }
  }
}

TEST(SweepOf, HasNoWindowThatIsLongerThanTheRollout) {
  for (const Json& setting : SweepOf(Peer::kArgo, Measures::kErrors, 600)) {
    const int window = setting.at("metrics").at(0).at("window_seconds").get<int>();
    EXPECT_LE(window, 600);
    EXPECT_EQ(window % kPointSeconds, 0);
  }
}

TEST(SweepOf, LetsFlaggerPromoteAtTheEndOfTheRollout) {
  for (const Json& setting : SweepOf(Peer::kFlagger, Measures::kErrors, 600)) {
    const Json& analysis = setting.at("analysis");
    const int interval = std::stoi(analysis.at("interval").get<std::string>());
    EXPECT_EQ((analysis.at("iterations").get<int>() + 1) * interval, 600);
  }
}

}  // namespace
}  // namespace longshore::sim

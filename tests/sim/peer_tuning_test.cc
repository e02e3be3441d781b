#include "tests/sim/peer_tuning.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace longshore::sim {
namespace {

TEST(RealPeerRulesTuned, ChooseASettingOfEachPeerForAFaultThatIsEasyToFindAndSaysWhyItHasNoneForOneThatIsNot) {
  const char* program = std::getenv("LONGSHORE_PEER_RULES");
  if (program == nullptr) GTEST_SKIP() << "LONGSHORE_PEER_RULES is not set";
  World easy;
  easy.candidate_errors = 0.9;
  World hidden;
  hidden.hidden.refused_share = 0.01;  // No measure of a peer contains refused requests.
  const std::vector<Group> groups = GroupsOf({{"easy", easy}, {"hidden", hidden}});
  ASSERT_EQ(groups.size(), 1U);
  const auto tuned =
      Tune(groups[0], program, {.count = 0, .seed = 3}, {.screened = 3, .faulty = 3, .counted = 3, .listed = 2});
  ASSERT_TRUE(tuned) << tuned.error().message;
  const size_t own = static_cast<size_t>(Family::kOwn);
  for (const Peer peer : AllPeers()) {
    const size_t i = static_cast<size_t>(peer);
    const Tuned::Choice& found = tuned->of_members[0][own][i];
    ASSERT_TRUE(found.setting) << NameOf(peer);
    EXPECT_EQ(tuned->settings[i].at(*found.setting).at("peer"), DocumentedSetting(peer).at("peer"));
    const Tuned::Choice& none = tuned->of_members[1][own][i];
    EXPECT_FALSE(none.setting) << NameOf(peer);
    EXPECT_NE(none.why.find("have few false alarms in independent requests: "), std::string::npos) << none.why;
  }
}

}  // namespace
}  // namespace longshore::sim

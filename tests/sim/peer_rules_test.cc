#include "tests/sim/peer_rules.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/sim/peer_settings.h"
#include "tests/sim/trials.h"

namespace longshore::sim {
namespace {

// A rollout of ten minutes, as a line.
std::string LineOf(double candidate_errors) {
  World world;
  world.candidate_errors = candidate_errors;
  Recording recording({kPointSeconds, true, {0.01, 10000, 13000, 17000}});
  RunWatch(world, LadderFor(world), {0.25, 600}, 1, &recording);
  return recording.Line(1);
}

TEST(PeerRulesWithoutAProgram, NamesTheMissingFile) {
  const auto rules = PeerRules::Start("/no/such/program", Json::array());
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().message.find("/no/such/program"), std::string::npos) << rules.error().message;
}

TEST(PeerRulesWithoutAProgram, NamesTheProgramThatEndsItsExitCodeAndItsMessage) {
  const auto rules = PeerRules::Start("/bin/ls", Json::array());
  ASSERT_TRUE(rules);
  const auto judged = (*rules)->Judge("{}");
  ASSERT_FALSE(judged);
  EXPECT_NE(judged.error().message.find("/bin/ls exited with code 2: "), std::string::npos) << judged.error().message;
  EXPECT_NE(judged.error().message.find("--settings"), std::string::npos) << judged.error().message;
}

class RealPeerRules : public testing::Test {
 protected:
  void SetUp() override {
    const char* program = std::getenv("LONGSHORE_PEER_RULES");
    if (program == nullptr) GTEST_SKIP() << "LONGSHORE_PEER_RULES is not set";
    program_ = program;
  }

  std::string program_;
};

TEST_F(RealPeerRules, AcceptEverySettingOfTheSweeps) {
  const std::string line = LineOf(0.01);
  for (const Peer peer : AllPeers()) {
    for (const Measures measures : {Measures::kErrors, Measures::kRunTimes}) {
      const Json settings = SweepOf(peer, measures, 600);
      const auto rules = PeerRules::Start(program_, settings);
      ASSERT_TRUE(rules) << rules.error().message;
      const auto decisions = (*rules)->Judge(line);
      ASSERT_TRUE(decisions) << decisions.error().message;
      EXPECT_EQ(decisions->size(), settings.size()) << NameOf(peer);
    }
  }
}

TEST_F(RealPeerRules, RollBackACandidateThatMostlyFails) {
  Json settings = Json::array();
  for (const Peer peer : AllPeers()) {
    settings.push_back(SweepOf(peer, Measures::kErrors, 600).at(0));
  }
  const auto rules = PeerRules::Start(program_, settings);
  ASSERT_TRUE(rules) << rules.error().message;
  for (int i = 0; i < 2; ++i) {
    const auto decisions = (*rules)->Judge(LineOf(0.9));
    ASSERT_TRUE(decisions) << decisions.error().message;
    for (const PeerDecision& decision : *decisions) {
      EXPECT_TRUE(decision.rolled_back);
      EXPECT_GT(decision.candidate_requests, 0);
    }
  }
}

TEST_F(RealPeerRules, RefuseAWrongSettingWithItsPosition) {
  const auto rules = PeerRules::Start(program_, Json::array({{{"name", "x"}, {"peer", "nobody"}}}));
  ASSERT_TRUE(rules);
  const auto judged = (*rules)->Judge("{}");
  ASSERT_FALSE(judged);
  EXPECT_NE(judged.error().message.find("exited with code 2"), std::string::npos) << judged.error().message;
  EXPECT_NE(judged.error().message.find("settings[0] \"x\""), std::string::npos) << judged.error().message;
}

}  // namespace
}  // namespace longshore::sim

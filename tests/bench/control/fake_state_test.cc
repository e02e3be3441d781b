#include "tests/bench/control/fake_state.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "common/base/error.h"
#include "common/node_contract/state_digest.h"

namespace longshore::bench::control {
namespace {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

std::string DigestOfText(const std::string& state) {
  return node_contract::DigestOf(Parse<longshore::control::DesiredState>(state));
}

TEST(FakeState, HasTheDigestOfTheStateThatANodeHolds) {
  FleetParts parts;
  FakeState state(parts);
  EXPECT_EQ(state.Digest(), "");
  const auto apply = [&](const std::string& text) {
    return state.Apply(Parse<longshore::control::FromController>(text));
  };
  EXPECT_TRUE(apply(R"(epoch: 2 revision: 1 snapshot { state { fleet { fleet: "ns/f" peers { node: "b" } }
                       models { served_name: "m" versions { version: 1 load: true } } models { served_name: "n" } } })"));
  EXPECT_TRUE(apply(R"(epoch: 2 revision: 2 peers { set { node: "a" address: "x:1" } set { node: "c" } left: "b" })"));
  EXPECT_TRUE(apply(R"(epoch: 2 revision: 3 change { served_name: "n" })"));
  EXPECT_TRUE(
      apply(R"(epoch: 2 revision: 4 change { served_name: "l" model { served_name: "l" slo_latency_ms: 5 } })"));
  const std::string fleet = R"(fleet { fleet: "ns/f" peers { node: "a" address: "x:1" } peers { node: "c" } } )";
  const std::string models = R"(models { served_name: "l" slo_latency_ms: 5 }
                                models { served_name: "m" versions { version: 1 load: true } })";
  EXPECT_EQ(state.Digest(), DigestOfText("epoch: 2 revision: 4 " + fleet + models));
  EXPECT_TRUE(apply(R"(epoch: 2 revision: 5 fleet { fleet: "ns/f" report_again_ms: 7000 })"));
  EXPECT_EQ(state.Digest(),
            DigestOfText(R"(epoch: 2 revision: 5 fleet { fleet: "ns/f" report_again_ms: 7000 })" + models));
  EXPECT_EQ(state.report_again(), std::chrono::seconds(7));
}

TEST(FakeState, ReportsWhatItShouldLoad) {
  FleetParts parts;
  FakeState state(parts);
  state.Apply(Parse<longshore::control::FromController>(R"(epoch: 2 revision: 1 snapshot { state {
      models { served_name: "m" versions { version: 1 load: true weight_bp: 10000 } versions { version: 2 } } } })"));
  const longshore::control::Report report = state.Report();
  ASSERT_EQ(report.versions_size(), 1);
  EXPECT_EQ(report.versions(0).version(), 1);
  EXPECT_EQ(report.versions(0).weight_bp(), 10000);
  EXPECT_EQ(report.epoch(), 2);
  EXPECT_EQ(state.report_again(), std::chrono::seconds(1));
}

TEST(FakeState, TellsWhichVersionsLostTheirWeight) {
  FleetParts parts;
  FakeState state(parts);
  const auto change = [&](int revision, const std::string& versions) {
    state.Apply(Parse<longshore::control::FromController>(fmt::format(
        R"(epoch: 2 revision: {} change {{ served_name: "m" model {{ served_name: "m" {} }} }})", revision, versions)));
    return state.TakeLeft();
  };
  const std::vector<LeftVersion> none;
  EXPECT_EQ(change(1, "versions { version: 1 load: true weight_bp: 10000 }"), none);
  EXPECT_EQ(change(2, "versions { version: 1 load: true } versions { version: 2 load: true weight_bp: 10000 }"),
            (std::vector<LeftVersion>{{"m", 1}}));
  EXPECT_EQ(change(3, "versions { version: 1 load: true weight_bp: 10000 }"), (std::vector<LeftVersion>{{"m", 2}}));
  EXPECT_EQ(state.TakeLeft(), none);
}

TEST(FakeState, ReportsTheDigestOfTheDesiredStateIfThereIsOne) {
  FleetParts parts;
  FakeState state(parts, "");
  state.Apply(Parse<longshore::control::FromController>(R"(epoch: 2 revision: 1 snapshot { state {
      models { served_name: "m" versions { version: 1 load: true } versions { version: 2 load: true digest: "d" } } } })"));
  EXPECT_EQ(state.Report().versions(0).digest(), "");
  EXPECT_EQ(state.Report().versions(1).digest(), "d");
}

TEST(FakeState, CountsRequestsWhileThereIsACandidate) {
  FleetParts parts;
  FakeState state(parts);
  const auto apply = [&](const std::string& text) { state.Apply(Parse<longshore::control::FromController>(text)); };
  apply(R"(epoch: 2 revision: 1 snapshot { state {
      models { served_name: "m" versions { version: 1 load: true weight_bp: 10000 role: STABLE } } } })");
  state.Answer(100);
  EXPECT_FALSE(state.has_candidate());
  EXPECT_FALSE(state.Report().versions(0).has_evidence());
  apply(R"(epoch: 2 revision: 2 change { served_name: "m" model { served_name: "m"
      versions { version: 1 load: true weight_bp: 9000 role: STABLE }
      versions { version: 2 load: true weight_bp: 1000 role: CANDIDATE } } })");
  EXPECT_TRUE(state.has_candidate());
  state.Answer(100);
  apply(R"(epoch: 2 revision: 3 change { served_name: "m" model { served_name: "m"
      versions { version: 1 load: true weight_bp: 5000 role: STABLE }
      versions { version: 2 load: true weight_bp: 5000 role: CANDIDATE } } })");
  state.Answer(100);
  const longshore::control::Report report = state.Report();
  EXPECT_EQ(report.versions(0).evidence().requests(), 140);
  EXPECT_EQ(report.versions(1).evidence().requests(), 60);
  EXPECT_EQ(report.versions(1).evidence().run_time_buckets(80), 60);
  apply(R"(epoch: 2 revision: 4 change { served_name: "m" })");
  EXPECT_FALSE(state.has_candidate());
}

TEST(FakeState, AHeartbeatIsNotAcknowledgedAndADrainIs) {
  FleetParts parts;
  FakeState state(parts);
  EXPECT_FALSE(state.Apply(Parse<longshore::control::FromController>("heartbeat {}")));
  EXPECT_FALSE(state.Apply(Parse<longshore::control::FromController>("certificate {}")));
  EXPECT_TRUE(state.Apply(Parse<longshore::control::FromController>("epoch: 1 revision: 1 drain {}")));
  EXPECT_EQ(state.epoch(), 0);
}

TEST(FleetParts, AreSharedByWhoCameToTheSameByWhateverWay) {
  FleetParts parts;
  const auto fleet = Parse<longshore::control::FleetState>(R"(peers { node: "a" })");
  const auto change = Parse<longshore::control::PeersChange>(R"(set { node: "b" })");
  const FleetPartPtr before = parts.Of(fleet);
  EXPECT_EQ(before, parts.Of(fleet));
  const FleetPartPtr after = parts.After(*before, change);
  EXPECT_EQ(after, parts.After(*before, change));
  EXPECT_EQ(after, parts.Of(Parse<longshore::control::FleetState>(R"(peers { node: "a" } peers { node: "b" })")));
  EXPECT_EQ(before->fleet.peers_size(), 1);
}

}  // namespace
}  // namespace longshore::bench::control

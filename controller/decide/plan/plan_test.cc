#include "controller/decide/plan/plan.h"

#include <gmock/gmock.h>

#include "common/node_contract/state_digest.h"

namespace longshore::plan {
namespace {

api::Model Digits() {
  api::Model model;
  model.metadata.name = "digits";
  model.spec.served_name = "my_digits";
  model.spec.source_uri = "file:///models/digits";
  model.spec.version_labels["canary"] = 2;
  model.spec.slo.latency_target = std::chrono::milliseconds(50);
  model.status.stable_version = 1;
  model.status.digests[2] = "abc";
  return model;
}

rollout::Decision Split(const api::Model& model, int candidate_bp) {
  rollout::Decision decision;
  decision.status = model.status;
  decision.placement.salt = "u/2/1";
  decision.placement.versions = {
      {.version = 1, .weight_bp = 10000 - candidate_bp, .candidate = false, .rehearse = false, .nodes = {"a", "b"}},
      {.version = 2, .weight_bp = candidate_bp, .candidate = true, .rehearse = false, .nodes = {"a"}}};
  return decision;
}

control::ModelState StateOn(const api::Model& model, const rollout::Placement& placement, const std::string& node) {
  return StateFor(MakeBlueprint(model, placement), node);
}

NodeHolds Holds(const std::string& node, const control::ModelState& state) {
  return {node, node_contract::DigestOfPart(node_contract::SerializePart(state))};
}

TEST(Plan, GivesVersionsToLoadAndVersionsToKnowOnly) {
  const api::Model model = Digits();
  const rollout::Decision decision = Split(model, 500);
  const control::ModelState a = StateOn(model, decision.placement, "a");
  const control::ModelState b = StateOn(model, decision.placement, "b");
  EXPECT_EQ(a.object(), "default/digits");
  EXPECT_EQ(a.slo_latency_ms(), 50);
  EXPECT_EQ(a.assignment().salt(), "u/2/1");
  EXPECT_EQ(a.labels().at("canary"), 2);
  ASSERT_EQ(a.versions_size(), 2);
  EXPECT_EQ(a.versions(0).role(), control::STABLE);
  EXPECT_FALSE(a.versions(0).has_guard());
  EXPECT_EQ(a.versions(1).role(), control::CANDIDATE);
  EXPECT_EQ(a.versions(1).digest(), "abc");
  EXPECT_TRUE(a.versions(1).guard().non_finite());
  EXPECT_TRUE(a.versions(1).load());
  EXPECT_FALSE(b.versions(1).load());
  EXPECT_EQ(b.versions(1).weight_bp(), 500);
}

api::Model Shadowed() {
  api::Model model = Digits();
  model.spec.rollout.strategy = api::Strategy::kShadow;
  model.spec.rollout.shadow = {.share = 0.5, .budget = 0.2, .keep_worst = 7};
  model.spec.rollout.shadow->compare = {{.output = "o", .measure = api::Measure::kTopK, .k = 5}};
  model.status.rollout.phase = api::RolloutPhase::kShadow;
  model.status.rollout.candidate = 2;
  return model;
}

TEST(Plan, LetsNodesMakePairsOfStablesRequestsInThePhaseShadow) {
  api::Model model = Shadowed();
  const control::ModelState state = StateOn(model, Split(model, 0).placement, "a");
  EXPECT_TRUE(state.versions(1).shadow());
  EXPECT_FALSE(state.versions(0).shadow());
  EXPECT_EQ(state.validation().pair_share(), 0.5);
  EXPECT_EQ(state.validation().pair_budget(), 0.2);
  EXPECT_EQ(state.validation().keep_worst(), 7);
  ASSERT_EQ(state.validation().output_rules_size(), 1);
  EXPECT_EQ(state.validation().output_rules(0).similarity(), 0.8);
  EXPECT_EQ(state.routes_size(), 0);
  model.spec.rollout.shadow->share = 0;
  EXPECT_FALSE(StateOn(model, Split(model, 0).placement, "a").versions(1).shadow());
}

TEST(Plan, ACandidateThatAnswersNoClientsYetGivesItsMemoryToOtherVersions) {
  using api::RolloutPhase, api::Strategy;
  api::RolloutStatus rollout;
  rollout.stable = 1;
  std::map<std::string, int64_t> labels;
  const auto candidate = [&](Strategy strategy, RolloutPhase phase, int weight_bp, bool has_shadow = false) {
    api::Model model = Digits();
    model.spec.version_labels = labels;
    model.status.rollout = rollout;
    model.spec.rollout.strategy = strategy;
    if (has_shadow) model.spec.rollout.shadow = api::Shadow{.memory_max = "1Ki"};
    model.status.rollout.phase = phase;
    return StateFor(MakeBlueprint(model, Split(model, weight_bp).placement), "a").versions(1);
  };
  for (const RolloutPhase phase : {RolloutPhase::kValidating, RolloutPhase::kLoading, RolloutPhase::kShadow,
                                   RolloutPhase::kPreview, RolloutPhase::kRolledBack}) {
    EXPECT_TRUE(candidate(Strategy::kShadow, phase, 0).gives_way());
    EXPECT_TRUE(candidate(Strategy::kBlueGreen, phase, 0).gives_way());
    EXPECT_EQ(candidate(Strategy::kBlueGreen, phase, 0, true).memory_bytes_max(), 1024);
    EXPECT_EQ(candidate(Strategy::kCanary, phase, 0, true).memory_bytes_max(), 1024);
    EXPECT_FALSE(candidate(Strategy::kCanary, phase, 0).gives_way()) << "it waits for its first requests";
  }
  EXPECT_FALSE(candidate(Strategy::kShadow, RolloutPhase::kPromoting, 0).gives_way());
  EXPECT_FALSE(candidate(Strategy::kCanary, RolloutPhase::kStep, 500, true).gives_way());
  EXPECT_EQ(candidate(Strategy::kCanary, RolloutPhase::kStep, 500, true).memory_bytes_max(), 0);
  labels = {{"next", 2}};
  EXPECT_FALSE(candidate(Strategy::kShadow, RolloutPhase::kShadow, 0).gives_way()) << "clients name it";
  labels = {};
  rollout.undo_generation = 1;
  EXPECT_FALSE(candidate(Strategy::kShadow, RolloutPhase::kShadow, 0).gives_way()) << "an undo does not wait";
  rollout = {};
  EXPECT_FALSE(candidate(Strategy::kShadow, RolloutPhase::kShadow, 0).gives_way()) << "it is the first version";
}

TEST(Plan, ComparesOutputsInStepsWithTheShareOfTheSteps) {
  api::Model model = Shadowed();
  model.status.rollout.phase = api::RolloutPhase::kStep;
  const control::ModelState state = StateOn(model, Split(model, 500).placement, "a");
  EXPECT_FALSE(state.versions(1).shadow());
  EXPECT_EQ(state.validation().pair_share(), 0.25);
  EXPECT_EQ(state.validation().output_rules_size(), 1);
}

TEST(Plan, LetsPeopleTryTheCandidateInThePhasePreviewAndUntilItIsPromoted) {
  api::Model model = Shadowed();
  model.spec.rollout.strategy = api::Strategy::kBlueGreen;
  EXPECT_FALSE(StateOn(model, Split(model, 0).placement, "a").labels().contains("preview"));
  model.status.rollout.phase = api::RolloutPhase::kPreview;
  const control::ModelState state = StateOn(model, Split(model, 0).placement, "a");
  EXPECT_EQ(state.labels().at("preview"), 2);
  ASSERT_EQ(state.routes_size(), 1);
  EXPECT_EQ(state.routes(0).ShortDebugString(),
            "name: \"preview\" conditions { key: \"x-longshore-preview\" op: PRESENT } to: CANDIDATE");
  EXPECT_TRUE(state.versions(1).shadow());
  model.status.rollout.phase = api::RolloutPhase::kPromoting;
  const control::ModelState promoting = StateOn(model, Split(model, 0).placement, "a");
  EXPECT_EQ(promoting.labels().at("preview"), 2) << "while the promotion waits for nodes";
  EXPECT_EQ(promoting.routes_size(), 1);
  model.spec.rollout.strategy = api::Strategy::kCanary;
  EXPECT_EQ(StateOn(model, Split(model, 0).placement, "a").routes_size(), 0);
  model.spec.rollout.strategy = api::Strategy::kBlueGreen;
  model.status.rollout.phase = api::RolloutPhase::kPreview;
  model.spec.rollout.shadow.reset();
  EXPECT_FALSE(StateOn(model, Split(model, 0).placement, "a").versions(1).shadow());
}

TEST(Plan, PutsTheRuleOfThePreviewAfterThoseOfTheUser) {
  api::Model model = Shadowed();
  model.spec.rollout.strategy = api::Strategy::kBlueGreen;
  model.status.rollout.phase = api::RolloutPhase::kPreview;
  using api::MatchOperator, api::MatchSource;
  model.spec.rollout.routes = {
      {"careful-customer", {{MatchSource::kHeader, "x-customer", MatchOperator::kExact, {"acme"}}}, false}};
  const control::ModelState state = StateOn(model, Split(model, 0).placement, "a");
  ASSERT_EQ(state.routes_size(), 2);
  EXPECT_EQ(state.routes(0).name(), "careful-customer");
  EXPECT_EQ(state.routes(1).name(), "preview");
}

TEST(Plan, SendsMatchRulesInTheirOrder) {
  api::Model model = Digits();
  using api::MatchOperator, api::MatchSource;
  model.spec.rollout.routes = {{"testers",
                                {{MatchSource::kHeader, "x-team", MatchOperator::kIn, {"ml", "qa"}},
                                 {MatchSource::kClaim, "groups", MatchOperator::kContains, {"testers"}}},
                                true},
                               {"rest", {{MatchSource::kClient, "", MatchOperator::kIn, {"web"}}}, false}};
  const control::ModelState state = StateOn(model, Split(model, 500).placement, "a");
  ASSERT_EQ(state.routes_size(), 2);
  const control::Route& testers = state.routes(0);
  EXPECT_EQ(testers.name(), "testers");
  EXPECT_EQ(testers.to(), control::CANDIDATE);
  ASSERT_EQ(testers.conditions_size(), 2);
  EXPECT_EQ(testers.conditions(0).key(), "x-team");
  EXPECT_EQ(testers.conditions(0).op(), control::MatchCondition::IN);
  EXPECT_THAT(testers.conditions(0).values(), testing::ElementsAre("ml", "qa"));
  EXPECT_EQ(testers.conditions(1).source(), control::MatchCondition::CLAIM);
  EXPECT_EQ(testers.conditions(1).op(), control::MatchCondition::CONTAINS);
  EXPECT_EQ(state.routes(1).to(), control::STABLE);
  EXPECT_EQ(state.routes(1).conditions(0).source(), control::MatchCondition::CLIENT);
}

TEST(Plan, SendsTheChecksumOfAnArchive) {
  api::Model model = Digits();
  model.spec.source_uri = "https://h/digits.tar";
  model.spec.source_sha256 = "0123";
  const control::ModelState state = StateOn(model, Split(model, 0).placement, "a");
  EXPECT_EQ(state.source_uri(), "https://h/digits.tar");
  EXPECT_EQ(state.source_sha256(), "0123");
}

TEST(Plan, VersionKeepsItsArchiveSource) {
  api::Model model = Digits();
  model.status.sources = {{1, {"https://h/1.tar", "01"}}, {2, {"https://h/2.tar", "02"}}};
  model.spec.source_uri = "https://mirror/2.tar";
  model.spec.source_sha256 = "02";
  const control::ModelState state = StateOn(model, Split(model, 0).placement, "a");
  ASSERT_EQ(state.other_sources_size(), 1);
  EXPECT_EQ(state.other_sources(0).uri(), "https://h/1.tar");
  EXPECT_EQ(state.other_sources(0).sha256(), "01");
}

TEST(Plan, VersionsFollowAChangedFolderButKeepItWhenAnArchiveReplacesIt) {
  api::Model model = Digits();
  model.status.sources = {{1, {"file:///old", ""}}};
  EXPECT_EQ(StateOn(model, Split(model, 0).placement, "a").other_sources_size(), 0);
  model.spec.source_uri = "https://h/2.tar";
  model.spec.source_sha256 = "02";
  EXPECT_EQ(StateOn(model, Split(model, 0).placement, "a").other_sources(0).uri(), "file:///old");
}

TEST(Plan, WritesTheStatusFirstUnlessTheDecisionIsForSafety) {
  const api::Model model = Digits();
  rollout::Decision decision = Split(model, 500);
  decision.status.command_result = "changed";
  const Plan forward = MakePlan(model, decision, {{"a", {}}, {"b", {}}});
  ASSERT_EQ(forward.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<WriteStatus>(forward.front()));
  decision.safety = true;
  const Plan safety = MakePlan(model, decision, {{"a", {}}, {"b", {}}});
  ASSERT_EQ(safety.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<WriteStatus>(safety.back()));
}

TEST(Plan, IsEmptyWhenEverythingIsAsItShouldBe) {
  const api::Model model = Digits();
  const rollout::Decision decision = Split(model, 500);
  std::vector<NodeHolds> holds;
  for (const char* node : {"a", "b"}) holds.push_back(Holds(node, StateOn(model, decision.placement, node)));
  EXPECT_TRUE(MakePlan(model, decision, holds).empty());
  const Plan plan = MakePlan(model, Split(model, 0), holds);
  EXPECT_EQ(plan.size(), 2u);
}

TEST(Plan, RemovesAModelFromNodesThatAreNoLongerRecipients) {
  const api::Model model = Digits();
  const rollout::Decision decision = Split(model, 500);
  NodeHolds held = Holds("c", StateOn(model, decision.placement, "c"));
  held.recipient = false;
  const Plan plan = MakePlan(model, decision, {held, {"d", "", false}});
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(std::get<SendModel>(plan[0]).node, "c");
  EXPECT_FALSE(std::get<SendModel>(plan[0]).state.has_value());
}

TEST(Plan, RecipientsAreTheNodesOfAModelAndItsHomeNodesForAnyFleetSize) {
  std::vector<std::string> names = {"a", "b"};
  for (int i = 0; i < 1000; ++i) names.push_back(fmt::format("node-{}", i));
  const auto peers = rollout::MakeNodeNames(names);
  const std::set<std::string> nodes = RecipientNodes("digits", Split(Digits(), 500).placement, *peers);
  EXPECT_EQ(nodes.size(), 5u);
  EXPECT_TRUE(nodes.contains("a") && nodes.contains("b"));
  EXPECT_EQ(RecipientNodes("digits", {}, *rollout::MakeNodeNames({"x", "y"})), (std::set<std::string>{"x", "y"}));
}

TEST(Plan, SendsOnlyChangedPeers) {
  const auto state = [](const std::vector<std::pair<std::string, std::string>>& peers) {
    control::FleetState fleet;
    fleet.set_fleet("default/cpu");
    for (const auto& [node, address] : peers) {
      control::Peer& peer = *fleet.add_peers();
      peer.set_node(node);
      peer.set_address(address);
    }
    return fleet;
  };
  const auto before = state({{"a", "1:1"}, {"b", "1:2"}, {"c", "1:3"}, {"d", "1:4"}});
  const control::FromController message =
      ChangeOf(before, state({{"a", "1:1"}, {"b", "2:2"}, {"d", "1:4"}, {"e", "1:5"}}));
  ASSERT_TRUE(message.has_peers());
  ASSERT_EQ(message.peers().set_size(), 2);
  EXPECT_EQ(message.peers().set(0).node(), "b");
  EXPECT_EQ(message.peers().set(1).node(), "e");
  EXPECT_THAT(message.peers().left(), testing::ElementsAre("c"));
  const auto strangers = state({{"one-of-another-name", "1:1"}, {"another-of-another-name", "1:1"}});
  EXPECT_TRUE(ChangeOf(strangers, state({})).has_fleet()) << "the whole part is shorter";
  auto limited = before;
  limited.set_concurrent_runs_max(3);
  EXPECT_EQ(ChangeOf(before, limited).fleet().concurrent_runs_max(), 3);
}

TEST(Plan, RemovesAModelOnlyFromNodesThatHoldIt) {
  const api::Model model = Digits();
  const Plan plan = MakeRemoval("my_digits", {Holds("a", StateOn(model, {}, "a")), {"b", {}}});
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(std::get<SendModel>(plan[0]).node, "a");
  EXPECT_FALSE(std::get<SendModel>(plan[0]).state.has_value());
}

TEST(Plan, TheNodesShareTheErrorProbabilityOfTheGuards) {
  const api::Model model = Digits();
  const control::Guard guard = StateOn(model, Split(model, 500).placement, "a").versions(1).guard();
  EXPECT_DOUBLE_EQ(guard.alpha(), analysis::kAlphaGuards / 2);
}

TEST(Plan, TheGuardDoesNotCompareRequestsIfUsersAreAssigned) {
  api::Model model = Digits();
  model.spec.rollout.assignment_by = api::AssignmentBy::kCookie;
  const control::Guard guard = StateOn(model, Split(model, 500).placement, "a").versions(1).guard();
  EXPECT_EQ(guard.alpha(), 0);
  EXPECT_DOUBLE_EQ(guard.error_rate_max(), 0.5);
}

TEST(Plan, TheGuardKnowsTheSilenceOfTheManifestAndThePauseOfAPerson) {
  api::Model model = Digits();
  const auto guard = [&] { return StateOn(model, Split(model, 500).placement, "a").versions(1).guard(); };
  EXPECT_EQ(guard().controller_silence_max_ms(), 600'000);
  EXPECT_FALSE(guard().paused());
  model.spec.rollout.controller_silence_max = std::chrono::hours(2);
  model.status.rollout.paused_by_command = true;
  EXPECT_EQ(guard().controller_silence_max_ms(), 7'200'000);
  EXPECT_TRUE(guard().paused());
  model.status.rollout.paused_by_command = false;
  model.spec.rollout.paused = true;
  EXPECT_TRUE(guard().paused());
}

TEST(Plan, PairsFollowTheManifest) {
  api::Model model = Digits();
  const auto validation = [&] { return StateOn(model, Split(model, 500).placement, "a").validation(); };
  EXPECT_DOUBLE_EQ(validation().pair_share(), 0.25);
  EXPECT_DOUBLE_EQ(validation().pair_budget(), 0.1);
  model.spec.rollout.pairs = {.share = 0, .budget = 0.5};
  EXPECT_LT(validation().pair_share(), 0) << "0 would mean the node's default";
  EXPECT_DOUBLE_EQ(validation().pair_budget(), 0.5);
}

TEST(Plan, TheGoldenSetRunsAgainAtTheIntervalOfTheManifest) {
  api::Model model = Digits();
  const auto every_ms = [&] { return StateOn(model, Split(model, 500).placement, "a").validation().golden_every_ms(); };
  EXPECT_EQ(every_ms(), 0);
  model.spec.validation.golden_every = std::chrono::minutes(90);
  EXPECT_EQ(every_ms(), 5'400'000);
}

TEST(Plan, NodesAreAskedForARunOfTheGoldenSetOfStableUntilTheRequestHasEnded) {
  api::Model model = Digits();
  const auto requests = [&] {
    std::vector<std::string> all;
    const control::ModelState state = StateOn(model, Split(model, 500).placement, "a");
    for (const control::VersionState& version : state.versions()) all.push_back(version.golden_request());
    return all;
  };
  model.status.golden_set.request = api::GoldenRequest{.id = "v"};
  EXPECT_EQ(requests(), (std::vector<std::string>{"v", ""}));
  model.status.golden_set.request->ended = true;
  EXPECT_EQ(requests(), (std::vector<std::string>{"", ""}));
}

TEST(Plan, PeersAreOrderedByName) {
  control::Peer b, a;
  b.set_node("b");
  a.set_node("a");
  api::ServingFleet fleet;
  fleet.metadata.name = "cpu";
  const control::FleetState state = BuildFleetState(fleet, {b, a});
  EXPECT_EQ(state.fleet(), "default/cpu");
  EXPECT_EQ(state.peers(0).node(), "a");
  EXPECT_EQ(state.connection_age_max_ms(), 30000);
}

}  // namespace
}  // namespace longshore::plan

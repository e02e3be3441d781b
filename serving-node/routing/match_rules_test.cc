// Requests that a match rule assigns: which version they get, and what they count for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving-node/routing/table.h"
#include "serving-node/routing/testing.h"

namespace longshore::routing {
namespace {

using testing::HasSubstr;

constexpr const char* kTestersToCandidate =
    R"(routes { name: "testers" to: CANDIDATE conditions { key: "x-team" values: "testers" } } )";
constexpr const char* kTestersToStable =
    R"(routes { name: "to-stable" to: STABLE conditions { key: "x-team" values: "testers" } } )";

PredictCall OfTesters(float first = 0) { return WithHeader(DigitsCall(first), "x-team", "testers"); }

class MatchRules : public testing::Test {
 protected:
  control::Evidence EvidenceOf(int64_t version) const { return node_.recorder.Snapshot("digits", version); }
  int64_t VersionFor(PredictCall call) {
    const auto answer = Ask(node_.router, std::move(call));
    EXPECT_TRUE(answer) << ToString(answer.error());
    return answer ? answer->model_spec.version().value() : 0;
  }
  void Trip(int64_t version) {
    node_.guards->TripNow(*node_.guards->For({"digits", version, fmt::format("uid/{}/1", version)}), "Errors", "test",
                          node_.clock.Now());
  }

  TestDir dir_;
  TestNode node_{dir_.path(), "a"};
};

TEST_F(MatchRules, DecideBeforeTheWeights) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 0, kTestersToCandidate));
  EXPECT_EQ(VersionFor(OfTesters()), 2) << "the candidate's weight is 0";
  EXPECT_EQ(VersionFor(DigitsCall(0)), 1);
  node_.SetState(TwoVersions(2, 10000, kTestersToStable));
  EXPECT_EQ(VersionFor(OfTesters()), 1) << "stable's weight is 0";
  EXPECT_EQ(VersionFor(DigitsCall(0)), 2);
}

TEST_F(MatchRules, TheFirstRuleThatMatchesDecides) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 5000, std::string(kTestersToStable) + kTestersToCandidate));
  EXPECT_EQ(VersionFor(OfTesters()), 1);
  node_.SetState(TwoVersions(2, 5000, std::string(kTestersToCandidate) + kTestersToStable));
  EXPECT_EQ(VersionFor(OfTesters()), 2);
}

TEST_F(MatchRules, DoNotApplyToRequestsThatNameAVersionOrALabel) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 0, kTestersToCandidate), {{"current", 1}});
  EXPECT_EQ(VersionFor(Pinned(OfTesters(), 1)), 1);
  PredictCall labelled = OfTesters();
  labelled.request.mutable_model_spec()->set_version_label("current");
  EXPECT_EQ(VersionFor(std::move(labelled)), 1);
}

TEST_F(MatchRules, ARuleIsSkippedIfTheGuardOfItsVersionTripped) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000, kTestersToCandidate));
  Trip(2);
  EXPECT_EQ(VersionFor(OfTesters()), 1);
  EXPECT_EQ(EvidenceOf(1).requests(), 1) << "the weights decided, so the request is evidence";
}

TEST_F(MatchRules, ARuleIsSkippedIfItsVersionDoesNotExist) {
  node_.Hold({1});
  node_.SetState(R"(models { served_name: "digits" versions { version: 1 weight_bp: 10000 role: STABLE } )" +
                 std::string(kTestersToCandidate) + "}");
  EXPECT_EQ(VersionFor(OfTesters()), 1);
  EXPECT_EQ(EvidenceOf(1).requests(), 1);
}

TEST_F(MatchRules, AMatchedRequestGoesToStableIfNoNodeHoldsTheCandidate) {
  node_.Hold({1});
  node_.SetState(TwoVersions(2, 0, kTestersToCandidate));
  EXPECT_EQ(VersionFor(OfTesters()), 1);
  EXPECT_EQ(EvidenceOf(1).requests(), 0) << "the request was not assigned at random";
}

TEST_F(MatchRules, MatchedRequestsAreNoEvidence) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(
      4, 5000, std::string(kTestersToCandidate) + R"(routes { to: STABLE conditions { key: "x-team" op: PRESENT } })"));
  EXPECT_EQ(VersionFor(OfTesters()), 4);
  EXPECT_EQ(Ask(node_.router, OfTesters(kFailHere)).error().code, Code::kInternal);
  EXPECT_EQ(VersionFor(WithHeader(DigitsCall(0), "x-team", "others")), 1);
  for (const int64_t version : {1, 4}) {
    EXPECT_EQ(EvidenceOf(version).requests(), 0) << version;
    EXPECT_EQ(EvidenceOf(version).errors(), 0) << version;
    EXPECT_EQ(EvidenceOf(version).run_time_sum_us(), 0) << version;
  }
}

TEST_F(MatchRules, AMatchedRequestIsInNoBin) {
  node_.Hold({1, 2});
  node_.SetState(std::string(R"(models { served_name: "digits" assignment { by: HEADER key: "x-user" salt: "uid/2/1" }
                                versions { version: 1 weight_bp: 10000 role: STABLE }
                                versions { version: 2 role: CANDIDATE } )") +
                 kTestersToCandidate + "}");
  EXPECT_EQ(VersionFor(WithHeader(OfTesters(), "x-user", "alice")), 2);
  EXPECT_EQ(EvidenceOf(2).bins().requests_size(), 0);
  EXPECT_EQ(VersionFor(WithHeader(DigitsCall(0), "x-user", "alice")), 1);
  EXPECT_GT(EvidenceOf(1).bins().requests_size(), 0);
}

TEST_F(MatchRules, TheGuardStopsACandidateWhoseMatchedRequestsFail) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 0, kTestersToCandidate, "alpha: 0.001 error_rate_max: 0.5 errors_min_requests: 10"));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(VersionFor(DigitsCall(0)), 1);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(Ask(node_.router, OfTesters(kFailHere)));
  EXPECT_FALSE(node_.router.AppliedWeight("digits", 4) > 0);
  EXPECT_FALSE(Ask(node_.router, OfTesters(kFailHere))) << "the tenth error trips the guard";
  EXPECT_EQ(VersionFor(OfTesters()), 1);
  ASSERT_EQ(node_.guards->Trips().size(), 1u);
  EXPECT_THAT(node_.guards->Trips()[0].message, HasSubstr("10 of the last 10 requests failed"));
}

// Testers whose requests fail on both versions say nothing about the candidate, whatever the users of stable see.
TEST_F(MatchRules, TheGuardDoesNotCompareMatchedRequestsWithThoseOfStable) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 5000, kTestersToCandidate, "alpha: 0.001 error_rate_max: 0.5 errors_min_requests: 10"));
  for (int i = 0; i < 400; ++i) {
    Ask(node_.router, DigitsCall(0));
    Ask(node_.router, OfTesters(i % 3 == 0 ? kFailHere : 0));
  }
  EXPECT_TRUE(node_.guards->Trips().empty());
}

// The limit of the comparison with stable is never reached, so only error_rate_max decides.
constexpr const char* kErrorRateGuard = "alpha: 1e-300 error_rate_max: 0.5 errors_min_requests: 20";

TEST_F(MatchRules, ErrorsOfAssignedRequestsDoNotCountForMatchedRequests) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 5000, kTestersToCandidate, kErrorRateGuard));
  for (int i = 0; i < 100; ++i) Ask(node_.router, DigitsCall(i % 4 == 0 ? 0 : kFailHere));
  ASSERT_TRUE(node_.guards->Trips().empty());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(VersionFor(OfTesters()), 4);
  EXPECT_FALSE(Ask(node_.router, OfTesters(kFailHere)));
  EXPECT_TRUE(node_.guards->Trips().empty()) << "only 1 of 21 matched requests failed";
}

TEST_F(MatchRules, ErrorsOfMatchedRequestsDoNotCountForAssignedRequests) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, kTestersToCandidate, "error_rate_max: 0.5 errors_min_requests: 20"));
  for (int i = 0; i < 19; ++i) EXPECT_FALSE(Ask(node_.router, OfTesters(kFailHere)));
  EXPECT_FALSE(Ask(node_.router, DigitsCall(kFailHere)));
  EXPECT_TRUE(node_.guards->Trips().empty()) << "neither 19 errors of matched requests suffice nor one of the others";
}

TEST_F(MatchRules, AMatchedRequestIsProtectedFromNonFiniteAnswers) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 0, kTestersToCandidate, "non_finite: true"));
  EXPECT_EQ(VersionFor(OfTesters(kNanHere)), 1);
  EXPECT_EQ(VersionFor(OfTesters()), 1) << "the guard tripped";
}

TEST_F(MatchRules, ANewStateKeepsCompiledRulesThatHaveNotChanged) {
  RoutingTable::Reused reused;
  control::DesiredState state;
  google::protobuf::TextFormat::ParseFromString(TwoVersions(2, 0, kTestersToCandidate), &state);
  const auto build = [&] {
    return RoutingTable::Build(state, "a", *node_.guards, node_.recorder, &reused)->Find("digits")->rules;
  };
  const auto first = build();
  EXPECT_EQ(build(), first);
  state.mutable_models(0)->mutable_routes(0)->set_to(control::STABLE);
  EXPECT_NE(build(), first);
}

constexpr const char* kCannotBeCompiled =
    R"(routes { name: "bad" to: STABLE conditions { key: "x" op: REGEX values: "(" } } )";

TEST_F(MatchRules, AModelWhoseRulesCannotBeCompiledGivesAllRequestsToStable) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000, std::string(kTestersToCandidate) + kCannotBeCompiled));
  EXPECT_EQ(VersionFor(OfTesters()), 1) << "the rule before it does not apply either";
  EXPECT_EQ(VersionFor(DigitsCall(0)), 1) << "the request might have matched the rule that keeps requests at stable";
  EXPECT_EQ(VersionFor(Pinned(DigitsCall(0), 2)), 2);
  EXPECT_EQ(node_.router.AppliedWeight("digits", 1), 10000);
  EXPECT_EQ(node_.router.AppliedWeight("digits", 2), 0);
  EXPECT_EQ(EvidenceOf(1).requests(), 0) << "the requests were not assigned at random";
  node_.SetState(TwoVersions(2, 10000, kTestersToStable));
  EXPECT_EQ(VersionFor(DigitsCall(0)), 2) << "good rules apply again";
}

TEST_F(MatchRules, AFirstVersionServesAlthoughTheRulesCannotBeCompiled) {
  node_.Hold({1});
  node_.SetState(R"(models { served_name: "digits" versions { version: 1 weight_bp: 10000 role: CANDIDATE } )" +
                 std::string(kCannotBeCompiled) + "}");
  EXPECT_EQ(VersionFor(DigitsCall(0)), 1);
}

TEST_F(MatchRules, RulesThatCannotBeCompiledConcernTheirModelOnly) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000, kTestersToStable) + R"(models { served_name: "other" )" + kCannotBeCompiled +
                 "}");
  EXPECT_EQ(VersionFor(DigitsCall(0)), 2);
  EXPECT_EQ(VersionFor(OfTesters()), 1);
  const auto problems = node_.router.RulesProblems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].served_name(), "other");
  EXPECT_EQ(problems[0].problem(), control::RulesReport::REFUSED);
  EXPECT_THAT(problems[0].message(), HasSubstr("match rule \"bad\": \"(\" is not a valid regular expression"));
}

constexpr const char* kWebToCandidate =
    R"(routes { to: CANDIDATE conditions { source: CLIENT op: IN values: "web" } }
       routes { to: CANDIDATE conditions { source: CLAIM key: "groups" op: CONTAINS values: "testers" } } )";

// The client "web" sends "Bearer web", and testers send "Bearer testers". "Bearer expired" was valid when the listener
// admitted the request.
Identities TestIdentities() {
  return {.identify = [](std::string_view authorization) -> Result<auth::Caller> {
            if (authorization == "Bearer web") return auth::Caller{"web", nullptr};
            if (authorization == "Bearer expired") return Fail(Code::kUnauthenticated, "the token has expired");
            if (authorization != "Bearer testers") return auth::Caller();
            return auth::Caller{"", std::make_shared<const Json>(Json{{"groups", {"testers"}}})};
          },
          .clients = true,
          .claims = true};
}

class MatchRulesOfCallers : public testing::Test {
 protected:
  int64_t VersionFor(TestNode& node, const std::string& authorization, const std::string& more = "") {
    PredictCall call = DigitsCall(0);
    if (!authorization.empty()) call = WithHeader(std::move(call), "authorization", authorization);
    if (!more.empty()) call = WithHeader(std::move(call), "x-client", more);
    const auto answer = Ask(node.router, std::move(call));
    EXPECT_TRUE(answer) << ToString(answer.error());
    return answer ? RanBy(*answer) : 0;
  }

  TestDir dir_;
};

TEST_F(MatchRulesOfCallers, CompareTheVerifiedIdentity) {
  TestNode node(dir_.path(), "a", 4, {}, {}, TestIdentities());
  node.Hold({1, 2});
  node.SetState(TwoVersions(2, 0, kWebToCandidate));
  EXPECT_EQ(VersionFor(node, "Bearer web"), 2);
  EXPECT_EQ(VersionFor(node, "Bearer testers"), 2);
  EXPECT_EQ(VersionFor(node, "Bearer other"), 1);
  EXPECT_EQ(VersionFor(node, ""), 1);
}

TEST_F(MatchRulesOfCallers, ARequestWhoseTokenExpiredAfterItWasAdmittedIsNotAnonymous) {
  TestNode node(dir_.path(), "a", 4, {}, {}, TestIdentities());
  node.Hold({1, 2});
  const auto error = [&] {
    const auto answer = Ask(node.router, WithHeader(DigitsCall(0), "authorization", "Bearer expired"));
    return answer ? Error{} : answer.error();
  };
  node.SetState(TwoVersions(2, 0, kWebToCandidate));
  EXPECT_EQ(error(), (Error{Code::kUnauthenticated, "the token has expired"}));
  node.SetState("");
  EXPECT_EQ(error(), (Error{Code::kUnauthenticated, "the token has expired"})) << "home nodes need the identity";
  node.SetState(TwoVersions(2, 0));
  EXPECT_EQ(VersionFor(node, "Bearer expired"), 1) << "no rule needs the identity";
}

TEST_F(MatchRulesOfCallers, NeverHoldOnANodeThatIdentifiesNoClients) {
  TestNode node(dir_.path(), "a");
  node.Hold({1, 2});
  node.SetState(TwoVersions(2, 0, kWebToCandidate));
  EXPECT_EQ(VersionFor(node, "Bearer web"), 1);
}

TEST_F(MatchRulesOfCallers, TheNodeReportsTheRulesWhoseConditionsNeverHoldThere) {
  TestNode node(dir_.path(), "a");
  node.SetState(TwoVersions(2, 0, kWebToCandidate));
  const auto problems = node.router.RulesProblems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].problem(), control::RulesReport::UNKNOWN_CLIENT);
  EXPECT_EQ(problems[0].message(),
            "match rules with claims never hold, because the node has no --jwt_jwks_file: start it with this flag; "
            "match rules with clients never hold, because the node has no --auth_tokens_file: start it with this flag");
  TestNode knowing(dir_.path(), "b", 4, {}, {}, TestIdentities());
  knowing.SetState(TwoVersions(2, 0, kWebToCandidate));
  EXPECT_TRUE(knowing.router.RulesProblems().empty());
}

TEST_F(MatchRulesOfCallers, AHomeNodeComparesTheIdentityThatTheFirstNodeVerified) {
#ifdef LONGSHORE_SANITIZER_THREAD
  GTEST_SKIP() << "gRPC is not built with the thread sanitizer";
#endif
  TestNode first(dir_.path(), "a", 4, {}, {}, TestIdentities());
  TestNode home(dir_.path(), "b");
  home.Listen();
  const std::string peers =
      fmt::format(R"(fleet {{ peers {{ node: "a" address: "{}" }} peers {{ node: "b" address: "{}" }} }} )",
                  first.address, home.address);
  home.Hold({1, 2});
  first.SetState(peers);
  home.SetState(peers + TwoVersions(2, 0, kWebToCandidate));
  EXPECT_EQ(VersionFor(first, "Bearer web"), 2);
  EXPECT_EQ(VersionFor(first, "Bearer testers"), 2);
  EXPECT_EQ(VersionFor(first, "Bearer other"), 1);
  EXPECT_EQ(VersionFor(first, "", "web"), 1);
  EXPECT_EQ(home.recorder.Snapshot("digits", 2).requests(), 0) << "matched requests are no evidence";
  EXPECT_EQ(home.recorder.Snapshot("digits", 1).requests(), 2);
}

TEST_F(MatchRulesOfCallers, AHolderKnowsThatARuleChoseTheVersion) {
#ifdef LONGSHORE_SANITIZER_THREAD
  GTEST_SKIP() << "gRPC is not built with the thread sanitizer";
#endif
  TestNode first(dir_.path(), "a");
  TestNode holder(dir_.path(), "b");
  holder.Listen();
  const std::string peers =
      fmt::format(R"(fleet {{ peers {{ node: "a" address: "{}" }} peers {{ node: "b" address: "{}" }} }} )",
                  first.address, holder.address);
  first.Hold({1});
  holder.Hold({1, 2});
  for (TestNode* node : {&first, &holder})
    node->SetState(peers + TwoVersions(2, 5000, kTestersToCandidate), {}, {{"a", "1"}, {"b", "12"}});
  for (int i = 0; i < 4; ++i) {
    const auto answer = Ask(first.router, OfTesters());
    ASSERT_TRUE(answer) << ToString(answer.error());
    EXPECT_EQ(RanBy(*answer), 2);
  }
  EXPECT_EQ(holder.recorder.Snapshot("digits", 2).requests(), 0);
}

}  // namespace
}  // namespace longshore::routing

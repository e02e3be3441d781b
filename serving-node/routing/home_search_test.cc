// Nodes of one fleet, over real gRPC. Node a gets requests for a model that only the other nodes know.
#include "serving-node/routing/home_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "serving-node/routing/hop.h"
#include "serving-node/routing/testing.h"

namespace longshore::routing {
namespace {

using testing::HasSubstr;

constexpr const char* kUnknownHere = "";
constexpr const char* kStable =
    R"(models { served_name: "digits" assignment { salt: "s" } versions { version: 1 weight_bp: 10000 role: STABLE } })";

// Node a knows no model and gets the requests. b and c are home nodes of every model if they are among the peers of a.
class HomeSearchTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef LONGSHORE_SANITIZER_THREAD
    GTEST_SKIP() << "gRPC is not built with the thread sanitizer";  // See fleet_test.cc.
#endif
    b_.Listen();
    c_.Listen();
  }

  // The fleet of a state in text format. `nodes` has one letter per peer; only b and c have a real address, all others
  // are unreachable.
  std::string PeersText(const std::string& nodes) const {
    std::string text = "fleet { ";
    for (const char node : nodes) {
      const std::string address = node == 'b'   ? b_.address
                                  : node == 'c' ? c_.address
                                                : "unix:/nowhere/" + std::string(1, node);
      text += fmt::format(R"(peers {{ node: "{}" address: "{}" }} )", node, address);
    }
    return text + "} ";
  }
  void SetState(TestNode& node, const std::string& peers, const std::string& models,
                const std::map<std::string, std::string>& ready = {}) const {
    node.SetState(PeersText(peers) + models, {}, ready);
  }
  static control::NodeLoad LoadOf(const TestNode& node) {
    control::NodeLoad load;
    node.recorder.AddTo(&load);
    return load;
  }
  // The number of hops with this outcome from node a to home nodes.
  int64_t Hops(const std::string& outcome) {
    const std::string text = a_.metrics.Text();
    const std::string line = "longshore_home_hops_total{outcome=\"" + outcome + "\"} ";
    return std::stoll(text.substr(text.find(line) + line.size()));
  }
  Error ErrorOf(PredictCall call) {
    auto answer = Ask(a_.router, std::move(call));
    return answer ? Error{Code::kOk, ""} : answer.error();
  }

  TestDir dir_;
  TestNode b_{dir_.path(), "b"};
  TestNode c_{dir_.path(), "c"};
  TestNode a_{dir_.path(), "a"};
};

TEST_F(HomeSearchTest, CountsARequestThatAHomeRunsOnceAsReceivedAndOnceAsEvidence) {
  b_.Hold({1});
  SetState(a_, "ab", kUnknownHere);
  SetState(b_, "ab", kStable);
  const auto answer = Ask(a_.router, DigitsCall(5));
  ASSERT_TRUE(answer) << ToString(answer.error());
  EXPECT_EQ(RanBy(*answer, 5), 1);
  EXPECT_EQ(answer->model_spec.version().value(), 1);
  EXPECT_EQ(LoadOf(a_).received(), 1);
  EXPECT_EQ(LoadOf(a_).forwarded(), 1);
  EXPECT_EQ(LoadOf(b_).received(), 0);
  EXPECT_EQ(b_.recorder.Snapshot("digits", 1).requests(), 1);
  EXPECT_EQ(a_.recorder.Snapshot("digits", 1).requests(), 0);
  EXPECT_EQ(Hops("known"), 1);
  EXPECT_TRUE(a_.router.KnownElsewhere("digits"));
}

TEST_F(HomeSearchTest, AHomeForwardsToTheHolder) {
  c_.Hold({1});
  SetState(a_, "ab", kUnknownHere);
  SetState(b_, "abc", kStable, {{"c", "1"}});
  SetState(c_, "abc", kStable);
  const auto answer = Ask(a_.router, DigitsCall(5));
  ASSERT_TRUE(answer) << ToString(answer.error());
  EXPECT_EQ(RanBy(*answer, 5), 1);
  EXPECT_EQ(c_.recorder.Snapshot("digits", 1).requests(), 1);
  EXPECT_EQ(b_.recorder.Snapshot("digits", 1).requests(), 0);
  EXPECT_EQ(LoadOf(b_).forwarded(), 1);
  EXPECT_EQ(LoadOf(b_).received() + LoadOf(c_).received(), 0);
}

TEST_F(HomeSearchTest, CountsARequestOnceAtTheFirstNodeThatKnowsTheModel) {
  std::string with_objective = kStable;
  with_objective.insert(with_objective.rfind('}'), " slo_latency_ms: 20 ");
  c_.Hold({1});
  SetState(a_, "ab", kUnknownHere);
  SetState(b_, "abc", with_objective, {{"c", "1"}});
  SetState(c_, "abc", with_objective);
  ASSERT_TRUE(Ask(a_.router, DigitsCall(5)));
  EXPECT_EQ(LoadOf(a_).models_size(), 0) << "the node does not know the model";
  const auto counted = [](const control::NodeLoad& load) {
    const auto& buckets = load.models(0).total_time_buckets();
    return std::accumulate(buckets.begin(), buckets.end(), int64_t{0});
  };
  EXPECT_EQ(counted(LoadOf(b_)), 1);
  EXPECT_EQ(counted(LoadOf(c_)), 0) << "the home node counts the request";
}

TEST_F(HomeSearchTest, AsksTheNextHomeIfOneDoesNotKnowTheModel) {
  c_.Hold({1});
  SetState(a_, "abc", kUnknownHere);
  SetState(b_, "abc", kUnknownHere);
  SetState(c_, "abc", kStable);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Ask(a_.router, DigitsCall(0)));
  EXPECT_EQ(Hops("known"), 4);
  EXPECT_EQ(Hops("unknown"), 2) << "each home is asked first in turn";
}

TEST_F(HomeSearchTest, AModelThatNoHomeKnowsIsNotFound) {
  SetState(a_, "abc", kUnknownHere);
  SetState(b_, "abc", kUnknownHere);
  SetState(c_, "abc", kUnknownHere);
  const Error no_such_model{Code::kNotFound, "Servable not found for request: Latest(digits)"};
  EXPECT_EQ(ErrorOf(DigitsCall(0)), no_such_model);
  EXPECT_EQ(Hops("unknown"), 2);
  EXPECT_FALSE(a_.router.KnownElsewhere("digits"));
  SetState(a_, "a", kUnknownHere);
  EXPECT_EQ(ErrorOf(DigitsCall(0)), no_such_model) << "without another home, no node is asked";
  EXPECT_EQ(Hops("unknown"), 2);
  EXPECT_EQ(LoadOf(a_).forwarded(), 1);
}

TEST_F(HomeSearchTest, ANodeThatLeavesDoesNotSayThatAModelDoesNotExist) {
  SetState(a_, "a", kUnknownHere);
  a_.router.SetLeaving();
  EXPECT_EQ(ErrorOf(DigitsCall(0)),
            (Error{Code::kUnavailable, "this node is shutting down and does not have Latest(digits)"}));
}

TEST_F(HomeSearchTest, AHomeThatDoesNotKnowTheModelAsksNoOtherHome) {
  c_.Hold({1});
  SetState(b_, "bc", kUnknownHere);
  SetState(c_, "bc", kStable);
  auto call = WithHeader(WithHeader(DigitsCall(0), kHopHeader, kHopToHome), kHopFleetHeader, "ns/f");
  call.protocol = Protocol::kPeer;
  const auto answer = Ask(b_.router, call);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, kHopUnknown);
  EXPECT_EQ(c_.recorder.Snapshot("digits", 1).requests(), 0);
}

TEST_F(HomeSearchTest, AsksOneOtherHomeIfOneIsUnreachable) {
  c_.Hold({1});
  SetState(c_, "ac", kStable);
  SetState(a_, "acx", kUnknownHere);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Ask(a_.router, DigitsCall(0)));
  EXPECT_EQ(Hops("unanswered"), 1);
  SetState(a_, "axyz", kUnknownHere);
  EXPECT_EQ(ErrorOf(DigitsCall(0)).code, Code::kUnavailable);
  EXPECT_EQ(Hops("unanswered"), 3) << "a request that may have crashed two nodes is not sent to a third";
}

TEST_F(HomeSearchTest, IsUnavailableIfOneHomeIsUnreachableAndTheOtherDoesNotKnowTheModel) {
  SetState(c_, "ac", kUnknownHere);
  SetState(a_, "acx", kUnknownHere);
  for (int i = 0; i < 2; ++i) {
    const Error error = ErrorOf(DigitsCall(0));
    EXPECT_EQ(error.code, Code::kUnavailable);
    EXPECT_THAT(error.message, HasSubstr("model \"digits\": no reachable home node of the fleet ns/f knows it"));
  }
}

TEST_F(HomeSearchTest, IsUnavailableIfTheHomeHasNoStateOrBelongsToAnotherFleet) {
  SetState(a_, "ab", kUnknownHere);
  EXPECT_EQ(ErrorOf(DigitsCall(0)).code, Code::kUnavailable);
  auto state = std::make_shared<control::DesiredState>();
  state->mutable_fleet()->set_fleet("ns/other");
  b_.router.SetState(state);
  EXPECT_EQ(ErrorOf(DigitsCall(0)).code, Code::kUnavailable);
}

TEST_F(HomeSearchTest, AHomeTriesOneHolderLessIfAnotherConnectionBrokeBefore) {
  SetState(a_, "acx", kUnknownHere);
  SetState(c_, "acxyz", kStable, {{"y", "1"}, {"z", "1"}});
  // One request goes to c first, and c tries both holders (y and z). The other request goes to x first, which is
  // unreachable, and then to c, which therefore tries only one holder.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ErrorOf(DigitsCall(0)).code, Code::kUnavailable);
  EXPECT_EQ(LoadOf(c_).forwarded(), 2 + 1);
  EXPECT_EQ(Hops("known"), 2) << "c is alive and knows the model";
  EXPECT_EQ(Hops("unanswered"), 1);
}

TEST_F(HomeSearchTest, ReturnsNotFoundOfAKnownModelWithoutAskingAnotherHome) {
  b_.Hold({1});
  c_.Hold({1});
  SetState(a_, "abc", kUnknownHere);
  SetState(b_, "abc", kStable);
  SetState(c_, "abc", kStable);
  EXPECT_EQ(ErrorOf(Pinned(DigitsCall(0), 9)),
            (Error{Code::kNotFound, "Servable not found for request: Specific(digits, 9)"}));
  EXPECT_EQ(ErrorOf(DigitsCall(kUnknownEverywhere)), (Error{Code::kNotFound, "no such row"}));
  auto labelled = DigitsCall(0);
  labelled.request.mutable_model_spec()->set_version_label("none");
  EXPECT_EQ(ErrorOf(labelled).code, Code::kInvalidArgument);
  EXPECT_EQ(Hops("known"), 3);
  EXPECT_EQ(Hops("unknown"), 0);
}

TEST_F(HomeSearchTest, ReturnsTheErrorOfAHomeWhoseQueueIsFull) {
  b_.Hold({1}, {.queue_max = 0});
  c_.Hold({1}, {.queue_max = 0});
  SetState(a_, "abc", kUnknownHere);
  SetState(b_, "abc", kStable);
  SetState(c_, "abc", kStable);
  const Error error = ErrorOf(DigitsCall(0));
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("The batch scheduling queue"));
  EXPECT_EQ(Hops("known"), 1);
}

TEST_F(HomeSearchTest, AKeyGetsTheSameVersionThroughEveryHome) {
  b_.Hold({1, 2});
  c_.Hold({1, 2});
  const auto models = [](const std::string& assignment) {
    return fmt::format(R"(models {{ served_name: "digits" assignment {{ salt: "s" {} }}
                                    versions {{ version: 1 weight_bp: 5000 role: STABLE }}
                                    versions {{ version: 2 weight_bp: 5000 role: CANDIDATE }} }})",
                       assignment);
  };
  const auto expect_same = [&](const std::string& header, const std::string& before) {
    int64_t candidates = 0;
    for (int i = 0; i < 20; ++i) {
      const auto call =
          WithHeader(WithHeader(DigitsCall(0), "authorization", "Bearer \x01\xff"), header, before + std::to_string(i));
      const int64_t by_home = RanBy(*Ask(a_.router, call));
      EXPECT_EQ(by_home, RanBy(*Ask(c_.router, call))) << call.headers.back().second;
      candidates += by_home == 2 ? 1 : 0;
    }
    EXPECT_GT(candidates, 2);
    EXPECT_LT(candidates, 18);
  };
  SetState(a_, "abc", kUnknownHere);
  for (TestNode* node : {&b_, &c_}) SetState(*node, "abc", models(R"(by: HEADER key: "x-user")"));
  expect_same("x-user", "caf\xc3\xa9 ");
  for (TestNode* node : {&b_, &c_}) SetState(*node, "abc", models(R"(by: COOKIE key: "user")"));
  expect_same("cookie", "a=b; user=");
}

TEST_F(HomeSearchTest, TheGuardOfAHomeApplies) {
  b_.Hold({1, 4});
  SetState(a_, "ab", kUnknownHere);
  SetState(b_, "ab", R"(models { served_name: "digits" assignment { salt: "s" } versions { version: 1 role: STABLE }
                                 versions { version: 4 weight_bp: 10000 role: CANDIDATE guard { non_finite: true } } })");
  const auto revealing = Ask(a_.router, DigitsCall(kNanHere));
  ASSERT_TRUE(revealing) << ToString(revealing.error());
  EXPECT_EQ(RanBy(*revealing, kNanHere), 1);
  EXPECT_EQ(revealing->model_spec.version().value(), 1);
  EXPECT_EQ(b_.guards->Trips().size(), 1u);
}

TEST_F(HomeSearchTest, EndsAtTheDeadlineWithoutAskingAnotherHome) {
  b_.Hold({1});
  c_.Hold({1});
  SetState(a_, "abc", kUnknownHere);
  SetState(b_, "abc", kStable);
  SetState(c_, "abc", kStable);
  for (TestNode* node : {&b_, &c_}) node->engine.record().Set(&models::FakeRecord::holding, true);
  auto call = DigitsCall(0);
  call.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  EXPECT_EQ(ErrorOf(call).code, Code::kDeadlineExceeded);
  EXPECT_EQ(Hops("unanswered"), 1);
  EXPECT_EQ(Hops("known") + Hops("unknown"), 0);
  EXPECT_FALSE(a_.router.KnownElsewhere("digits"));
  for (TestNode* node : {&b_, &c_}) node->engine.record().Set(&models::FakeRecord::holding, false);
}

TEST_F(HomeSearchTest, EndsWhenTheClientLeavesWithoutAskingAnotherHome) {
  b_.Hold({1});
  c_.Hold({1});
  SetState(a_, "abc", kUnknownHere);
  for (TestNode* node : {&b_, &c_}) SetState(*node, "abc", kStable);
  control::FleetState fleet;
  for (TestNode* node : {&b_, &c_}) {
    fleet.add_peers()->set_node(node == &b_ ? "b" : "c");
    fleet.mutable_peers()->rbegin()->set_address(node->address);
  }
  TestNode& asked = Peers(fleet, "a").HomesOf("digits").front() == b_.address ? b_ : c_;
  asked.engine.record().Set(&models::FakeRecord::holding, true);
  std::stop_source leaving;
  auto call = DigitsCall(0);
  call.cancelled = leaving.get_token();
  auto answer = Begin(a_.router, call);
  asked.engine.record().Wait([&] { return asked.engine.record().runs.size() == 1; });
  leaving.request_stop();
  EXPECT_FALSE(answer.get());
  EXPECT_EQ(Hops("unanswered"), 1);
  EXPECT_EQ(Hops("known") + Hops("unknown"), 0);
  asked.engine.record().Set(&models::FakeRecord::holding, false);
}

TEST_F(HomeSearchTest, ForgetsAllNamesAboveTheLimit) {
  b_.Hold({1});
  std::string models;
  for (size_t i = 0; i <= HomeSearch::kNamesMax; ++i) models += fmt::format("models {{ served_name: \"m{}\" }} ", i);
  SetState(a_, "ab", kUnknownHere);
  SetState(b_, "ab", models);
  const auto ask = [this](size_t i) {
    auto call = DigitsCall(0);
    call.request.mutable_model_spec()->set_name(fmt::format("m{}", i));
    EXPECT_EQ(ErrorOf(call).code, Code::kUnavailable) << "no version of the model may be served";
  };
  for (size_t i = 0; i < HomeSearch::kNamesMax; ++i) ask(i);
  EXPECT_TRUE(a_.router.KnownElsewhere("m0"));
  ask(HomeSearch::kNamesMax);
  EXPECT_FALSE(a_.router.KnownElsewhere("m0"));
  EXPECT_TRUE(a_.router.KnownElsewhere(fmt::format("m{}", HomeSearch::kNamesMax)));
}

}  // namespace
}  // namespace longshore::routing

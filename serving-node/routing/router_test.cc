#include "serving-node/routing/router.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "common/os/file.h"
#include "serving-node/routing/assignment.h"
#include "serving-node/routing/hop.h"
#include "serving-node/routing/second_opinion.h"
#include "serving-node/routing/testing.h"

namespace longshore::routing {
namespace {

using namespace std::string_literals;
constexpr const char* kNonFiniteMessage = "an output is NaN or Inf, but stable's for the same input is finite";

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class RouterTest : public testing::Test {
 protected:
  Error ErrorOf(PredictCall call) {
    const auto answer = Ask(node_.router, std::move(call));
    return answer ? Error{Code::kOk, ""} : answer.error();
  }
  int64_t CandidatesOf(int requests, int64_t candidate) {
    int64_t candidates = 0;
    for (int i = 0; i < requests; ++i) {
      const auto answer = Ask(node_.router, DigitsCall(0));
      EXPECT_TRUE(answer) << ToString(answer.error());
      if (answer && RanBy(*answer) == candidate) ++candidates;
      EXPECT_EQ(answer->model_spec.version().value(), RanBy(*answer));
    }
    return candidates;
  }
  TestDir dir_;
  TestNode node_{dir_.path(), "a"};
};

TEST_F(RouterTest, ServesTheHighestVersionOnAStandaloneNode) {
  node_.Hold({1, 2});
  const auto answer = Ask(node_.router, DigitsCall(3));
  ASSERT_TRUE(answer) << ToString(answer.error());
  EXPECT_EQ(RanBy(*answer, 3), 2);
  EXPECT_EQ(answer->model_spec.name(), "digits");
  EXPECT_EQ(answer->model_spec.version().value(), 2);
  EXPECT_EQ(answer->model_spec.signature_name(), "serving_default");
  EXPECT_EQ(RanBy(*Ask(node_.router, Pinned(DigitsCall(0), 1))), 1);
}

TEST_F(RouterTest, RefusesRequestsThatDoNotFitTheSignatureWithTensorFlowServingsTexts) {
  node_.Hold({1});
  EXPECT_EQ(ErrorOf({}), (Error{Code::kInvalidArgument, "Missing ModelSpec"}));
  auto call = DigitsCall(0);
  call.request.mutable_model_spec()->clear_name();
  EXPECT_EQ(ErrorOf(call), (Error{Code::kInvalidArgument, "ModelSpec has no name specified."}));
  call = DigitsCall(0);
  call.request.mutable_model_spec()->set_name("other");
  EXPECT_EQ(ErrorOf(call), (Error{Code::kNotFound, "Servable not found for request: Latest(other)"}));
  EXPECT_EQ(ErrorOf(Pinned(DigitsCall(0), 9)),
            (Error{Code::kNotFound, "Servable not found for request: Specific(digits, 9)"}));
  call = DigitsCall(0);
  call.request.mutable_model_spec()->set_version_label("unknown");
  EXPECT_EQ(ErrorOf(call), (Error{Code::kInvalidArgument, "Unrecognized servable version label: unknown"}));
  call = DigitsCall(0);
  call.request.mutable_model_spec()->set_signature_name("none");
  EXPECT_EQ(ErrorOf(call), (Error{Code::kFailedPrecondition, "Serving signature key \"none\" not found."}));
  const auto spec = DigitsCall(0).request.model_spec();
  const auto x = tensor::Tensor::Of<float>({1, 2}, {0, 0});
  call.request = inference::Request(spec, {{"z", x}});
  EXPECT_EQ(
      ErrorOf(call).message,
      "input size does not match signature: 1!=1 len({z}) != len({x}). Sent extra: {z}. Missing but required: {x}.");
  call.request = inference::Request(spec, {{"x", x}}, {"w"});
  EXPECT_THAT(ErrorOf(call).message, HasSubstr("output tensor alias not found in signature: w"));
  call.request = inference::Request(spec, {{"x", x}}, {"y", "y"});
  EXPECT_EQ(ErrorOf(call).message, "duplicate output tensor alias: y");
  tensorflow::serving::PredictRequest malformed;
  *malformed.mutable_model_spec() = spec;
  tensor::ToProto(x, &(*malformed.mutable_inputs())["x"]);
  malformed.mutable_inputs()->at("x").mutable_tensor_shape()->mutable_dim(0)->set_size(-7);
  call.request = inference::Request::Parse(malformed).value();
  EXPECT_EQ(ErrorOf(call), (Error{Code::kInvalidArgument, "tensor parsing error: x"}));
}

TEST_F(RouterTest, SplitsRequestsWithoutKeyExactly) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 2500));
  EXPECT_NEAR(static_cast<double>(CandidatesOf(1000, 2)), 250, 3);
}

TEST_F(RouterTest, ContinuesTheSequenceWhenTheStateChanges) {
  node_.Hold({1, 2});
  int64_t candidates = 0;
  for (int i = 0; i < 200; ++i) {
    node_.SetState(TwoVersions(2, 5000));
    candidates += CandidatesOf(1, 2);
  }
  EXPECT_NEAR(static_cast<double>(candidates), 100, 3);
}

TEST_F(RouterTest, KeepsAKeyOnItsSideByHeaderAndByCookie) {
  node_.Hold({1, 2});
  const std::string by_header = R"(assignment { by: HEADER key: "X-User-Id" salt: "uid/2/1" })";
  const std::string by_cookie = R"(assignment { by: COOKIE key: "user" salt: "uid/2/1" })";
  for (const int weight : {500, 5000}) {
    for (int user = 0; user < 100; ++user) {
      const std::string name = std::to_string(user);
      const int64_t expected = BucketOfKey("uid/2/1", name) < static_cast<uint32_t>(weight) ? 2 : 1;
      node_.SetState(TwoVersions(2, weight, by_header));
      EXPECT_EQ(RanBy(*Ask(node_.router, WithHeader(DigitsCall(0), "x-user-id", name))), expected) << name;
      node_.SetState(TwoVersions(2, weight, by_cookie));
      EXPECT_EQ(RanBy(*Ask(node_.router, WithHeader(DigitsCall(0), "cookie", "a=b; user=" + name))), expected) << name;
    }
  }
}

TEST_F(RouterTest, ServesTheVersionOrLabelThatTheClientNames) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 0), {{"canary", 2}});
  EXPECT_EQ(RanBy(*Ask(node_.router, Pinned(DigitsCall(0), 2))), 2);
  auto call = DigitsCall(0);
  call.request.mutable_model_spec()->set_version_label("canary");
  EXPECT_EQ(RanBy(*Ask(node_.router, call)), 2);
  EXPECT_EQ(CandidatesOf(50, 2), 0);
}

TEST_F(RouterTest, ServesStableWhileNoNodeHasTheCandidate) {
  node_.Hold({1});
  node_.SetState(TwoVersions(2, 5000));
  EXPECT_EQ(CandidatesOf(20, 2), 0);
  EXPECT_EQ(ErrorOf(Pinned(DigitsCall(0), 2)).code, Code::kUnavailable);
}

TEST_F(RouterTest, IsUnavailableWhileNoVersionMayBeServed) {
  node_.Hold({1});
  node_.SetState(R"(models { served_name: "digits" versions { version: 1 role: STABLE } })");
  EXPECT_EQ(ErrorOf(DigitsCall(0)).code, Code::kUnavailable);
}

TEST_F(RouterTest, TakesTheWeightFromACandidateAtItsFirstNonFiniteAnswer) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "non_finite: true"));
  const auto revealing = Ask(node_.router, DigitsCall(kNanHere));
  ASSERT_TRUE(revealing);
  EXPECT_EQ(RanBy(*revealing, kNanHere), 1) << "the user gets stable's finite answer";
  EXPECT_EQ(revealing->model_spec.version().value(), 1);
  EXPECT_EQ(CandidatesOf(50, 4), 0);
  EXPECT_EQ(node_.router.AppliedWeight("digits", 4), 0);
  EXPECT_EQ(node_.router.AppliedWeight("digits", 1), 10000);
  ASSERT_EQ(node_.guards->Trips().size(), 1u);
  EXPECT_EQ(node_.guards->Trips()[0].reason, "NonFinite");
  EXPECT_THAT(node_.guards->Trips()[0].message, StartsWith(kNonFiniteMessage));
  const control::Evidence evidence = node_.recorder.Snapshot("digits", 4);
  EXPECT_EQ(evidence.non_finite(), 1);
  EXPECT_GT(evidence.first_non_finite_unix_ms(), 0);
  EXPECT_EQ(RanBy(*Ask(node_.router, Pinned(DigitsCall(0), 4))), 4) << "a client that names the version still gets it";
}

TEST_F(RouterTest, ReportsATripBeforeItSearchesTheOpThatCausedIt) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "non_finite: true"));
  std::vector<std::string> reported;
  node_.guards->SetOnTrip([&reported](const Trip& trip) { reported.push_back(trip.message); });
  node_.engine.record().Set(&models::FakeRecord::searching, false);
  ASSERT_TRUE(Ask(node_.router, DigitsCall(kNanHere)));
  EXPECT_THAT(reported, ElementsAre(kNonFiniteMessage));
  node_.engine.record().Set(&models::FakeRecord::searching, true);
  node_.origins.Flush();
  const std::string explained = kNonFiniteMessage + ": output \"y\", made by node \"half/div\" (op RealDiv)"s;
  EXPECT_THAT(reported, ElementsAre(kNonFiniteMessage, explained));
  EXPECT_EQ(node_.guards->Trips()[0].message, explained);
}

TEST_F(RouterTest, DoesNotSearchTheOpDuringABacklog) {
  node_.Hold({1, 4});
  batching::Admission busy({.concurrent_runs_max = 1, .simulated_run = {}});
  OriginSearch origins(busy);
  batching::Queue queue(busy, node_.store.Find("digits", 1).value()->loaded, {});
  node_.engine.record().Set(&models::FakeRecord::holding, true);
  std::vector<std::future<void>> answered;
  for (int i = 0; i < 3; ++i) {
    auto done = std::make_shared<std::promise<void>>();
    answered.push_back(done->get_future());
    queue.Submit({"serving_default", {{"x", tensor::Tensor::Of<float>({1, 2}, {0, 0})}}, {}}, {},
                 [done](const auto&) { done->set_value(); });
  }
  const auto look = [&] {
    std::string found = "not called";
    const auto request = std::make_shared<const inference::Request>(DigitsCall(kNanHere).request);
    origins.Find(*node_.store.Find("digits", 4), request, [&found](const std::string& origin) { found = origin; });
    origins.Flush();
    return found;
  };
  EXPECT_EQ(look(), "");
  node_.engine.record().Set(&models::FakeRecord::holding, false);
  for (auto& each : answered) each.wait();
  EXPECT_THAT(look(), StartsWith("output \"y\""));
}

TEST_F(RouterTest, StaysTrippedForTheSameRolloutAndStartsUntrippedForTheNext) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "non_finite: true"));
  ASSERT_TRUE(Ask(node_.router, DigitsCall(kNanHere)));
  node_.SetState(TwoVersions(4, 10000, "", "non_finite: true"));
  EXPECT_EQ(CandidatesOf(10, 4), 0);
  node_.SetState(TwoVersions(4, 10000, R"(assignment { salt: "uid/4/2" })", "non_finite: true"));
  EXPECT_EQ(CandidatesOf(10, 4), 10);
}

TEST_F(RouterTest, DoesNotBlameACandidateIfStableIsNotFiniteEither) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "non_finite: true"));
  EXPECT_TRUE(std::isnan(FirstOf(*Ask(node_.router, DigitsCall(kNanEverywhere)))));
  EXPECT_EQ(CandidatesOf(10, 4), 10);
  EXPECT_EQ(node_.recorder.Snapshot("digits", 4).non_finite(), 0);
}

TEST_F(RouterTest, BlamesACandidateForANonFiniteAnswerIfStableCannotRun) {
  node_.Hold({4});
  node_.SetState(TwoVersions(4, 10000, "", "non_finite: true"));
  EXPECT_TRUE(std::isnan(FirstOf(*Ask(node_.router, DigitsCall(kNanHere)))));
  EXPECT_EQ(node_.recorder.Snapshot("digits", 4).non_finite(), 1);
  EXPECT_EQ(node_.guards->Trips().size(), 1u);
}

TEST_F(RouterTest, AllowsNonFiniteAnswersWithoutThatGuard) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000));
  EXPECT_TRUE(std::isnan(FirstOf(*Ask(node_.router, DigitsCall(kNanHere)))));
  EXPECT_EQ(node_.recorder.Snapshot("digits", 4).non_finite(), 0);
}

TEST_F(RouterTest, ReturnsTheCandidatesAnswerToAClientThatNamesItAndTripsTheGuard) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 0, "", "non_finite: true"));
  EXPECT_TRUE(std::isnan(FirstOf(*Ask(node_.router, Pinned(DigitsCall(kNanHere), 4)))));
  EXPECT_EQ(node_.guards->Trips().size(), 1u);
  EXPECT_EQ(ErrorOf(Pinned(DigitsCall(kRefuseHere), 4)).code, Code::kInvalidArgument);
}

TEST_F(RouterTest, BlamesACandidateThatRefusesRequestsStableAccepts) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "error_rate_max: 0.5 errors_min_requests: 2"));
  EXPECT_EQ(ErrorOf(DigitsCall(models::kPoison)).code, Code::kInvalidArgument) << "stable refuses it as well";
  EXPECT_EQ(node_.recorder.Snapshot("digits", 4).requests(), 0);
  for (int i = 0; i < 2; ++i) {
    const auto answer = Ask(node_.router, DigitsCall(kRefuseHere));
    ASSERT_TRUE(answer) << ToString(answer.error());
    EXPECT_EQ(RanBy(*answer, kRefuseHere), 1) << "the user gets stable's answer";
  }
  const control::Evidence evidence = node_.recorder.Snapshot("digits", 4);
  EXPECT_EQ(evidence.errors(), 2);
  EXPECT_EQ(evidence.requests(), 2);
  EXPECT_EQ(node_.recorder.Snapshot("digits", 1).requests(), 0)
      << "the comparison runs do not count as evidence about stable";
  EXPECT_EQ(node_.guards->Trips().at(0).reason, "Errors");
}

TEST_F(RouterTest, DoesNotBlameACandidateForAnOverloadedNode) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "error_rate_max: 0.5 errors_min_requests: 1"));
  EXPECT_EQ(ErrorOf(DigitsCall(kNoMemoryHere)).code, Code::kResourceExhausted);
  EXPECT_EQ(node_.recorder.Snapshot("digits", 4).errors(), 0);
  EXPECT_TRUE(node_.guards->Trips().empty());
}

TEST_F(RouterTest, ComparesARefusalWithStableOnlyWithoutABacklog) {
  node_.Hold({1, kRenamedVersion});
  node_.SetState(TwoVersions(kRenamedVersion, 10000));
  node_.engine.record().Set(&models::FakeRecord::holding, true);
  std::vector<std::future<Result<PredictAnswer>>> held;
  while (node_.admission.load().queued <= 4) held.push_back(Begin(node_.router, Pinned(DigitsCall(0), 1)));
  auto refused = Begin(node_.router, DigitsCall(0));
  EXPECT_EQ(refused.wait_for(SecondOpinion::kTimeMax / 2), std::future_status::ready)
      << "the comparison must not wait in the queue";
  node_.engine.record().Set(&models::FakeRecord::holding, false);
  EXPECT_EQ(refused.get().error().code, Code::kInvalidArgument);
  EXPECT_EQ(node_.recorder.Snapshot("digits", kRenamedVersion).errors(), 0);
  for (auto& answer : held) EXPECT_TRUE(answer.get());
}

TEST_F(RouterTest, BlamesACandidateWithADifferentSignature) {
  node_.Hold({1, kRenamedVersion});
  node_.SetState(TwoVersions(kRenamedVersion, 10000));
  EXPECT_EQ(CandidatesOf(3, kRenamedVersion), 0);
  EXPECT_EQ(node_.recorder.Snapshot("digits", kRenamedVersion).errors(), 3);
  auto call = DigitsCall(0);
  call.request.mutable_model_spec()->set_signature_name("none");
  EXPECT_EQ(ErrorOf(call).code, Code::kFailedPrecondition) << "neither version has that signature";
  EXPECT_EQ(node_.recorder.Snapshot("digits", kRenamedVersion).errors(), 3);
}

TEST_F(RouterTest, CountsTheRunTimeOfABatchOnce) {
  node_.Hold({1}, {.max_batch_size = 3, .max_delay = std::chrono::hours(1)});
  std::vector<std::future<Result<PredictAnswer>>> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(Begin(node_.router, DigitsCall(0)));
  for (auto& answer : answers) EXPECT_TRUE(answer.get());
  const control::Evidence evidence = node_.recorder.Snapshot("digits", 1);
  EXPECT_EQ(evidence.requests(), 3);
  int64_t run_times = 0;
  for (const int64_t count : evidence.run_time_buckets()) run_times += count;
  EXPECT_EQ(run_times, 1);
}

TEST_F(RouterTest, CountsOneErrorForARequestThatFailsItsBatchAndAnswersTheOthers) {
  node_.Hold({4}, {.max_batch_size = 3, .max_delay = std::chrono::hours(1)});
  node_.SetState(TwoVersions(4, 10000));
  auto bad = Begin(node_.router, DigitsCall(kFailHere));
  std::vector<std::future<Result<PredictAnswer>>> good;
  for (int i = 0; i < 2; ++i) good.push_back(Begin(node_.router, DigitsCall(0)));
  EXPECT_EQ(bad.get().error().code, Code::kInternal);
  for (auto& answer : good) EXPECT_TRUE(answer.get());
  EXPECT_EQ(node_.recorder.Snapshot("digits", 4).requests(), 3);
  EXPECT_EQ(node_.recorder.Snapshot("digits", 4).errors(), 1);
}

TEST_F(RouterTest, RecordsTheFirstRunBeforeAnyRunOfTheCandidateBegins) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000));
  // A named pipe in place of the temporary file: opening it for writing blocks until the test opens it for reading.
  const Path slow = node_.state_dir / fmt::format("journal.json.{}.tmp", getpid());
  ASSERT_EQ(mkfifo(slow.c_str(), 0600), 0);
  auto first = Begin(node_.router, DigitsCall(0));
  auto second = Begin(node_.router, Pinned(DigitsCall(0), 2));
  EXPECT_EQ(CandidatesOf(3, 2), 0) << "a request that names no version does not wait for the disk";
  node_.engine.record().Wait([this] {
    const auto& runs = node_.engine.record().runs;
    EXPECT_TRUE(std::ranges::none_of(runs, [](const auto& run) { return run.version == 2; }));
    return true;
  });
  const int reader = open(slow.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(RanBy(*first.get()), 2);
  EXPECT_EQ(RanBy(*second.get()), 2);
  close(reader);
  EXPECT_EQ(CandidatesOf(3, 2), 3);
}

TEST_F(RouterTest, EndsTheJournalEntryOfTheFirstRun) {
  const auto note = [this] { return ReadFile(node_.state_dir / "journal.json").value_or(""); };
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000));
  node_.engine.record().Set(&models::FakeRecord::holding, true);
  auto first = Begin(node_.router, DigitsCall(0));
  node_.engine.record().Wait([this] { return !node_.engine.record().runs.empty(); });
  EXPECT_THAT(note(), HasSubstr("first run"));
  node_.engine.record().Set(&models::FakeRecord::holding, false);
  ASSERT_TRUE(first.get());
  while (note().find("first run") != std::string::npos) std::this_thread::yield();
}

TEST_F(RouterTest, WaitsInItsDestructorForRunsInFlight) {
  node_.Hold({1});
  auto router = std::make_unique<Router>(
      RouterDeps{node_.store, node_.admission, node_.recorder, node_.pairs, node_.metrics, node_.runs, node_.statistics,
                 *node_.forwarder, *node_.guards, node_.origins, node_.clock, node_.journal.get()},
      RouterOptions{.node = "b"});
  node_.engine.record().Set(&models::FakeRecord::holding, true);
  std::atomic<bool> answered = false;
  router->Predict(DigitsCall(0), [&](const auto&) { answered = true; });
  node_.engine.record().Wait([this] { return node_.engine.record().runs.size() == 1; });
  std::promise<void> going;
  std::thread end([&] {
    going.set_value();
    router.reset();
    EXPECT_TRUE(answered);
  });
  going.get_future().wait();
  node_.engine.record().Set(&models::FakeRecord::holding, false);
  end.join();
}

TEST_F(RouterTest, RefusesRequestsOfPeersBeforeItHasAState) {
  node_.Hold({1});
  auto call = WithHeader(WithHeader(WithHeader(DigitsCall(0), kHopHeader, "1"), kHopVersionHeader, "1"),
                         kHopFleetHeader, "ns/f");
  call.protocol = Protocol::kPeer;
  EXPECT_EQ(ErrorOf(call).code, Code::kNotFound) << "the peer then asks another node";
}

TEST_F(RouterTest, TakesTheWeightFromACandidateThatFailsAfterManySuccesses) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "error_rate_max: 0.5 errors_min_requests: 4"));
  EXPECT_EQ(CandidatesOf(1000, 4), 1000);
  for (int64_t i = 0; i <= ErrorWindow::kRequests / 2; ++i) EXPECT_FALSE(Ask(node_.router, DigitsCall(kFailHere)));
  EXPECT_EQ(node_.guards->Trips().size(), 1u);
}

TEST_F(RouterTest, TakesTheWeightFromACandidateThatFailsTooOften) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "error_rate_max: 0.5 errors_min_requests: 4"));
  EXPECT_EQ(CandidatesOf(1, 4), 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ErrorOf(DigitsCall(kFailHere)).code, Code::kInternal);
  EXPECT_EQ(CandidatesOf(1, 4), 1);
  // A newer state with the same rollout does not reset the counts of errors.
  node_.SetState(TwoVersions(4, 10000, "", "error_rate_max: 0.5 errors_min_requests: 4"));
  EXPECT_EQ(ErrorOf(DigitsCall(kFailHere)).code, Code::kInternal);
  EXPECT_EQ(CandidatesOf(10, 4), 0);
  EXPECT_EQ(node_.guards->Trips().at(0).reason, "Errors");
  EXPECT_EQ(node_.recorder.Snapshot("digits", 4).errors(), 3);
}

TEST_F(RouterTest, TakesTheWeightFromACandidateIfTheControllerIsSilentTooLong) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000, "", "controller_silence_max_ms: 1000"));
  node_.router.TripIfControllerSilent(std::chrono::milliseconds(1000));
  EXPECT_EQ(CandidatesOf(3, 2), 3);
  node_.router.TripIfControllerSilent(std::chrono::milliseconds(1001));
  EXPECT_EQ(CandidatesOf(3, 2), 0);
}

TEST_F(RouterTest, DoesNotTripForSilenceIfAPersonPausedTheRollout) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 10000, "", "controller_silence_max_ms: 1000 paused: true"));
  node_.router.TripIfControllerSilent(std::chrono::hours(100));
  EXPECT_EQ(CandidatesOf(3, 2), 3);
}

TEST_F(RouterTest, TakesTheWeightFromACandidateThatFailsMoreOftenThanStable) {
  node_.Hold({1, 4});
  const std::string guard = "alpha: 0.001 error_rate_max: 0.01 errors_min_requests: 1";
  node_.SetState(TwoVersions(4, 5000, "", guard));
  int errors = 0;
  for (int i = 0; i < 100; ++i) errors += Ask(node_.router, DigitsCall(kFailHere)) ? 0 : 1;
  ASSERT_EQ(node_.guards->Trips().size(), 1u);
  EXPECT_EQ(node_.guards->Trips()[0].reason, "Errors");
  EXPECT_THAT(node_.guards->Trips()[0].message, HasSubstr("of stable on this node: the e-value is"));
  EXPECT_EQ(errors, 16) << "two blocks; one error alone does not trip";
}

TEST_F(RouterTest, ComparesErrorsWithTheirLimitIfStableGetsNoRequests) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "alpha: 0.001 error_rate_max: 0.5 errors_min_requests: 50"));
  int errors = 0;
  for (int i = 0; i < 300; ++i) errors += Ask(node_.router, DigitsCall(kFailHere)) ? 0 : 1;
  EXPECT_EQ(errors, 200);
  EXPECT_EQ(node_.guards->Trips().at(0).message, "200 of the last 200 requests failed, more than 50.00 %");
}

TEST_F(RouterTest, CountsReceivedRequests) {
  node_.Hold({1});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Ask(node_.router, DigitsCall(0)));
  control::NodeLoad load;
  node_.recorder.AddTo(&load);
  EXPECT_EQ(load.received(), 3);
  EXPECT_EQ(load.forwarded(), 0);
  EXPECT_EQ(node_.recorder.Snapshot("digits", 1).requests(), 3);
}

TEST_F(RouterTest, ReportsAnswerTimesOfModelsWithALatencyObjective) {
  node_.Hold({1, 2});
  const auto counted = [&] {
    control::NodeLoad load;
    node_.recorder.AddTo(&load);
    if (load.models_size() == 0) return int64_t{-1};
    EXPECT_EQ(load.models(0).served_name(), "digits");
    const auto& buckets = load.models(0).total_time_buckets();
    return std::accumulate(buckets.begin(), buckets.end(), int64_t{0});
  };
  node_.SetState(TwoVersions(2, 5000));
  ASSERT_TRUE(Ask(node_.router, DigitsCall(0)));
  EXPECT_EQ(counted(), -1) << "the model has no objective";
  node_.SetState(TwoVersions(2, 5000, "slo_latency_ms: 20"));
  EXPECT_EQ(counted(), 0);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Ask(node_.router, DigitsCall(0)));
  EXPECT_EQ(counted(), 3);
  node_.SetState(TwoVersions(2, 5000, "slo_latency_ms: 30"));
  EXPECT_EQ(counted(), 3) << "a new state of the same model keeps the counts";
  ASSERT_FALSE(Ask(node_.router, Pinned(DigitsCall(0), 9)));
  EXPECT_EQ(counted(), 3) << "an error is not an answer";
}

TEST_F(RouterTest, ExportsMetricsOfRunsAndNonFiniteAnswers) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 10000, "", "non_finite: true"));
  ASSERT_TRUE(Ask(node_.router, DigitsCall(kNanHere)));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Ask(node_.router, Pinned(DigitsCall(0), 1)));
  const std::string text = node_.metrics.Text();
  const std::string labels = R"({model="digits",signature="serving_default",version=)";
  const std::string stable = labels + "\"1\"} ", candidate = labels + "\"4\"} ";
  EXPECT_THAT(text, AllOf(HasSubstr("longshore_queue_seconds_count" + stable + "2\n"),
                          HasSubstr("longshore_run_seconds_count" + stable + "2\n"),
                          HasSubstr("longshore_queue_seconds_count" + candidate + "1\n"),
                          HasSubstr("longshore_nonfinite_total{model=\"digits\",version=\"4\"} 1\n"),
                          HasSubstr("longshore_spilled_total 0\n")));
}

TEST_F(RouterTest, AnswersEveryRequestWhileStatesChangeAndGuardsTrip) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 5000, "", "non_finite: true"));
  std::atomic<int> answered{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> clients;
  for (int c = 0; c < 3; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 300; ++i) answered += Ask(node_.router, DigitsCall(i == 100 + c ? kNanHere : 0)) ? 1 : 0;
    });
  }
  std::thread controller([&] {
    for (int attempt = 0; !stop; ++attempt) {
      node_.SetState(
          TwoVersions(4, 5000, fmt::format(R"(assignment {{ salt: "uid/4/{}" }})", attempt), "non_finite: true"));
      node_.router.AppliedWeight("digits", 4);
    }
  });
  for (auto& client : clients) client.join();
  stop = true;
  controller.join();
  EXPECT_EQ(answered, 900);
}

}  // namespace
}  // namespace longshore::routing

#include "serving-node/routing/pairing.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "common/os/file.h"
#include "serving-node/routing/failure.h"
#include "serving-node/routing/testing.h"

namespace longshore::routing {
namespace {

using models::FakeRecord;
using testing::HasSubstr;

// A pair of another model that runs until GoOn, so that all other pairs wait.
class HeldPair {
 public:
  explicit HeldPair(evidence::PairRunner& pairs) {
    const evidence::PairTerms terms{
        .slots = 1, .counters = std::make_shared<evidence::Counters>(), .dropped = [](evidence::PairDrop) {}};
    pairs.Offer(terms, [this] {
      return evidence::Pair{
          .run = [freed = go_on_.get_future().share()](evidence::Side) -> Result<evidence::PairedRun> {
            freed.wait();
            return Unavailable("busy");
          },
          .counted = [](const evidence::PairOutcome&) {}};
    });
  }
  void GoOn() { go_on_.set_value(); }

 private:
  std::promise<void> go_on_;
};

// A request with several equal rows.
PredictCall RowsCall(int64_t rows, float value) {
  PredictCall call = DigitsCall(0);
  const std::vector<float> values(static_cast<size_t>(2 * rows), value);
  call.request = inference::Request(call.request.model_spec(), {{"x", tensor::Tensor::Of<float>({rows, 2}, values)}});
  return call;
}

class PairingTest : public testing::Test {
 protected:
  control::Evidence EvidenceOf(int64_t version) const { return node_.recorder.Snapshot("digits", version); }
  static int64_t Offered(const control::PairEvidence& pairs) {
    return pairs.pairs() + pairs.dropped_busy() + pairs.dropped_budget() + pairs.dropped_queue();
  }
  // Waits until so many pairs of the candidate have ended or were dropped. A pair is offered after the user has the
  // answer.
  control::PairEvidence WaitForPairs(int64_t pairs, int64_t candidate) {
    while (Offered(EvidenceOf(candidate).pairs()) < pairs) std::this_thread::yield();
    node_.pairs.Drain();
    return EvidenceOf(candidate).pairs();
  }
  // Sends the requests one after the other; each waits until the pairs of those before have ended.
  control::PairEvidence Send(int requests, double share, int64_t candidate, float first = 0) {
    for (int i = 0; i < requests; ++i) {
      Ask(node_.router, DigitsCall(first));
      WaitForPairs(static_cast<int64_t>((i + 1) * share), candidate);
    }
    return EvidenceOf(candidate).pairs();
  }
  // Sends a request while nearly all weight is on stable. The first request of a model would go to the candidate, so
  // the first call of this function gives the candidate no weight.
  void AskStable(const std::string& more = "") {
    node_.SetState(TwoVersions(2, more.empty() ? 0 : 1, more));
    EXPECT_EQ(RanBy(*Ask(node_.router, DigitsCall(0))), 1);
  }
  // A second router of the node, which a test can destroy.
  std::unique_ptr<Router> AnotherRouter(FailureSink* failures = nullptr) {
    return AnotherRouter(node_.clock, failures);
  }
  std::unique_ptr<Router> AnotherRouter(const Clock& clock, FailureSink* failures = nullptr) {
    RouterDeps deps{node_.store, node_.admission,    node_.recorder,   node_.pairs,   node_.metrics,
                    node_.runs,  node_.statistics,   *node_.forwarder, *node_.guards, node_.origins,
                    clock,       node_.journal.get()};
    deps.failures = failures;
    return std::make_unique<Router>(deps, RouterOptions{.node = "b"});
  }
  static void SetState(Router& router, const std::string& text) {
    auto state = std::make_shared<control::DesiredState>();
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString("fleet {fleet: \"ns/f\"}" + text, state.get())) << text;
    router.SetState(std::move(state));
  }
  std::vector<FakeRecord::Ran> Runs() {
    const std::lock_guard lock(node_.engine.record().mutex);
    return node_.engine.record().runs;
  }

  TestDir dir_;
  TestNode node_{dir_.path(), "a"};
};

TEST_F(PairingTest, TheShareOfTheRequestsOfBothVersionsIsExact) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 2500, "validation { pair_share: 0.5 pair_budget: 1 drift_sample: 0.01 }"));
  const auto pairs = Send(40, 0.5, 2);
  EXPECT_EQ(pairs.pairs(), 20);
  EXPECT_EQ(Offered(pairs), 20);
  EXPECT_EQ(EvidenceOf(2).drift().pairs(), 20);
  EXPECT_DOUBLE_EQ(EvidenceOf(2).drift().difference_max(), 1);
  EXPECT_EQ(EvidenceOf(1).requests() + EvidenceOf(2).requests(), 40) << "the runs of pairs are not requests";
  EXPECT_EQ(node_.admission.load().started, 40) << "the runs of pairs are background work";
  int64_t run_times = 0;
  for (const int64_t version : {1, 2}) {
    const control::Evidence evidence = EvidenceOf(version);
    for (const int64_t count : evidence.run_time_buckets()) run_times += count;
  }
  EXPECT_EQ(run_times, 40) << "the run times of pairs are only compared with each other";
  EXPECT_THAT(node_.metrics.Text(),
              HasSubstr(R"(longshore_pairs_total{model="digits",result="answered",version="2"} 20)"));
}

TEST_F(PairingTest, AQuarterIsTheDefault) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 2500, "validation { pair_budget: 1 }"));
  EXPECT_EQ(Send(20, 0.25, 2).pairs(), 5);
}

TEST_F(PairingTest, AnOldControllerPairsTheCandidatesRequestsOnly) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 5000, "validation { drift_sample: 0.5 pair_budget: 1 }"));
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(Ask(node_.router, DigitsCall(0)));
    WaitForPairs(EvidenceOf(2).requests() / 2, 2);
  }
  EXPECT_EQ(Offered(EvidenceOf(2).pairs()), EvidenceOf(2).requests() / 2);
}

TEST_F(PairingTest, RequestsThatNameAVersionAndCandidatesWithoutWeightAreNotPaired) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 5000, "validation { pair_share: 1 }"));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Ask(node_.router, Pinned(DigitsCall(0), 1 + i % 2)));
  node_.SetState(TwoVersions(2, 0, "validation { pair_share: 1 }"));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Ask(node_.router, DigitsCall(0)));
  node_.SetState(TwoVersions(2, 5000, "validation { pair_share: 1 pair_budget: 1 }"));
  EXPECT_EQ(Send(1, 1, 2).pairs(), 1) << "the first pair is of the last request";
}

// A state for TestNode::SetState: the candidate has no weight, but requests become pairs.
std::string Shadow(int64_t candidate, const std::string& more, const std::string& guard = "") {
  std::string state = TwoVersions(candidate, 0, more, guard);
  const std::string role = "role: CANDIDATE ";
  return state.insert(state.find(role) + role.size(), "shadow: true ");
}

TEST_F(PairingTest, AShadowWithoutWeightIsPairedWithStablesRequests) {
  node_.Hold({1, 2});
  node_.SetState(Shadow(2, "validation { pair_share: 0.5 pair_budget: 1 }"));
  const auto pairs = Send(20, 0.5, 2);
  EXPECT_EQ(pairs.pairs(), 10);
  EXPECT_EQ(Offered(pairs), 10);
  EXPECT_EQ(EvidenceOf(1).requests(), 20) << "stable answers all users";
  EXPECT_EQ(EvidenceOf(2).requests(), 0);
}

TEST_F(PairingTest, ARequestThatARuleSendsToAShadowIsNotPaired) {
  node_.Hold({1, 2});
  const std::string rules = R"(
      routes { name: "preview" to: CANDIDATE conditions { key: "preview" op: PRESENT } }
      routes { name: "batch" to: STABLE conditions { key: "batch" op: PRESENT } })";
  node_.SetState(Shadow(2, "validation { pair_share: 1 pair_budget: 1 }" + rules));
  const auto tester = WithHeader(DigitsCall(0), "preview", "1");
  for (int i = 0; i < 10; ++i) ASSERT_EQ(RanBy(*Ask(node_.router, tester)), 2);
  ASSERT_EQ(RanBy(*Ask(node_.router, DigitsCall(0))), 1);
  EXPECT_EQ(WaitForPairs(1, 2).pairs(), 1) << "the only pair is of the user's request";
  ASSERT_EQ(RanBy(*Ask(node_.router, WithHeader(DigitsCall(0), "batch", "1"))), 1);
  EXPECT_EQ(WaitForPairs(2, 2).pairs(), 2) << "a rule to stable makes no difference";
  node_.SetState(TwoVersions(2, 1, "validation { pair_share: 1 pair_budget: 1 }" + rules));
  ASSERT_EQ(RanBy(*Ask(node_.router, tester)), 2);
  EXPECT_EQ(WaitForPairs(3, 2).pairs(), 3) << "with a weight, matched requests are paired";
}

TEST_F(PairingTest, ARequestThatARuleSendsToAShadowIsNotPairedIfItFallsBackToStable) {
  node_.Hold({1, 2});
  node_.SetState(Shadow(2, R"(validation { pair_share: 1 pair_budget: 1 }
      routes { name: "preview" to: CANDIDATE conditions { key: "preview" op: PRESENT } })"));
  const auto tester = WithHeader(DigitsCall(0), "preview", "1");
  // A named pipe in place of the temporary file holds the journal's entry of the candidate's first run.
  const Path file = node_.state_dir / fmt::format("journal.json.{}.tmp", getpid());
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  auto first = Begin(node_.router, tester);
  EXPECT_EQ(RanBy(*Ask(node_.router, tester)), 1);
  const int reader = open(file.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_EQ(RanBy(*first.get()), 2);
  close(reader);
  node_.pairs.Drain();
  EXPECT_EQ(Offered(EvidenceOf(2).pairs()), 0);
}

TEST_F(PairingTest, AShadowIsNotPairedAfterItsGuardTripped) {
  node_.Hold({1, 4});
  const std::string pair_all = "validation { pair_share: 1 pair_budget: 1 }";
  node_.SetState(Shadow(4, pair_all, "non_finite: true"));
  ASSERT_EQ(RanBy(*Ask(node_.router, DigitsCall(kNanHere)), kNanHere), 1) << "no user sees the candidate's answer";
  EXPECT_EQ(WaitForPairs(1, 4).candidate_failed(), 1);
  ASSERT_EQ(node_.guards->Trips().size(), 1u);
  const size_t runs = Runs().size();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Ask(node_.router, DigitsCall(0)));
  node_.pairs.Drain();
  EXPECT_EQ(Offered(EvidenceOf(4).pairs()), 1);
  EXPECT_EQ(Runs().size(), runs + 10);
}

TEST_F(PairingTest, AShadowIsPairedOnlyOnNodesThatHoldBothVersions) {
  node_.Hold({1});
  auto router = AnotherRouter();
  SetState(*router, Shadow(2, "validation { pair_share: 1 pair_budget: 1 }"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Ask(*router, DigitsCall(0)));
  router.reset();  // Waits for the requests.
  node_.pairs.Drain();
  EXPECT_EQ(Offered(EvidenceOf(2).pairs()), 0);
}

// y = 2 x + version, so the two versions differ by 1.
TEST_F(PairingTest, OutputRulesCompareTheOutputsOfEachPair) {
  node_.Hold({1, 2});
  node_.SetState(Shadow(2, R"(validation { pair_share: 1 pair_budget: 1
      output_rules { output: "y" measure: WITHIN absolute: 0.5 }
      output_rules { output: "y" measure: WITHIN absolute: 1.5 }
      output_rules { output: "logits" measure: TOP1 } })"));
  const auto pairs = Send(3, 1, 2);
  ASSERT_EQ(pairs.outputs_size(), 3);
  EXPECT_EQ(pairs.outputs(0).rule(), "y: Within, absolute 0.5, relative 0");
  EXPECT_EQ(pairs.outputs(0).pairs(), 3);
  EXPECT_EQ(pairs.outputs(0).differs(), 3);
  EXPECT_EQ(pairs.outputs(1).pairs(), 3);
  EXPECT_EQ(pairs.outputs(1).differs(), 0);
  EXPECT_EQ(pairs.outputs(2).pairs(), 0) << "the signature does not have this output";
  EXPECT_EQ(pairs.mismatched(), 0);
  const std::string labels = R"(longshore_pair_outputs_total{model="digits",output="y",result=)";
  EXPECT_THAT(node_.metrics.Text(), HasSubstr(labels + R"("differs",version="2"} 3)"));
  EXPECT_THAT(node_.metrics.Text(), HasSubstr(labels + R"("agrees",version="2"} 3)"));
}

// Notes the differences that it is offered.
class Differences final : public FailureSink {
 public:
  void Offer(const Failure&) override { ADD_FAILURE() << "nothing failed"; }
  void Offer(const Difference& difference) override {
    seen.push_back(fmt::format("{}: version {} and {}, at most {}, {} rules, by {:.3f}: {}",
                               difference.request.model_spec().name(), difference.candidate->version,
                               difference.stable_version, difference.differences_max, difference.rules.size(),
                               difference.severity, difference.what));
  }
  std::vector<std::string> seen;
};

TEST_F(PairingTest, DifferentOutputsAreOfferedForCaptureIfTheModelWantsIt) {
  Differences sink;
  const auto router = AnotherRouter(&sink);
  node_.Hold({1, 2});
  const auto ask = [&](const std::string& validation) {
    SetState(*router, Shadow(2, "validation { pair_share: 1 pair_budget: 1 " + validation + "}"));
    const int64_t before = Offered(EvidenceOf(2).pairs());
    ASSERT_TRUE(Ask(*router, DigitsCall(0)));
    WaitForPairs(before + 1, 2);
  };
  const std::string differs = R"(output_rules { output: "y" measure: WITHIN absolute: 0.5 } )";
  ask(differs);
  ask(differs + "keep_worst: -1");
  ask(R"(keep_worst: 3 output_rules { output: "y" measure: WITHIN absolute: 1.5 } )");
  ask("keep_worst: 3");
  EXPECT_THAT(sink.seen, testing::IsEmpty());
  ask(differs + "keep_worst: 3");
  EXPECT_THAT(sink.seen,
              testing::ElementsAre(R"(digits: version 2 and 1, at most 3, 1 rules, by 0.333: )"
                                   R"(output "y" differs by the rule "y: Within, absolute 0.5, relative 0")"));
}

TEST_F(PairingTest, TheWorstPairsAreReportedWithoutValues) {
  const FakeClock clock(TimePoint{std::chrono::milliseconds(1'795'854'517'705)});
  const auto router = AnotherRouter(clock);
  node_.Hold({1, 2});
  SetState(*router, Shadow(2, "validation { pair_share: 1 pair_budget: 1 }"));
  PredictCall call = RowsCall(3, 7);
  call.headers = {{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"}};
  ASSERT_TRUE(Ask(*router, std::move(call)));
  const auto pairs = WaitForPairs(1, 2);
  ASSERT_EQ(pairs.worst_size(), 1);
  EXPECT_EQ(pairs.worst_salt(), "uid/2/1");
  control::WorstPair worst = pairs.worst(0);
  EXPECT_EQ(worst.at_unix_ms(), 1'795'854'517'705);
  EXPECT_NEAR(worst.relative_difference(), 1.0 / 31, 1e-3) << "16 and 15";
  for (const char* field : {"at_unix_ms", "relative_difference", "candidate_us", "stable_us"})
    worst.GetReflection()->ClearField(&worst, worst.GetDescriptor()->FindFieldByName(field));
  EXPECT_EQ(worst.ShortDebugString(),
            R"(trace_id: "4bf92f3577b34da6a3ce929d0e0e4736" signature: "serving_default" rows: 3 output: "y" )"
            R"(candidate_type: "DT_FLOAT [3,2]" stable_type: "DT_FLOAT [3,2]" absolute_difference: 1)");
}

// The pair of the first request waits behind another pair until two users' requests of stable use the only slot.
TEST_F(PairingTest, NoRunOfAShadowStartsWhileUsersRequestsRunOrWait) {
  TestNode node(dir_.path(), "with-one-slot", 1);
  node.Hold({1, 2});
  node.SetState(Shadow(2, "validation { pair_share: 1 pair_budget: 1 }"));
  HeldPair other(node.pairs);
  ASSERT_TRUE(Ask(node.router, DigitsCall(0)));
  while (node.pairs.waiting() < 1) std::this_thread::yield();
  models::FakeRecord& record = node.engine.record();
  record.Set(&FakeRecord::holding, true);
  auto running = Begin(node.router, Pinned(DigitsCall(0), 1));
  record.Wait([&record] { return record.runs.size() == 2; });
  auto waiting = Begin(node.router, Pinned(DigitsCall(0), 1));
  other.GoOn();
  const auto pairs = [&node] { return node.recorder.Snapshot("digits", 2).pairs(); };
  while (Offered(pairs()) < 1) std::this_thread::yield();
  EXPECT_EQ(pairs().dropped_busy(), 1) << "it waited for Pairing::kPatience";
  record.Set(&FakeRecord::holding, false);
  EXPECT_TRUE(running.get());
  EXPECT_TRUE(waiting.get());
  const std::lock_guard lock(record.mutex);
  EXPECT_EQ(std::ranges::count(record.runs, 1, &FakeRecord::Ran::version), 3);
  EXPECT_EQ(record.runs.size(), 3u) << "nothing ran on the candidate";
}

// The requests fail, so that their pairs have two rows, as the requests alone. They would fit into the batch that
// waits.
TEST_F(PairingTest, ARunOfAShadowNeverJoinsABatchOfUsers) {
  node_.Hold({1, 2}, {.max_batch_size = 4, .max_delay = std::chrono::hours(1)});
  node_.SetState(Shadow(2, "validation { pair_share: 1 pair_budget: 1 }"));
  auto waiting = Begin(node_.router, Pinned(RowsCall(1, 0), 2));
  auto first = Begin(node_.router, RowsCall(2, models::kPoison)),
       second = Begin(node_.router, RowsCall(2, models::kPoison));
  EXPECT_FALSE(first.get());
  EXPECT_FALSE(second.get());
  EXPECT_EQ(WaitForPairs(2, 2).both_failed(), 2);
  for (const auto& run : Runs()) EXPECT_TRUE(run.version == 1 || run.rows == 2) << run.rows;
  auto filling = Begin(node_.router, Pinned(RowsCall(3, 0), 2));
  EXPECT_TRUE(waiting.get());
  EXPECT_TRUE(filling.get());
  EXPECT_EQ(Runs().back().rows, 4);
}

TEST_F(PairingTest, BothRunsHaveThePaddedRowsOfTheUsersRun) {
  // The user's run has the rows of two requests, and the pair those of one of them, repeated.
  node_.Hold({1, 2}, {.max_batch_size = 4, .max_delay = std::chrono::hours(1), .allowed_batch_sizes = {4}});
  node_.SetState(TwoVersions(2, 1, R"(assignment { by: HEADER key: "user" }
                                          validation { pair_share: 1 pair_budget: 1 })"));
  const auto ask = [this](int64_t rows) { return Begin(node_.router, WithHeader(RowsCall(rows, 0), "user", "alice")); };
  auto first = ask(3), second = ask(1);
  ASSERT_TRUE(first.get());
  ASSERT_TRUE(second.get());
  EXPECT_EQ(WaitForPairs(2, 2).pairs(), 2);
  const auto runs = Runs();
  std::string versions;
  for (const auto& run : runs) {
    EXPECT_EQ(run.rows, 4);
    versions += std::to_string(run.version);
  }
  EXPECT_EQ(versions.substr(1), "21211212") << "the user's run, and two pairs of four runs";
}

// Whatever became of the request makes no difference, so that requests which one version fails are not left out.
TEST_F(PairingTest, RequestsThatFailedArePairedToo) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 5000, "validation { pair_share: 1 pair_budget: 1 }"));
  EXPECT_EQ(Send(4, 1, 4, kFailHere).candidate_failed(), 4);
  const auto pairs = WaitForPairs(4, 4);
  EXPECT_EQ(pairs.pairs(), 4);
  for (int i = 0; i < 2; ++i) Ask(node_.router, DigitsCall(models::kPoison));
  const auto failed = WaitForPairs(6, 4);
  EXPECT_EQ(failed.both_failed(), 2) << "both versions refuse the request";
  ASSERT_EQ(failed.worst_size(), 4) << "pairs that both failed do not differ";
  EXPECT_EQ(failed.worst(0).candidate_error(), "INTERNAL");
  EXPECT_EQ(failed.worst(0).stable_error(), "");
  EXPECT_EQ(failed.worst(0).candidate_us(), 0);
}

TEST_F(PairingTest, ANanOnStablesRequestsTripsTheGuard) {
  node_.Hold({1, 4});
  node_.SetState(TwoVersions(4, 1, "validation { pair_share: 1 pair_budget: 1 }", "non_finite: true"));
  ASSERT_EQ(RanBy(*Ask(node_.router, DigitsCall(0))), 4);
  WaitForPairs(1, 4);
  ASSERT_EQ(RanBy(*Ask(node_.router, DigitsCall(kNanHere)), kNanHere), 1);
  EXPECT_EQ(WaitForPairs(2, 4).candidate_failed(), 1);
  ASSERT_EQ(node_.guards->Trips().size(), 1u);
  EXPECT_EQ(node_.guards->Trips()[0].reason, "NonFinite");
  EXPECT_THAT(node_.guards->Trips()[0].message, HasSubstr("in a pair of runs"));
  EXPECT_EQ(EvidenceOf(4).non_finite(), 1);
  EXPECT_EQ(EvidenceOf(4).pairs().worst(0).candidate_error(), "NonFinite") << "worse than the pair that only differs";
}

TEST_F(PairingTest, PairsAboveTheBudgetAreDroppedAndCounted) {
  node_.Hold({1, 2});
  node_.SetState(TwoVersions(2, 5000, "validation { pair_share: 1 pair_budget: 1e-9 }"));
  const auto pairs = Send(10, 1, 2);
  EXPECT_EQ(Offered(pairs), 10);
  EXPECT_LE(pairs.pairs(), 1);
  EXPECT_GE(pairs.dropped_budget(), 9);
  EXPECT_THAT(node_.metrics.Text(), HasSubstr(R"(longshore_pairs_dropped_total{reason="budget"})"));
}

TEST_F(PairingTest, TheCandidatesFirstRunIsInTheJournalAlsoInAPair) {
  node_.Hold({1, 2});
  AskStable();
  // A named pipe in place of the temporary file shows what is written.
  const Path file = node_.state_dir / fmt::format("journal.json.{}.tmp", getpid());
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  const int reader = open(file.c_str(), O_RDONLY | O_NONBLOCK);
  AskStable("validation { pair_share: 1 pair_budget: 1 }");
  pollfd ready{.fd = reader, .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&ready, 1, 10'000), 1) << "no entry was written";
  std::string text(1000, ' ');
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, read(reader, text.data(), text.size()))));
  EXPECT_THAT(text, HasSubstr("first run"));
  EXPECT_EQ(WaitForPairs(1, 2).pairs(), 1);
  close(reader);
  EXPECT_EQ(EvidenceOf(2).requests(), 0);
  const auto note = [this] { return ReadFile(node_.state_dir / "journal.json").value_or(""); };
  while (note().find("first run") != std::string::npos) std::this_thread::yield();
}

// The pairs use the router. Here one pair of another router runs, and those of this one wait.
TEST_F(PairingTest, TheRouterDropsWaitingPairsWhenItEnds) {
  node_.Hold({1, 2});
  auto router = AnotherRouter();
  SetState(*router, TwoVersions(2, 5000, "validation { pair_share: 1 pair_budget: 1 }"));
  HeldPair other(node_.pairs);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Ask(*router, DigitsCall(0)));
  std::thread end([&router] { router.reset(); });
  while (node_.pairs.waiting() > 0) std::this_thread::yield();
  other.GoOn();
  end.join();
  node_.pairs.Drain();
  EXPECT_EQ(Offered(EvidenceOf(2).pairs()), 0) << "no pair runs after the router has ended";
}

}  // namespace
}  // namespace longshore::routing

#include "serving-node/evidence/pairs.h"

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <random>

#include "tests/seeds/seeds.h"

namespace longshore::evidence {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using tensor::Tensor;
using testing::ElementsAre;
using Kind = PairOutcome::Kind;
using TimePoint = PairBudget::TimePoint;

constexpr TimePoint kStart{std::chrono::hours(100)};

TEST(PairBudget, AllowsPairsUntilTheWindowIsSpent) {
  PairBudget budget;
  EXPECT_TRUE(budget.Allows(seconds(1), 0.1, kStart));
  budget.Spend(milliseconds(900), kStart);
  EXPECT_TRUE(budget.Allows(milliseconds(100), 0.1, kStart));
  EXPECT_FALSE(budget.Allows(milliseconds(101), 0.1, kStart));
  EXPECT_TRUE(budget.Allows(milliseconds(101), 0.2, kStart)) << "another model may use more";
  EXPECT_FALSE(budget.Allows(milliseconds(101), 0.1, kStart + seconds(9)));
  EXPECT_TRUE(budget.Allows(milliseconds(101), 0.1, kStart + seconds(11)));
  EXPECT_FALSE(budget.Allows(nanoseconds(0), 0, kStart + seconds(11)));
}

TEST(PairBudget, AllowsALongPairAfterALongPause) {
  PairBudget budget;
  EXPECT_TRUE(budget.Allows(seconds(30), 0.1, kStart));
  budget.Spend(seconds(30), kStart);
  EXPECT_FALSE(budget.Allows(seconds(30), 0.1, kStart + seconds(299)));
  EXPECT_TRUE(budget.Allows(seconds(30), 0.1, kStart + seconds(300)));
}

// Pairs of random length are offered at random times. In no window do they take more than their share.
TEST(PairBudget, IsNeverExceededInAnyWindow) {
  constexpr uint64_t kWorlds = 20;
  const uint64_t first = seeds::First(kWorlds);
  for (uint64_t seed = first; seed < first + kWorlds; ++seed) {
    std::mt19937_64 random(seed);
    const double slots = std::uniform_real_distribution(0.05, 1.5)(random);
    const auto of = [&](double mean_ms) {
      return nanoseconds(static_cast<int64_t>(1e6 * std::exponential_distribution(1 / mean_ms)(random)));
    };
    const double mean_ms = std::exp(std::uniform_real_distribution(-2.0, 6.0)(random));
    PairBudget budget;
    std::deque<std::pair<TimePoint, nanoseconds>> window;
    nanoseconds in_window{0};
    nanoseconds total{0};
    TimePoint now = kStart;
    for (int i = 0; i < 5000; ++i) {
      now += of(mean_ms / 2);
      const nanoseconds expected = of(mean_ms);
      if (!budget.Allows(expected, slots, now)) continue;
      now += expected;
      budget.Spend(expected, now);
      window.emplace_back(now, expected);
      total += expected;
      in_window += expected;
      for (; window.front().first <= now - PairBudget::kWindow; window.pop_front()) in_window -= window.front().second;
      ASSERT_LE(in_window.count(), slots * 1e9 * PairBudget::kWindow.count()) << "seed " << seed;
    }
    const auto most = std::min(1.0, slots) * std::chrono::duration<double>(now - kStart).count();
    EXPECT_GT(std::chrono::duration<double>(total).count(), 0.3 * most) << "seed " << seed << ": it is used";
  }
}

Result<PairedRun> Took(milliseconds time, float value = 1) {
  return PairedRun{.outputs = {{"scores", Tensor::Of<float>({1, 2}, {value, 2})}}, .run_time = time};
}

class Pairs : public testing::Test {
 protected:
  using Answers = std::function<Result<PairedRun>(Side)>;

  PairTerms Terms(size_t bytes = 1) {
    return {.bytes = bytes,
            .expected = nanoseconds(0),
            .slots = 1,
            .reject_non_finite = true,
            .counters = counters_,
            .dropped = [](PairDrop) {}};
  }
  void Offer(PairRunner& runner, const Answers& answer) {
    runner.Offer(Terms(), [&] {
      return Pair{[this, answer](Side side) {
                    order_ += side == Side::kCandidate ? 'c' : 's';
                    return answer(side);
                  },
                  [this](const PairOutcome& outcome) {
                    outcomes_.push_back(outcome.kind);
                    last_ = outcome;
                  }};
    });
  }
  // Runs one pair.
  control::PairEvidence Run(const Answers& answer) {
    PairRunner runner;
    Offer(runner, answer);
    runner.Drain();
    return counters_->Snapshot().pairs();
  }

  const std::shared_ptr<Counters> counters_ = std::make_shared<Counters>();
  std::string order_;
  std::vector<Kind> outcomes_;
  PairOutcome last_;
};

TEST_F(Pairs, AlternateTheirOrder) {
  PairRunner runner;
  for (int i = 0; i < 4; ++i) Offer(runner, [](Side) { return Took(milliseconds(1)); });
  runner.Drain();
  EXPECT_EQ(order_, "cscsscsccscsscsc") << "the first two runs of each pair are not measured";
}

// A node that is often busy drops many pairs, and drops more of those whose first run is slow. The pairs that are
// counted still alternate.
TEST_F(Pairs, AlternateTheirOrderEvenIfManyAreDropped) {
  const uint64_t seed = seeds::First();
  std::mt19937_64 random(seed);
  PairRunner runner;
  int candidate_first = 0;
  for (int i = 0; i < 500; ++i) {
    order_.clear();
    const int64_t counted = counters_->pairs();
    Offer(runner, [&random](Side side) -> Result<PairedRun> {
      const bool slow = side == Side::kCandidate;
      if (std::bernoulli_distribution(slow ? 0.5 : 0.1)(random)) return Unavailable("busy");
      return Took(milliseconds(1));
    });
    runner.Drain();
    if (counters_->pairs() > counted) candidate_first += order_ == "cscs" ? 1 : -1;
    ASSERT_GE(candidate_first, 0) << "seed " << seed;
    ASSERT_LE(candidate_first, 1) << "seed " << seed;
  }
  EXPECT_GT(counters_->pairs(), 50);
  EXPECT_EQ(counters_->pairs() + counters_->Snapshot().pairs().dropped_busy(), 500);
}

TEST_F(Pairs, CompareRunTimesAndOutputs) {
  const auto pairs = Run([](Side side) {
    return Took(milliseconds(side == Side::kCandidate ? 20 : 10), side == Side::kCandidate ? 1.5F : 1);
  });
  EXPECT_EQ(pairs.pairs(), 1);
  ASSERT_EQ(pairs.ratio_buckets_size(), 81) << "twice as slow: 64 + 16";
  EXPECT_EQ(pairs.ratio_buckets(80), 1);
  EXPECT_EQ(counters_->Snapshot().drift().pairs(), 1);
  EXPECT_DOUBLE_EQ(counters_->Snapshot().drift().difference_max(), 0.25);
}

// Pairs whose output "scores" must be equal. Stable's signature says that it has two columns.
class PairsWithRules : public Pairs {
 protected:
  PairsWithRules() {
    control::Validation validation;
    control::OutputRule& rule = *validation.add_output_rules();
    rule.set_output("scores");
    rule.set_measure(control::OutputRule::EQUAL);
    rules_ = RulesOf(validation);
    (*signature_.mutable_outputs())["scores"].mutable_tensor_shape()->add_dim()->set_size(-1);
    signature_.mutable_outputs()->at("scores").mutable_tensor_shape()->add_dim()->set_size(2);
  }
  control::PairEvidence RunWithRules(const Answers& answer) {
    PairRunner runner;
    runner.Offer(Terms(), [&] {
      return Pair{.run = answer, .counted = [](const PairOutcome&) {}, .rules = rules_, .signature = signature_};
    });
    runner.Drain();
    return counters_->Snapshot().pairs();
  }

  std::shared_ptr<const OutputRules> rules_;
  tensorflow::SignatureDef signature_;
};

TEST_F(PairsWithRules, CompareTheCandidateWithStableAndStableWithItself) {
  const auto run = [this](float candidate, float stable_before, float stable) {
    int runs_of_stable = 0;
    RunWithRules([&](Side side) {
      return Took(milliseconds(1),
                  side == Side::kCandidate ? candidate : (runs_of_stable++ == 0 ? stable_before : stable));
    });
  };
  run(1, 1, 1);
  run(7, 1, 1);
  run(7, 1, 1);
  run(1, 7, 1);
  run(1, 1, 7);
  const auto pairs = counters_->Snapshot().pairs();
  ASSERT_EQ(pairs.outputs_size(), 1);
  EXPECT_EQ(pairs.outputs(0).rule(), "scores: Equal");
  EXPECT_EQ(pairs.outputs(0).pairs(), 5);
  EXPECT_EQ(pairs.outputs(0).differs(), 2);
  EXPECT_EQ(pairs.outputs(0).noise(), 1) << "only stable's first run differs from its second one";
  EXPECT_EQ(pairs.outputs(0).both(), 1) << "stable's measured run differs from the other two";
  EXPECT_EQ(pairs.mismatched(), 0);
}

TEST_F(PairsWithRules, CompareStablesLastTwoRunsIfARunPlannedForNewShapes) {
  int runs_of_stable = 0;
  const auto pairs = RunWithRules([&](Side side) {
    const bool stable = side == Side::kStable;
    auto run = Took(milliseconds(1), stable && runs_of_stable++ == 0 ? 7 : 1);
    run->planned = stable && runs_of_stable == 2;
    return run;
  });
  EXPECT_EQ(runs_of_stable, 3);
  ASSERT_EQ(pairs.outputs_size(), 1);
  EXPECT_EQ(pairs.outputs(0).noise(), 0);
}

TEST_F(PairsWithRules, CountNoOutputsIfAVersionFails) {
  for (const Side failing : {Side::kCandidate, Side::kStable}) {
    const auto pairs = RunWithRules(
        [failing](Side side) -> Result<PairedRun> { return side == failing ? Internal("no") : Took(milliseconds(1)); });
    EXPECT_EQ(pairs.outputs_size(), 0);
  }
  bool first = true;
  const auto pairs = RunWithRules([&first](Side side) -> Result<PairedRun> {
    return side == Side::kStable && std::exchange(first, false) ? Internal("no") : Took(milliseconds(1));
  });
  ASSERT_EQ(pairs.outputs_size(), 1);
  EXPECT_EQ(pairs.outputs(0).pairs(), 0) << "stable cannot be compared with itself";
}

TEST_F(PairsWithRules, CountOutputsThatCannotBeStables) {
  const auto pairs = RunWithRules([](Side side) -> Result<PairedRun> {
    if (side == Side::kStable) return Took(milliseconds(1));
    return PairedRun{.outputs = {{"scores", Tensor::Of<float>({1, 3}, {1, 2, 3})}}, .run_time = milliseconds(1)};
  });
  EXPECT_EQ(pairs.mismatched(), 1);
  EXPECT_EQ(pairs.mismatch(), "output \"scores\": the candidate has DT_FLOAT [1,3], stable has DT_FLOAT [1,2]");
  EXPECT_EQ(pairs.outputs(0).differs(), 1);
}

// Only the last of three rows differs, in each answer. About a third of the pairs see it.
TEST_F(PairsWithRules, CompareOneRowThatTheOutputsDoNotChoose) {
  for (int i = 0; i < 300; ++i) {
    RunWithRules([](Side side) -> Result<PairedRun> {
      const float last = side == Side::kCandidate ? 7 : 1;
      return PairedRun{.outputs = {{"scores", Tensor::Of<float>({3, 2}, {1, 1, 1, 1, last, 1})}},
                       .run_time = milliseconds(1)};
    });
  }
  const auto pairs = counters_->Snapshot().pairs();
  EXPECT_EQ(pairs.outputs(0).pairs(), 300);
  EXPECT_NEAR(static_cast<double>(pairs.outputs(0).differs()), 100, 25);
}

TEST_F(Pairs, CountFailuresOfEachVersion) {
  const auto good = [](Side) { return Took(milliseconds(1)); };
  const auto fails = [&](Side which) {
    return [=](Side side) -> Result<PairedRun> { return side == which ? Internal("no") : good(side); };
  };
  const auto both = [](Side) -> Result<PairedRun> { return InvalidArgument("the request is wrong"); };
  EXPECT_EQ(Run(fails(Side::kCandidate)).candidate_failed(), 1);
  EXPECT_EQ(Run(fails(Side::kStable)).stable_failed(), 1);
  EXPECT_EQ(Run(both).both_failed(), 1);
  EXPECT_EQ(Run(good).pairs(), 4);
  EXPECT_THAT(outcomes_,
              ElementsAre(Kind::kCandidateFailed, Kind::kStableFailed, Kind::kBothFailed, Kind::kBothAnswered));
  EXPECT_EQ(counters_->Snapshot().drift().pairs(), 1) << "only of pairs that both answered";
}

TEST_F(Pairs, HaveTheCodesTheTimesAndTheLargestDifferenceOfTheirRuns) {
  Run([](Side side) {
    auto run = Took(milliseconds(1), side == Side::kCandidate ? 3 : 1);
    run->run_time = nanoseconds(1001);
    return run;
  });
  EXPECT_EQ(last_.candidate.time, std::chrono::microseconds(2)) << "rounded up, because 0 is the time of a failure";
  ASSERT_TRUE(last_.difference.largest);
  EXPECT_EQ(last_.difference.largest->absolute, 2);
  Run([](Side side) -> Result<PairedRun> { return side == Side::kCandidate ? Internal("no") : Took(milliseconds(1)); });
  EXPECT_EQ(last_.candidate.code, Code::kInternal);
  EXPECT_EQ(last_.candidate.time.count(), 0);
  EXPECT_EQ(last_.stable.code, Code::kOk);
  EXPECT_FALSE(last_.difference.largest);
}

TEST_F(Pairs, AnAnswerWithNanIsAFailure) {
  const auto pairs = Run([](Side side) { return Took(milliseconds(1), side == Side::kCandidate ? NAN : 1); });
  EXPECT_EQ(pairs.candidate_failed(), 1);
}

TEST_F(Pairs, AreDroppedIfTheNodeIsBusy) {
  for (const Code code : {Code::kUnavailable, Code::kDeadlineExceeded, Code::kResourceExhausted, Code::kCancelled}) {
    Run([code](Side side) -> Result<PairedRun> {
      return side == Side::kStable ? tl::make_unexpected(Error{code, "busy"}) : Took(milliseconds(1));
    });
  }
  EXPECT_EQ(counters_->Snapshot().pairs().dropped_busy(), 4);
  EXPECT_EQ(counters_->Snapshot().pairs().pairs(), 0);
  EXPECT_EQ(order_, "cscscscs") << "a pair that was not counted does not change the order";
}

TEST_F(Pairs, RunAgainIfARunPlannedForNewShapes) {
  int left = 2;
  const auto pairs = Run([&left](Side side) {
    const bool planned = side == Side::kCandidate && left-- > 0;
    auto run = Took(planned ? seconds(1) : milliseconds(1));
    run->planned = planned;
    return run;
  });
  EXPECT_EQ(order_, "cscscs");
  EXPECT_EQ(pairs.pairs(), 1);
  ASSERT_EQ(pairs.ratio_buckets_size(), 65);
  const auto again = Run([](Side) { return PairedRun{.outputs = {}, .run_time = milliseconds(1), .planned = true}; });
  EXPECT_EQ(again.pairs(), 1);
  EXPECT_EQ(again.dropped_busy(), 1);
}

TEST_F(Pairs, AreDroppedAboveTheBudget) {
  TimePoint now = kStart;
  PairRunner runner({.now = [&now] { return now; }});
  for (int i = 0; i < 10; ++i) {
    Offer(runner, [](Side) { return Took(seconds(2)); });
    runner.Drain();
  }
  EXPECT_EQ(counters_->pairs(), 2) << "each takes 8 of the 10 seconds of one slot; the length is not known before";
  EXPECT_EQ(counters_->Snapshot().pairs().dropped_budget(), 8);
  now += seconds(20);
  Offer(runner, [](Side) { return Took(seconds(2)); });
  runner.Drain();
  EXPECT_EQ(counters_->pairs(), 3);
}

TEST_F(Pairs, DoNotFavourTheVersionWhoseLastRunWasRecent) {
  // As with caches: a run is fast only if the last run of the same version was among the last two runs of the node.
  std::deque<Side> last = {Side::kStable, Side::kStable};
  const auto pairs = Run([&last](Side side) {
    const bool is_warm = std::ranges::count(last, side) > 0;
    last.pop_front();
    last.push_back(side);
    return Took(milliseconds(is_warm ? 1 : 10));
  });
  ASSERT_EQ(pairs.ratio_buckets_size(), 65);
  EXPECT_EQ(pairs.ratio_buckets(64), 1) << "a ratio of 1";
}

// A pair whose first run lasts until GoOn.
class HeldPair {
 public:
  auto Run() {
    return [this](Side) {
      if (std::exchange(first_, false)) {
        started_.set_value();
        go_on_.get_future().wait();
      }
      return Took(milliseconds(1));
    };
  }
  void WaitUntilItRuns() { started_.get_future().wait(); }
  void GoOn() { go_on_.set_value(); }

 private:
  bool first_ = true;
  std::promise<void> started_, go_on_;
};

TEST_F(Pairs, AreDroppedAboveTheirLimitsOfNumberAndMemory) {
  PairRunner runner({.waiting_max = 3, .bytes_max = 10});
  HeldPair held;
  Offer(runner, held.Run());
  held.WaitUntilItRuns();
  int made = 0;
  const auto make = [&made] {
    ++made;
    return Pair{[](Side) { return Took(milliseconds(1)); }, [](const PairOutcome&) {}};
  };
  runner.Offer(Terms(10), make);
  EXPECT_EQ(made, 0) << "there is room for 9 bytes";
  runner.Offer(Terms(8), make);
  runner.Offer(Terms(), make);
  runner.Offer(Terms(0), make);
  EXPECT_EQ(made, 2) << "three pairs are the limit";
  held.GoOn();
  runner.Drain();
  EXPECT_EQ(counters_->pairs(), 3);
  EXPECT_EQ(counters_->Snapshot().pairs().dropped_queue(), 2);
  runner.Offer(Terms(10), make);
  runner.Drain();
  EXPECT_EQ(counters_->pairs(), 4) << "the memory of ended pairs is free";
}

TEST_F(Pairs, ClearDropsThoseThatWait) {
  PairRunner runner;
  HeldPair held;
  Offer(runner, held.Run());
  held.WaitUntilItRuns();
  std::promise<void> dropped;
  Offer(runner, [guard = std::shared_ptr<void>(nullptr, [&](void*) { dropped.set_value(); })](Side) {
    return Took(milliseconds(1));
  });
  auto cleared = std::async(std::launch::async, [&runner] { runner.Clear(); });
  dropped.get_future().wait();
  held.GoOn();
  cleared.get();
  EXPECT_EQ(counters_->pairs(), 1);
  runner.Drain();
  EXPECT_EQ(counters_->pairs(), 1);
}

}  // namespace
}  // namespace longshore::evidence

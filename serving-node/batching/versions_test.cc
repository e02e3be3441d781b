// Measures, with the real scheduler, whether two equal versions of one model wait alike and are refused alike under
// overload, whatever their shares of the traffic are. Time is counted in ticks: in each tick a few requests arrive and
// one run ends.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <random>

#include "serving-node/batching/batching.h"
#include "tests/seeds/seeds.h"

namespace longshore::batching {
namespace {

// Holds each run until the test ends it.
class HeldModel final : public engine::LoadedModel {
 public:
  struct Held {
    engine::RunRequest request;
    engine::RunDone done;
  };
  explicit HeldModel(std::deque<Held>& held) : held_(held) {
    auto& signature = signatures_["serving_default"];
    for (auto* info : {&(*signature.mutable_inputs())["x"], &(*signature.mutable_outputs())["x"]}) {
      info->mutable_tensor_shape()->add_dim()->set_size(-1);
      info->set_dtype(tensorflow::DT_FLOAT);
    }
  }
  const google::protobuf::Map<std::string, tensorflow::SignatureDef>& signatures() const override {
    return signatures_;
  }
  int64_t memory_bytes() const override { return 0; }
  void Run(engine::RunRequest request, engine::RunDone done) override {
    held_.push_back({std::move(request), std::move(done)});
  }

 private:
  std::deque<Held>& held_;
  google::protobuf::Map<std::string, tensorflow::SignatureDef> signatures_;
};

#ifdef LONGSHORE_SANITIZER
constexpr int kTicks = 2'000;
#else
constexpr int kTicks = 40'000;
#endif

struct Load {
  double candidate_share = 0.5;
  int rows_per_batch = 1;
  double runs_asked_per_tick = 1.3;  // Above 1: overload.
  int ticks = kTicks;
};

struct Arm {
  double asked = 0;
  double refused = 0;
  double late = 0;  // Waited longer than kLate, of those that were not refused.
};

constexpr int kWaitingMax = 50;

// Returns stable and candidate.
std::array<Arm, 2> Simulate(const Load& load, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::deque<HeldModel::Held> held;
  std::array<Arm, 2> arms;
  Admission admission({.concurrent_runs_max = 1});
  const Options options{.max_batch_size = load.rows_per_batch, .queue_max = kWaitingMax};
  Queue stable(admission, std::make_shared<HeldModel>(held), options, "digits");
  Queue candidate(admission, std::make_shared<HeldModel>(held), options, "digits");
  int tick = 0;
  // A request is late if it waits longer than about half of the requests in a full queue do.
  const double late = 0.95 * kWaitingMax / load.rows_per_batch;
  const auto end_a_run = [&] {
    auto run = std::move(held.front());
    held.pop_front();
    run.done(engine::RunResult{.outputs = std::move(run.request.inputs)});
  };
  for (; tick < load.ticks; ++tick) {
    for (int n = std::poisson_distribution<int>(load.runs_asked_per_tick * load.rows_per_batch)(random); n > 0; --n) {
      const bool is_candidate = std::bernoulli_distribution(load.candidate_share)(random);
      Arm& arm = arms[is_candidate ? 1 : 0];
      arm.asked += 1;
      (is_candidate ? candidate : stable)
          .Submit({"serving_default", {{"x", tensor::Tensor::Of<float>({1}, {0})}}, {}}, {},
                  [&arm, &tick, late, arrived = tick](const Result<RunOutcome>& outcome) {
                    if (!outcome) arm.refused += 1;
                    if (outcome && tick - arrived > late) arm.late += 1;
                  });
    }
    if (!held.empty()) end_a_run();
  }
  while (!held.empty()) end_a_run();
  return arms;
}

// The number of standard deviations between the shares of such requests. The requests of a busy moment depend on each
// other, so the deviation is computed as if there were ten times fewer requests.
double Difference(const Arm& a, const Arm& b, double Arm::*what) {
  const double share = (a.*what + b.*what) / (a.asked + b.asked);
  if (share == 0) return 0;
  return (a.*what / a.asked - b.*what / b.asked) / std::sqrt(10 * share * (1 - share) * (1 / a.asked + 1 / b.asked));
}

void Print(const char* about, const Load& load, const Arm& stable, const Arm& candidate) {
  std::printf("%s, candidate %.0f %%: refused %.3f (stable), %.3f; late %.3f (stable), %.3f\n", about,
              100 * load.candidate_share, stable.refused / stable.asked, candidate.refused / candidate.asked,
              stable.late / stable.asked, candidate.late / candidate.asked);
}

TEST(EqualVersions, AreRefusedAndWaitAlikeWithoutBatching) {
  uint64_t seed = seeds::First(6);
  for (const double share : {0.05, 0.5, 0.75}) {
    for (const double asked : {0.97, 1.3}) {
      const Load load{.candidate_share = share, .rows_per_batch = 1, .runs_asked_per_tick = asked};
      const auto [stable, candidate] = Simulate(load, seed++);
      Print("unbatched", load, stable, candidate);
      EXPECT_TRUE(asked < 1 || stable.refused > 0);
      EXPECT_LT(std::abs(Difference(candidate, stable, &Arm::refused)), 4);
      EXPECT_LT(std::abs(Difference(candidate, stable, &Arm::late)), 4);
    }
  }
}

TEST(EqualVersions, AreRefusedAlikeWithBatching) {
  uint64_t seed = seeds::First(3);
  for (const double share : {0.05, 0.5, 0.75}) {
    const Load load{.candidate_share = share, .rows_per_batch = 8, .ticks = kTicks / 4};
    const auto [stable, candidate] = Simulate(load, seed++);
    Print("batches of 8", load, stable, candidate);
    EXPECT_GT(stable.refused, 0);
    EXPECT_LT(std::abs(Difference(candidate, stable, &Arm::refused)), 4);
  }
}

// The limit of waiting requests is that of the model. A request of a higher priority displaces one of the other version
// if its own version has none that waits.
TEST(Versions, ShareTheirLimitOfWaitingRequests) {
  std::deque<HeldModel::Held> held;
  Admission admission({.concurrent_runs_max = 1});
  Queue stable(admission, std::make_shared<HeldModel>(held), {.queue_max = 1}, "digits");
  Queue candidate(admission, std::make_shared<HeldModel>(held), {.queue_max = 1}, "digits");
  std::string ended;
  const auto ask = [&](Queue& queue, const std::string& name, int priority = 0) {
    queue.Submit({"serving_default", {{"x", tensor::Tensor::Of<float>({1}, {0})}}, {}}, {.priority = priority},
                 [&ended, name](const auto& outcome) { ended += name + (outcome ? " ran; " : " was refused; "); });
  };
  ask(stable, "running");
  ask(stable, "waiting");
  ask(candidate, "second");
  EXPECT_EQ(ended, "second was refused; ");
  ask(candidate, "urgent", 1);
  EXPECT_EQ(ended, "second was refused; waiting was refused; ");
  for (; !held.empty(); held.pop_front()) held.front().done(engine::RunResult{});
  EXPECT_EQ(ended, "second was refused; waiting was refused; running ran; urgent ran; ");
}

TEST(Versions, HaveLimitsOfTheirOwnIfTheirBatchesAreLimited) {
  std::deque<HeldModel::Held> held;
  Admission admission({.concurrent_runs_max = 1});
  const Options options{.queue_max = 1, .queue_batches_max = 1};
  Queue one(admission, std::make_shared<HeldModel>(held), options, "digits");
  Queue two(admission, std::make_shared<HeldModel>(held), options, "digits");
  int refused = 0;
  for (Queue* queue : {&one, &one, &two}) {
    queue->Submit({"serving_default", {{"x", tensor::Tensor::Of<float>({1}, {0})}}, {}}, {},
                  [&refused](const auto& outcome) { refused += outcome ? 0 : 1; });
  }
  for (; !held.empty(); held.pop_front()) held.front().done(engine::RunResult{});
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace longshore::batching

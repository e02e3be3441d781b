#include "serving-node/batching/turns.h"

#include <gtest/gtest.h>

#include <random>

namespace longshore::batching {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// A simulated node with slots, and with models that have fixed run times. Counts how long each model ran.
class Simulation {
 public:
  explicit Simulation(int slots) : slots_(slots) {}

  struct Model {
    std::shared_ptr<Waiter> queue;
    Duration run{0};  // The run time of each request of the model.
    Duration ran{0};
    Duration longest{0};
    Duration waited_max{0};
  };
  size_t AddModel(Duration run) {
    models_.push_back({std::make_shared<Waiter>(Options{}, std::make_shared<Share>()), run});
    return models_.size() - 1;
  }
  // Adds a queue that has the same share as the model `of`.
  size_t AddVersion(size_t of, Duration run) {
    models_.push_back({std::make_shared<Waiter>(Options{}, models_[of].queue->share), run});
    return models_.size() - 1;
  }

  void Ask(size_t model, int requests = 1) {
    for (int i = 0; i < requests; ++i) {
      Task task;
      task.submitted = now_;
      task.number = ++requests_;
      models_[model].queue->lane.Push(std::move(task));
    }
    turns_.Update(models_[model].queue);
    Start();
  }

  // Advances the time to the end of the next run, but not beyond `until`.
  void Advance(TimePoint until) {
    if (running_.empty() || running_.begin()->first > until) {
      now_ = std::max(now_, until);
      return;
    }
    const auto [end, run] = *running_.begin();
    running_.erase(running_.begin());
    now_ = end;
    Model& model = models_[run.model];
    model.ran += run.took;
    model.longest = std::max(model.longest, run.took);
    Turns::End(*model.queue->share, run.charged, run.took);
    Start();
  }
  void RunUntil(TimePoint until) {
    while (!running_.empty() && running_.begin()->first <= until) Advance(until);
    now_ = until;
  }

  TimePoint now() const { return now_; }
  Model& model(size_t at) { return models_[at]; }

 private:
  struct Running {
    size_t model;
    Duration charged;
    Duration took;
  };

  void Start() {
    while (running_.size() < static_cast<size_t>(slots_)) {
      const auto next = turns_.Next(now_);
      if (!next) return;
      size_t at = 0;
      while (models_[at].queue != next) ++at;
      Model& model = models_[at];
      const Batch batch = next->lane.Take(now_, {}).batch;
      model.waited_max = std::max(model.waited_max, now_ - batch.front().submitted);
      // The charge is sometimes 0 (nothing known) and otherwise less than the run time, as with Forecast.
      const Duration charged = requests_ % 3 == 0 ? Duration(0) : model.run / 2;
      turns_.Begin(*next, charged);
      turns_.MoveToEnd(next);
      running_.emplace(now_ + model.run, Running{at, charged, model.run});
    }
  }

  const int slots_;
  Turns turns_;
  std::vector<Model> models_;
  std::multimap<TimePoint, Running> running_;
  TimePoint now_{};
  uint64_t requests_ = 0;
};

TEST(Turns, ShareRunTimeRatherThanTheNumberOfRuns) {
  Simulation node(1);
  const size_t slow = node.AddModel(milliseconds(20));
  const size_t quick = node.AddModel(milliseconds(1));
  node.Ask(slow, 10000);
  node.Ask(quick, 10000);
  node.RunUntil(node.now() + std::chrono::seconds(4));
  EXPECT_NEAR(node.model(slow).ran / milliseconds(1), 2000, 40);
  EXPECT_NEAR(node.model(quick).ran / milliseconds(1), 2000, 40);
}

TEST(Turns, AFloodDelaysAnotherModelByAtMostTheCurrentRun) {
  Simulation node(1);
  const size_t flood = node.AddModel(milliseconds(5));
  const size_t modest = node.AddModel(milliseconds(5));
  node.Ask(flood, 10000);
  for (int i = 0; i < 50; ++i) {
    node.RunUntil(node.now() + milliseconds(23));
    node.Ask(modest);
  }
  EXPECT_LE(node.model(modest).waited_max, milliseconds(5));
}

TEST(Turns, AnIdleModelEarnsNoCredit) {
  Simulation node(1);
  const size_t busy = node.AddModel(milliseconds(1));
  const size_t idle = node.AddModel(milliseconds(1));
  node.Ask(busy, 10000);
  node.RunUntil(node.now() + std::chrono::seconds(1));
  const Duration before = node.model(busy).ran;
  node.Ask(idle, 10000);
  node.RunUntil(node.now() + std::chrono::seconds(1));
  EXPECT_NEAR((node.model(busy).ran - before) / milliseconds(1), 500, 5);
  EXPECT_NEAR(node.model(idle).ran / milliseconds(1), 500, 5);
}

TEST(Turns, QueuesWithTheSameShareSplitIt) {
  Simulation node(1);
  const size_t stable = node.AddModel(milliseconds(2));
  const size_t candidate = node.AddVersion(stable, milliseconds(3));
  const size_t other = node.AddModel(milliseconds(2));
  for (const size_t model : {stable, candidate, other}) node.Ask(model, 10000);
  node.RunUntil(node.now() + std::chrono::seconds(2));
  EXPECT_NEAR((node.model(stable).ran + node.model(candidate).ran) / milliseconds(1), 1000, 10);
  EXPECT_NEAR(node.model(other).ran / milliseconds(1), 1000, 10);
}

// Random models, slots and arrivals: the total run times of two models that always have work never differ by more than
// a few of their longest runs per slot.
TEST(Turns, KeepTheRunTimesOfBusyModelsClose) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    const int slots = 1 + static_cast<int>(random() % 4);
    Simulation node(slots);
    std::vector<size_t> busy, others;
    for (size_t i = 0; i < 2 + random() % 3; ++i) busy.push_back(node.AddModel(microseconds(100 + random() % 20000)));
    for (size_t i = 0; i < random() % 3; ++i) others.push_back(node.AddModel(microseconds(100 + random() % 5000)));
    for (const size_t model : busy) node.Ask(model, 20000);
    for (int i = 0; i < 300; ++i) {
      node.RunUntil(node.now() + microseconds(random() % 5000));
      if (!others.empty()) node.Ask(others[random() % others.size()], static_cast<int>(random() % 20));
      for (const size_t a : busy) {
        for (const size_t b : busy) {
          const Duration longest = node.model(a).run + node.model(b).run;
          ASSERT_LE(node.model(a).ran - node.model(b).ran, 2 * slots * longest);
        }
      }
    }
  }
}

}  // namespace
}  // namespace longshore::batching

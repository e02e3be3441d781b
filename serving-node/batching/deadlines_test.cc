// Tests deadlines end to end, with a queue in simulated time that the tests use as the scheduler does.
#include <gtest/gtest.h>

#include <random>

#include "serving-node/batching/lane.h"
#include "serving-node/batching/refusals.h"

namespace longshore::batching {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t kRowBytes = 4;

// A node with one model and one slot: a run takes `fixed` plus `row` per row.
class Node {
 public:
  Node(const Options& options, Duration fixed, Duration row) : lane_(options), fixed_(fixed), row_(row) {}

  struct Kind {
    int64_t rows = 1;
    Duration deadline{0};
    int priority = 0;
    int asked = 0;
    int in_time = 0;
    int late = 0;  // Answered after the deadline.
  };

  Duration Cost(int64_t rows) const { return fixed_ + rows * row_; }
  void SetCost(Duration fixed, Duration row) { fixed_ = fixed, row_ = row; }
  TimePoint now() const { return now_; }

  void Ask(Kind* kind, bool batched) {
    ++kind->asked;
    Task task;
    task.request.signature = "s";
    task.rows = kind->rows;
    task.bytes = kind->rows * kRowBytes;
    if (batched) task.key = "k";
    task.submitted = now_;
    task.number = ++requests_;
    task.terms.priority = kind->priority;
    task.terms.deadline = now_ + kind->deadline;
    kinds_[task.number] = kind;
    if (RefuseLate({&task, 1}, lane_, {1, now_}, &forecast_)) return;
    if (lane_.HasRoom(task.key, task.rows, 1)) lane_.Push(std::move(task));
    Start();
  }

  void RunUntil(TimePoint until) {
    while (!batch_.empty() && ends_ <= until) {
      now_ = ends_;
      int64_t rows = 0;
      for (const Task& task : batch_) rows += task.rows;
      forecast_.Record("s", rows * kRowBytes, ends_ - began_, now_);
      for (const Task& task : batch_)
        ++(now_ <= task.terms.deadline ? kinds_[task.number]->in_time : kinds_[task.number]->late);
      batch_.clear();
      Start();
    }
    now_ = until;
    lane_.TakeExpired(now_);
  }

 private:
  void Start() {
    while (batch_.empty() && lane_.size() > 0 && *lane_.ReadyAt() <= now_) batch_ = lane_.Take(now_, forecast_).batch;
    int64_t rows = 0;
    for (const Task& task : batch_) rows += task.rows;
    if (batch_.empty() || ends_ > now_) return;
    began_ = now_;
    ends_ = now_ + Cost(rows);
  }

  Lane lane_;
  Forecast forecast_;
  Duration fixed_, row_;
  Batch batch_;
  TimePoint now_{hours_}, began_{}, ends_{};
  static constexpr std::chrono::hours hours_{1};
  uint64_t requests_ = 0;
  std::map<uint64_t, Kind*> kinds_;
};

struct World {
  int64_t rows_max = 1;
  Duration fixed{0}, row{0};
  bool batched() const { return rows_max > 1; }
};

World AnyWorld(std::mt19937& random) {
  return {.rows_max = random() % 3 == 0 ? 1 : int64_t{2} << (random() % 6),
          .fixed = microseconds(200 + random() % 20000),
          .row = microseconds(10 + random() % 2000)};
}

// The load is four times what the node can serve: many requests with late deadlines, and now and then an urgent one of
// high priority that could be in time alone. Urgent requests continue to be answered, most of the capacity is used for
// answers in time, and few answers are late.
TEST(Deadlines, AreMetOrRefusedEarlyUnderOverload) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 12; ++round) {
    const World world = AnyWorld(random);
    Node node({.max_batch_size = static_cast<int>(world.rows_max), .queue_max = 1 << 20}, world.fixed, world.row);
    const Duration full = node.Cost(world.rows_max);
    SCOPED_TRACE(testing::Message() << "round " << round << ", rows " << world.rows_max << ", full "
                                    << full / microseconds(1));
    Node::Kind crowd{.rows = 1, .deadline = std::min<Duration>(full * (3 + random() % 20), 8 * kHeadStart)};
    Node::Kind hurried{.rows = 1, .deadline = full + 2 * node.Cost(1), .priority = 9};
    const TimePoint end = node.now() + 400 * full;
    const Duration gap = full / (4 * world.rows_max);
    for (int i = 0; node.now() < end; ++i) {
      node.Ask(i % (40 * world.rows_max) == 0 ? &hurried : &crowd, world.batched());
      node.RunUntil(node.now() + gap);
    }
    const double could = 400.0 * static_cast<double>(world.rows_max);
    EXPECT_GE(crowd.in_time + hurried.in_time, 0.8 * could);
    EXPECT_LE(crowd.late + hurried.late, 0.05 * could);
    EXPECT_GE(hurried.in_time, 0.1 * hurried.asked) << "of " << hurried.asked;
  }
}

// A model is slow for a while, so requests with near deadlines are refused. Soon after it recovers they are served
// again, even while requests of the same size with late deadlines keep the model busy.
TEST(Deadlines, AreMetAgainAfterAModelHasRecovered) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 30; ++round) {
    const World world = AnyWorld(random);
    Node node({.max_batch_size = static_cast<int>(world.rows_max), .queue_max = 1 << 20}, world.fixed, world.row);
    Node::Kind patient{.rows = 1, .deadline = seconds(100)};
    Node::Kind before{.rows = 1, .deadline = 3 * node.Cost(1)}, after = before;
    for (const bool slow : {true, false}) {
      if (slow) node.SetCost(20 * world.fixed, 20 * world.row);
      if (!slow) node.SetCost(world.fixed, world.row);
      const Duration gap = 3 * node.Cost(1);
      const TimePoint end = node.now() + seconds(30);
      for (int i = 0; node.now() < end; ++i) {
        node.Ask(i % 2 == 0 ? &patient : slow ? &before : &after, world.batched());
        node.RunUntil(node.now() + gap);
      }
    }
    EXPECT_LE(before.late, 31) << "one probe per second";
    EXPECT_GE(after.in_time, 0.8 * after.asked);
  }
}

// The run time depends on more than the size of a request: quick requests are not refused forever, although slow
// requests of the same size with late deadlines keep running.
TEST(Deadlines, AreSometimesMetAlthoughOthersOfTheSameSizeAreSlow) {
  Node node({.queue_max = 1000}, milliseconds(100), Duration(0));
  Node::Kind slow{.rows = 1, .deadline = seconds(100)};
  Node::Kind quick{.rows = 1, .deadline = milliseconds(50)};
  for (int i = 0; i < 600; ++i) {
    node.SetCost(milliseconds(100), Duration(0));
    node.Ask(&slow, false);
    node.RunUntil(node.now() + milliseconds(150));
    node.SetCost(milliseconds(10), Duration(0));
    node.Ask(&quick, false);
    node.RunUntil(node.now() + milliseconds(150));
  }
  EXPECT_GE(quick.in_time, 200);
}

}  // namespace
}  // namespace longshore::batching

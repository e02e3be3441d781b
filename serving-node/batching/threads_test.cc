// Several threads use the queues of a node at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <random>
#include <thread>

#include "serving-node/batching/batching.h"
#include "serving-node/batching/scheduler.h"
#include "tests/seeds/seeds.h"

namespace longshore::batching {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

#ifdef LONGSHORE_SANITIZER
constexpr int kEffort = 1;
#else
constexpr int kEffort = 10;
#endif

engine::RunRequest RequestOf(const std::vector<float>& numbers) {
  return {"serving_default", {{"x", tensor::Tensor::Of<float>({static_cast<int64_t>(numbers.size())}, numbers)}}, {}};
}

// The runs that the models of a test have begun and not ended.
class Device {
 public:
  struct Held {
    engine::RunRequest request;
    engine::RunDone done;
  };

  void Begin(engine::RunRequest request, engine::RunDone done) {
    const int now = running_.fetch_add(1) + 1;
    for (int most = most_; most < now && !most_.compare_exchange_weak(most, now);) {
    }
    const std::lock_guard lock(mutex_);
    held_.push_back({std::move(request), std::move(done)});
    changed_.notify_all();
  }
  // Ends the run that began first. Waits up to half a minute until there is one, or until `no_more`; returns whether
  // there was one.
  template <typename Condition>
  bool EndOne(Condition no_more) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, seconds(30), [&] { return !held_.empty() || no_more(); });
    if (held_.empty()) return false;
    Held run = std::move(held_.front());
    held_.pop_front();
    lock.unlock();
    running_ -= 1;
    const auto numbers = run.request.inputs.at("x").values<float>();
    const bool poisoned = std::ranges::find(numbers, kPoison) != numbers.end();
    if (poisoned) {
      run.done(InvalidArgument("poison"));
    } else {
      run.done(engine::RunResult{.outputs = std::move(run.request.inputs)});
    }
    return true;
  }
  void Wake() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  int most() const { return most_; }

  static constexpr float kPoison = -1;

 private:
  std::atomic<int> running_ = 0;
  std::atomic<int> most_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Held> held_;
};

// Returns its input.
class Model final : public engine::LoadedModel {
 public:
  explicit Model(Device& device) : device_(device) {
    auto& signature = signatures_["serving_default"];
    for (auto* info : {&(*signature.mutable_inputs())["x"], &(*signature.mutable_outputs())["x"]}) {
      info->mutable_tensor_shape()->add_dim()->set_size(-1);
      info->set_dtype(tensorflow::DT_FLOAT);
    }
  }
  const engine::Signatures& signatures() const override { return signatures_; }
  int64_t memory_bytes() const override { return 0; }
  void Run(engine::RunRequest request, engine::RunDone done) override {
    device_.Begin(std::move(request), std::move(done));
  }

 private:
  Device& device_;
  engine::Signatures signatures_;
};

// A request whose slot is freed while it enters its queue must start: nothing else would start it. At random, a request
// waits already, or is cancelled, or runs in the background, or half a batch waits for its other half.
TEST(Threads, NoRequestWaitsBesideAFreeSlot) {
  std::mt19937 random(static_cast<unsigned>(seeds::First()));
  Device device;
  Admission admission({.concurrent_runs_max = 1});
  Queue alone(admission, std::make_shared<Model>(device), {});
  Queue in_pairs(admission, std::make_shared<Model>(device), {.max_batch_size = 2, .max_delay = std::chrono::hours(1)});
  for (int round = 0; round < 1000 * kEffort; ++round) {
    std::atomic<int> left = 1;  // One until the client has submitted all.
    const auto answered = [&](const auto&) {
      if (left.fetch_sub(1) == 1) device.Wake();
    };
    const auto ask = [&](Queue& queue, const Terms& terms = {}) {
      left += 1;
      queue.Submit(RequestOf({1}), terms, answered);
    };
    std::stop_source cancelled;
    const bool pairs = random() % 2 == 0;
    if (pairs) ask(in_pairs);
    ask(alone);
    if (random() % 2 == 0) ask(alone, {.cancelled = cancelled.get_token()});
    std::thread client([&, delay = random() % 400, requests = random() % 3, background = random() % 4 == 0] {
      for (std::atomic<unsigned> spin = 0; spin < delay;) ++spin;
      if (pairs) ask(in_pairs);
      for (unsigned i = 0; i < requests; ++i) ask(alone, {.background = background && i == 0});
      answered(0);
    });
    if (random() % 2 == 0) cancelled.request_stop();
    while (device.EndOne([&] { return left == 0; })) {
    }
    client.join();
    ASSERT_EQ(left, 0) << "round " << round;
  }
}

// No run ends here, so requests leave their queues only because the timer looks at them.
TEST(Threads, RequestsExpireWhileAllSlotsAreTaken) {
  constexpr int kSlots = 2;
  Device device;
  Admission admission({.concurrent_runs_max = kSlots});
  Queue alone(admission, std::make_shared<Model>(device), {});
  Queue in_pairs(admission, std::make_shared<Model>(device), {.max_batch_size = 2, .max_delay = std::chrono::hours(1)});
  std::atomic<int> ran = 0;
  for (int i = 0; i < kSlots; ++i) {
    alone.Submit(RequestOf({1}), {}, [&](const Result<RunOutcome>& outcome) { ran += outcome ? 1 : 0; });
  }
  const auto client = [&](uint64_t seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int round = 0; round < 20 * kEffort; ++round) {
      std::vector<std::future<Code>> answers;
      for (auto requests = 1 + random() % 3; requests > 0; --requests) {
        const auto answer = std::make_shared<std::promise<Code>>();
        answers.push_back(answer->get_future());
        const Terms terms{.deadline = steady_clock::now() + microseconds(random() % 3000)};
        (random() % 2 == 0 ? alone : in_pairs)
            .Submit(RequestOf({1}), terms, [answer](const Result<RunOutcome>& outcome) {
              answer->set_value(outcome ? Code::kOk : outcome.error().code);
            });
      }
      for (auto& answer : answers) {
        ASSERT_EQ(answer.wait_for(seconds(30)), std::future_status::ready);
        EXPECT_EQ(answer.get(), Code::kDeadlineExceeded);
      }
    }
  };
  std::vector<std::thread> clients;
  const uint64_t seed = seeds::First(4);
  for (uint64_t i = 0; i < 4; ++i) clients.emplace_back(client, seed + i);
  for (auto& one : clients) one.join();
  EXPECT_EQ(admission.load().queued, 0);
  EXPECT_EQ(admission.load().running, kSlots);
  while (device.EndOne([] { return true; })) {
  }
  EXPECT_EQ(ran, kSlots);
}

StatePtr QueueOf(Scheduler& scheduler, Device& device, const Options& options, const std::string& share) {
  return std::make_shared<QueueState>(std::make_shared<Model>(device), options, scheduler.GetShare(share), nullptr);
}

// Requests of one row, all of which may run together.
void Ask(Scheduler& scheduler, const StatePtr& queue, Done done) {
  Task task{.request = RequestOf({1}), .done = std::move(done), .submitted = steady_clock::now()};
  task.rows = 1;
  task.bytes = sizeof(float);
  task.key = "x";
  scheduler.Submit(queue, {&task, 1}, task.submitted);
}

// Requests wait for hours for their batch to fill, unless their queue is drained. At random, they enter the queue
// before Drain, while it looks at the queue, or after that.
TEST(Threads, RequestsThatComeDuringADrainAreAnsweredOnce) {
  std::mt19937 random(static_cast<unsigned>(seeds::First()));
  Device device;
  const auto scheduler = std::make_shared<Scheduler>(Limits{.concurrent_runs_max = 1});
  for (int round = 0; round < 500 * kEffort; ++round) {
    const StatePtr queue =
        QueueOf(*scheduler, device, {.max_batch_size = 4, .max_delay = std::chrono::hours(1)}, "model");
    std::atomic<int> left = 2;  // The two threads below, and the requests without an answer.
    std::array<std::atomic<int>, 8> answers{};
    const auto end = [&] {
      if (left.fetch_sub(1) == 1) device.Wake();
    };
    const auto ask = [&](size_t request) {
      left += 1;
      Ask(*scheduler, queue, [&, request](const Result<RunOutcome>& outcome) {
        EXPECT_TRUE(outcome);
        answers.at(request) += 1;
        end();
      });
    };
    const size_t before = random() % 4, all = before + random() % 5;
    for (size_t i = 0; i < before; ++i) ask(i);
    std::thread client([&, delay = random() % 400] {
      for (std::atomic<unsigned> spin = 0; spin < delay;) ++spin;
      for (size_t i = before; i < all; ++i) ask(i);
      end();
    });
    std::thread drain([&, delay = random() % 400] {
      for (std::atomic<unsigned> spin = 0; spin < delay;) ++spin;
      scheduler->Drain(queue);
      for (size_t i = 0; i < before; ++i) EXPECT_EQ(answers.at(i), 1) << "Drain waits for the requests before it";
      end();
    });
    while (device.EndOne([&] { return left == 0; })) {
    }
    ASSERT_EQ(left, 0) << "round " << round;
    client.join();
    drain.join();
    for (size_t i = 0; i < all; ++i) ASSERT_EQ(answers.at(i), 1) << "round " << round;
  }
  scheduler->Stop();
}

void ExpectSameCounters(const Load& a, const Load& b) {
  EXPECT_EQ(a.started, b.started);
  EXPECT_EQ(a.refused, b.refused);
  EXPECT_EQ(a.queue_seconds, b.queue_seconds);
  EXPECT_EQ(a.busy_seconds, b.busy_seconds);
}

TEST(Threads, TheLoadIsTheSumOfTheSharesAlsoAfterTheyEnd) {
  Device device;
  const auto scheduler = std::make_shared<Scheduler>(Limits{.concurrent_runs_max = 2});
  std::vector<StatePtr> queues;
  for (const char* share : {"a", "a", "b", "c"}) queues.push_back(QueueOf(*scheduler, device, {.queue_max = 4}, share));
  std::atomic<int> left = 4, ran = 0, refused = 0;  // `left`: the clients, and the requests without an answer.
  const auto ask = [&](size_t queue) {
    left += 1;
    Ask(*scheduler, queues.at(queue), [&](const Result<RunOutcome>& outcome) {
      (outcome ? ran : refused) += 1;
      if (left.fetch_sub(1) == 1) device.Wake();
    });
  };
  for (int i = 0; i < 7; ++i) ask(0);
  EXPECT_EQ(refused, 1) << "two run, and four wait";
  std::vector<std::thread> clients;
  for (size_t i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      for (size_t request = 0; request < 500 * kEffort; ++request) ask((i + request) % queues.size());
      if (left.fetch_sub(1) == 1) device.Wake();
    });
  }
  while (device.EndOne([&] { return left == 0; })) {
  }
  for (auto& client : clients) client.join();
  const Load total = scheduler->load();
  EXPECT_EQ(total.started, ran);
  EXPECT_EQ(total.refused, refused);
  EXPECT_EQ(ran + refused, 7 + 4 * 500 * kEffort);
  Usage sum;
  for (const char* share : {"a", "b", "c"}) sum.Add(scheduler->GetShare(share)->usage, steady_clock::now());
  Load of_shares;
  sum.WriteTo(&of_shares);
  ExpectSameCounters(of_shares, total);
  queues.clear();
  scheduler->GetShare("d");  // Removes the shares that have no queue any more.
  ExpectSameCounters(scheduler->load(), total);
  scheduler->Stop();
}

// Clients on several threads, which do random things, and a record of their answers.
class Hammer {
 public:
  struct Shape {
    int queues = 1;
    int queues_per_model = 1;
    int max_batch_size = 1;
    int slots = 2;
    bool changes_limits = false;
  };
  static constexpr int kSlotsMax = 4;
  static constexpr int kQueueMax = 8;  // The limit of waiting requests for all queues of one model together.

  explicit Hammer(const Shape& shape) : shape_(shape), queues_(static_cast<size_t>(shape.queues)) {
    for (size_t at = 0; at < queues_.size(); ++at) Replace(at);
  }

  void Run() {
    std::vector<std::thread> clients, devices;
    const auto seed = static_cast<unsigned>(seeds::First(4));
    for (int i = 0; i < 2; ++i) devices.emplace_back([this] { EndRuns(); });
    for (unsigned i = 0; i < 4; ++i) clients.emplace_back([this, i, seed] { Client(seed + i); });
    std::thread reader([this] { ReadLoad(); });
    for (auto& client : clients) client.join();
    queues_.clear();  // Waits for the answers.
    stopping_ = true;
    reader.join();
    device_.Wake();
    for (auto& one : devices) one.join();
  }

  void Expect() {
    EXPECT_EQ(asked_, answered_);
    EXPECT_EQ(wrong_, 0) << "answers with the rows of another request, or a second answer";
    EXPECT_GT(ran_, 0);
    EXPECT_EQ(admission_.load().running, 0);
    EXPECT_EQ(admission_.load().queued, 0);
    EXPECT_LE(device_.most(), shape_.changes_limits ? kSlotsMax : shape_.slots);
    EXPECT_GT(device_.most(), 1);
  }

 private:
  std::shared_ptr<Queue> Get(size_t at) {
    const std::lock_guard lock(mutex_);
    return queues_[at];
  }
  // Drains the queue, when its last user has let go of it, while another one takes its place.
  void Replace(size_t at) {
    const std::string share = std::to_string(at / static_cast<size_t>(shape_.queues_per_model));
    auto queue = std::make_shared<Queue>(admission_, std::make_shared<Model>(device_),
                                         Options{.max_batch_size = shape_.max_batch_size,
                                                 .max_delay = microseconds(shape_.max_batch_size > 1 ? 300 : 0),
                                                 .queue_max = kQueueMax,
                                                 .request_rows_max = 3 * shape_.max_batch_size},
                                         share);
    const std::lock_guard lock(mutex_);
    queues_[at].swap(queue);
  }

  void Client(unsigned seed) {
    std::mt19937 random(seed);
    std::deque<std::stop_source> sources;
    for (int i = 0; i < 400 * kEffort; ++i) {
      const size_t at = random() % queues_.size();
      Terms terms{.priority = static_cast<int>(random() % 3), .background = random() % 16 == 0};
      if (random() % 4 == 0) terms.deadline = steady_clock::now() + microseconds(random() % 3000);
      if (random() % 4 == 0) terms.deadline = steady_clock::now() + seconds(60);
      if (terms.background)
        terms.deadline = std::min(terms.deadline, steady_clock::now() + std::chrono::milliseconds(5));
      if (random() % 2 == 0) terms.cancelled = sources.emplace_back().get_token();
      Ask(*Get(at), std::vector<float>(1 + random() % 6, random() % 64 == 0 ? Device::kPoison : Number()), terms);
      if (random() % 8 == 0) {
        for (auto& source : sources) source.request_stop();
        sources.clear();
      }
      if (random() % 64 == 0) Replace(at);
      if (shape_.changes_limits && random() % 32 == 0) ChangeLimits(random());
      if (random() % 32 == 0) WaitForAnswers();
    }
  }

  void Ask(Queue& queue, const std::vector<float>& numbers, const Terms& terms) {
    asked_ += 1;
    const auto answers = std::make_shared<std::atomic<int>>(0);
    queue.Submit(RequestOf(numbers), terms, [this, numbers, answers](const Result<RunOutcome>& outcome) {
      if (answers->fetch_add(1) != 0) wrong_ += 1;
      if (outcome) {
        const auto values = outcome->outputs.at("x").values<float>();
        if (!std::ranges::equal(values, numbers) || numbers[0] == Device::kPoison) wrong_ += 1;
        ran_ += 1;
      }
      answered_ += 1;
      answered_.notify_all();
    });
  }

  void WaitForAnswers() {
    const int64_t until = asked_;
    for (int64_t now = answered_; now < until; now = answered_) answered_.wait(now);
  }

  void ChangeLimits(unsigned draw) {
    admission_.SetLimits({.concurrent_runs_max = 1 + static_cast<int>(draw % kSlotsMax),
                          .simulated_run = microseconds(draw % 16 == 0 ? 200 : 0)});
  }

  void EndRuns() {
    while (!stopping_) device_.EndOne([this] { return stopping_.load(); });
  }

  void ReadLoad() {
    Load last;
    while (!stopping_) {
      const Load load = admission_.load();
      EXPECT_GE(load.started, last.started);
      EXPECT_GE(load.refused, last.refused);
      EXPECT_GE(load.queue_seconds, last.queue_seconds);
      EXPECT_GE(load.busy_seconds, last.busy_seconds);
      EXPECT_GE(load.running, 0);
      EXPECT_LE(load.running, shape_.changes_limits ? kSlotsMax : shape_.slots);
      EXPECT_GE(load.queued, 0);
      // The requests of failed batches wait again, whatever the limit is.
      if (shape_.max_batch_size == 1) {
        EXPECT_LE(load.queued, kQueueMax * shape_.queues / shape_.queues_per_model);
      }
      last = load;
      std::this_thread::yield();
    }
  }

  float Number() { return static_cast<float>(numbers_.fetch_add(1) % 1'000'000); }

  const Shape shape_;
  Device device_;
  Admission admission_{{.concurrent_runs_max = shape_.slots}};
  std::mutex mutex_;
  std::vector<std::shared_ptr<Queue>> queues_;  // Guarded by mutex_ while clients run.
  std::atomic<bool> stopping_ = false;
  std::atomic<int64_t> numbers_ = 0, asked_ = 0, answered_ = 0, ran_ = 0, wrong_ = 0;
};

TEST(Threads, AreAnsweredOnceByOneQueue) {
  Hammer hammer({.queues = 1});
  hammer.Run();
  hammer.Expect();
}

TEST(Threads, AreAnsweredOnceByOneQueueWithBatches) {
  Hammer hammer({.queues = 1, .max_batch_size = 4});
  hammer.Run();
  hammer.Expect();
}

TEST(Threads, AreAnsweredOnceByManyQueues) {
  Hammer hammer({.queues = 6, .queues_per_model = 2});
  hammer.Run();
  hammer.Expect();
}

TEST(Threads, AreAnsweredOnceByManyQueuesWithBatchesWhileLimitsChange) {
  Hammer hammer({.queues = 6, .queues_per_model = 2, .max_batch_size = 4, .changes_limits = true});
  hammer.Run();
  hammer.Expect();
}

}  // namespace
}  // namespace longshore::batching

#include "tests/bench/throughput.h"

#include <atomic>
#include <mutex>
#include <semaphore>
#include <thread>

#include "tests/bench/cpu_time.h"

namespace longshore::bench {
namespace {

using Time = std::chrono::steady_clock;

class Loop {
 public:
  Loop(load::Client& client, size_t samples) : client_(client), samples_(samples) {}

  void Send() {
    const size_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
    client_.Send({.sample = turn % samples_, .key = std::nullopt}, [this](const load::Reply& reply) { Take(reply); });
  }

  int64_t answered() const { return answered_.load(std::memory_order_relaxed); }
  void Stop(int outstanding) {
    stopping_ = true;
    for (int i = 0; i < outstanding; ++i) ended_.acquire();
  }
  void Report(Throughput* throughput) {
    const std::lock_guard lock(mutex_);
    throughput->failed = failed_;
    throughput->first_failure = first_failure_;
  }

 private:
  void Take(const load::Reply& reply) {
    if (reply.code == Code::kOk) answered_.fetch_add(1, std::memory_order_relaxed);
    if (reply.code != Code::kOk) Note(reply);
    if (stopping_) return ended_.release();
    Send();
  }

  void Note(const load::Reply& reply) {
    const std::lock_guard lock(mutex_);
    if (failed_++ == 0) first_failure_ = reply.message;
  }

  load::Client& client_;
  const size_t samples_;
  std::atomic<size_t> turn_ = 0;
  std::atomic<int64_t> answered_ = 0;
  std::atomic<bool> stopping_ = false;
  std::counting_semaphore<> ended_{0};
  std::mutex mutex_;
  int64_t failed_ = 0;
  std::string first_failure_;
};

}  // namespace

Throughput Measure(load::Client& client, size_t samples, const Pressure& pressure) {
  Loop loop(client, samples);
  for (int i = 0; i < pressure.outstanding; ++i) loop.Send();
  std::this_thread::sleep_for(pressure.warm_up);
  const int64_t before = loop.answered();
  const double cpu_before = CpuSecondsOf(pressure.server);
  const auto begin = Time::now();
  std::this_thread::sleep_for(pressure.measured);
  Throughput throughput;
  throughput.answered = loop.answered() - before;
  throughput.seconds = std::chrono::duration<double>(Time::now() - begin).count();
  throughput.server_cpu_seconds = CpuSecondsOf(pressure.server) - cpu_before;
  loop.Stop(pressure.outstanding);
  loop.Report(&throughput);
  return throughput;
}

}  // namespace longshore::bench

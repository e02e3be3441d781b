// How soon the host knows that the device has finished, for each way to learn it.
//
// The last kernel sets a flag in pinned memory. The main thread polls the flag, and the latency is the time from then
// until the way under test has reported the end.
#include <atomic>
#include <ctime>
#include <thread>

#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

constexpr int kSamples = 200;
constexpr int64_t kKernelNs = 200'000;

class Race {
 public:
  // Waits until the flag is set, and then until `finished` is not 0; returns the time between the two.
  template <class Poll>
  double LatencyUs(const Poll& poll) {
    while (*Flag() == 0) {
    }
    const double flag_us = NowUs();
    poll();
    while (finished_us_ == 0) {
    }
    return finished_us_ - flag_us;
  }

  // Starts the kernel, and records the event behind it.
  void Launch() {
    *Flag() = 0;
    finished_us_ = 0;
    Check(LaunchSpinThenFlag(kKernelNs, Flag(), stream()));
  }

  void Finished() { finished_us_ = NowUs(); }
  cudaStream_t stream() const { return stream_.get(); }

 private:
  volatile int* Flag() const { return static_cast<volatile int*>(flag_.get()); }

  Stream stream_ = MakeStream();
  PinnedMemory flag_ = MakePinnedMemory(sizeof(int));
  std::atomic<double> finished_us_ = 0;
};

Samples PollEvent(Race& race) {
  const Event event = MakeEvent(cudaEventDisableTiming);
  Samples latencies;
  for (int i = 0; i < kSamples; ++i) {
    race.Launch();
    Check(cudaEventRecord(event.get(), race.stream()));
    latencies.push_back(race.LatencyUs([&] {
      while (cudaEventQuery(event.get()) == cudaErrorNotReady) {
      }
      race.Finished();
    }));
  }
  return latencies;
}

Samples Callback(Race& race) {
  Samples latencies;
  for (int i = 0; i < kSamples; ++i) {
    race.Launch();
    Check(cudaLaunchHostFunc(
        race.stream(), [](void* one) { static_cast<Race*>(one)->Finished(); }, &race));
    latencies.push_back(race.LatencyUs([] {}));
    Check(cudaStreamSynchronize(race.stream()));
  }
  return latencies;
}

double ProcessorUs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// Another thread waits in cudaEventSynchronize. `processor_us`: the processor time of the wait.
Samples Synchronize(Race& race, unsigned flags, Samples& processor_us) {
  const Event event = MakeEvent(cudaEventDisableTiming | flags);
  Samples latencies;
  for (int i = 0; i < kSamples; ++i) {
    race.Launch();
    Check(cudaEventRecord(event.get(), race.stream()));
    std::thread waiter([&] {
      const double before = ProcessorUs();
      cudaEventSynchronize(event.get());
      race.Finished();
      processor_us.push_back(ProcessorUs() - before);
    });
    latencies.push_back(race.LatencyUs([] {}));
    waiter.join();
  }
  return latencies;
}

void WriteSynchronize(Race& race, const char* name, unsigned flags) {
  Samples processor_us;
  const Samples latencies = Synchronize(race, flags, processor_us);
  Fact(name).WithTimes("latency", latencies).WithTimes("processor", processor_us);
}

// The price of one call on the host.
void WriteCalls(Race& race) {
  const Event event = MakeEvent(cudaEventDisableTiming);
  const auto query = [&] { cudaEventQuery(event.get()); };
  Check(LaunchSpin(5'000'000, 1, race.stream()));
  const Samples record = HostTimes(kSamples, [&] { Check(cudaEventRecord(event.get(), race.stream())); });
  const Samples pending = HostTimes(kSamples, query);
  const bool was_pending = cudaEventQuery(event.get()) == cudaErrorNotReady;
  Check(cudaStreamSynchronize(race.stream()));
  const Samples host_function = HostTimes(kSamples, [&] {
    Check(cudaLaunchHostFunc(
        race.stream(), [](void*) {}, nullptr));
  });
  Check(cudaStreamSynchronize(race.stream()));
  Fact("calls")
      .WithTimes("event_record", record)
      .WithTimes("query_of_pending_event", pending)
      .With("was_pending", was_pending)
      .WithTimes("query_of_finished_event", HostTimes(kSamples, query))
      .WithTimes("launch_host_function", host_function);
}

void Measure() {
  Race race;
  Callback(race);  // Warms up.
  Fact("polled event").WithTimes("latency", PollEvent(race));
  Fact("host function").WithTimes("latency", Callback(race));
  WriteSynchronize(race, "event synchronize, thread sleeps", cudaEventBlockingSync);
  WriteSynchronize(race, "event synchronize, thread spins", 0);
  WriteCalls(race);
}

}  // namespace
}  // namespace longshore::gpu

int main() { return longshore::gpu::RunPart(longshore::gpu::Measure); }

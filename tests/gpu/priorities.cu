// Whether a small kernel in a stream of high priority waits for long work in a stream of low priority.
#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

constexpr int kSamples = 100;

// Work that keeps the device busy in a stream of low priority.
struct Background {
  const char* name;
  int kernels;
  int waves;  // A wave has as many blocks as the multiprocessors can execute at once. 0: one block.
  int64_t block_ns;
};
constexpr Background kBackgrounds[] = {
    {"nothing", 0, 0, 0},
    {"one block of 5 ms", 1, 0, 5'000'000},
    {"one wave of blocks of 5 ms", 1, 1, 5'000'000},
    {"one kernel of 100 waves of blocks of 50 us", 1, 100, 50'000},
    {"100 kernels of one wave of blocks of 50 us", 100, 1, 50'000},
};

class Rivals {
 public:
  Rivals() {
    int lowest = 0, highest = 0;
    Check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    Fact("stream priorities").With("lowest", lowest).With("highest", highest);
    low_ = MakeStream(lowest);
    same_ = MakeStream(lowest);
    high_ = MakeStream(highest);
    for (const Stream* stream : {&same_, &high_}) {
      exec_.push_back(Instantiate(Capture(stream->get(), [&] {
        for (int i = 0; i < kKernelsOfGraph; ++i) Check(LaunchTiny(word(), stream->get()));
      })));
    }
  }

  void Write(const Background& background) {
    const auto kernel = [&](const Stream& stream) { return [&] { Check(LaunchTiny(word(), stream.get())); }; };
    const auto graph = [&](const Stream& stream, size_t exec) {
      return [&, exec] { Check(cudaGraphLaunch(exec_[exec].get(), stream.get())); };
    };
    Fact("latency beside work of low priority")
        .With("background", background.name)
        .With("samples", kSamples)
        .WithMedian("kernel_of_low_priority", Latencies(background, same_, kernel(same_)))
        .WithMedian("kernel_of_high_priority", Latencies(background, high_, kernel(high_)))
        .WithMedian("graph_of_20_of_low_priority", Latencies(background, same_, graph(same_, 0)))
        .WithMedian("graph_of_20_of_high_priority", Latencies(background, high_, graph(high_, 1)))
        .WithMedian("low_priority_graph_in_high_priority_stream", Latencies(background, high_, graph(high_, 0)))
        .WithMedian("high_priority_graph_in_low_priority_stream", Latencies(background, same_, graph(same_, 1)));
  }

 private:
  static constexpr int kKernelsOfGraph = 20;

  int* word() const { return static_cast<int*>(word_.get()); }

  // LaunchSpin starts blocks of 128 threads.
  static int Blocks(const Background& background) {
    constexpr int kBlocksOfMultiprocessor = 2048 / 128;
    return background.waves == 0 ? 1 : background.waves * Multiprocessors() * kBlocksOfMultiprocessor;
  }

  Samples Latencies(const Background& background, const Stream& stream, const std::function<void()>& start) {
    Samples latencies;
    for (int i = 0; i < kSamples; ++i) {
      for (int k = 0; k < background.kernels; ++k)
        Check(LaunchSpin(background.block_ns, Blocks(background), low_.get()));
      const double ready = NowUs() + 300;  // The background has begun by then.
      while (NowUs() < ready) {
      }
      const double began = NowUs();
      start();
      Check(cudaStreamSynchronize(stream.get()));
      latencies.push_back(NowUs() - began);
      Check(cudaStreamSynchronize(low_.get()));
    }
    return latencies;
  }

  Stream low_, same_, high_;
  DeviceMemory word_ = MakeDeviceMemory(sizeof(int));
  std::vector<GraphExec> exec_;
};

void Measure() {
  Rivals rivals;
  for (const Background& background : kBackgrounds) {
    Try(background.name, [&] { rivals.Write(background); });
  }
}

}  // namespace
}  // namespace longshore::gpu

int main() { return longshore::gpu::RunPart(longshore::gpu::Measure); }

// What happens when several things are under way at the same time: a request's copy beside the copy of a load, replays
// of graphs in several streams, and copies that are part of a graph.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

constexpr size_t kLoadBytes = 64 << 20;
constexpr size_t kRequestBytes = 64 << 10;
constexpr int kSamples = 50;

int HighestPriority() {
  int lowest = 0, highest = 0;
  Check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  return highest;
}

struct Buffers {
  DeviceMemory of_load = MakeDeviceMemory(kLoadBytes), of_request = MakeDeviceMemory(kRequestBytes);
  PinnedMemory load = MakePinnedMemory(kLoadBytes), request = MakePinnedMemory(kRequestBytes);
  Stream load_stream = MakeStream(), request_stream = MakeStream(HighestPriority());

  Buffers() {
    std::memset(load.get(), 1, kLoadBytes);
    std::memset(request.get(), 1, kRequestBytes);
  }

  // Copies the weights of a load in pieces. After each `queued` pieces, waits for them.
  void Load(size_t piece_bytes, int queued) const {
    int pieces = 0;
    for (size_t at = 0; at < kLoadBytes; at += piece_bytes) {
      Check(cudaMemcpyAsync(static_cast<char*>(of_load.get()) + at, static_cast<char*>(load.get()) + at, piece_bytes,
                            cudaMemcpyHostToDevice, load_stream.get()));
      if (queued > 0 && ++pieces % queued == 0) Check(cudaStreamSynchronize(load_stream.get()));
    }
  }
};

// The time of a small copy, and of a kernel that reads the same pinned memory, while `load` runs in another thread
// again and again.
void WriteBesideLoad(const Buffers& b, const char* name, const std::function<void()>& load) {
  std::atomic<bool> stop = false;
  std::jthread loader([&] {
    while (!stop) load();
    cudaStreamSynchronize(b.load_stream.get());
  });
  const auto wait = [&] { Check(cudaStreamSynchronize(b.request_stream.get())); };
  const Samples copy = HostTimes(kSamples, [&] {
    Check(cudaMemcpyAsync(b.of_request.get(), b.request.get(), kRequestBytes, cudaMemcpyHostToDevice,
                          b.request_stream.get()));
    wait();
  });
  const Samples kernel = HostTimes(kSamples, [&] {
    Check(LaunchCopyWords(static_cast<const int*>(b.request.get()), static_cast<int*>(b.of_request.get()),
                          kRequestBytes / sizeof(int), b.request_stream.get()));
    wait();
  });
  stop = true;
  loader.join();
  Fact("64 KiB of a request beside a load of 64 MiB")
      .With("load", name)
      .WithTimes("copy", copy)
      .WithTimes("kernel_that_reads_pinned_memory", kernel);
}

void MeasureLoads(const Buffers& b) {
  const auto whole = [&] { b.Load(kLoadBytes, 1); };
  WriteBesideLoad(b, "none", [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
  WriteBesideLoad(b, "one copy", whole);
  WriteBesideLoad(b, "pieces of 1 MiB, all queued", [&] {
    b.Load(1 << 20, 0);
    Check(cudaStreamSynchronize(b.load_stream.get()));
  });
  for (const int queued : {1, 2, 4}) {
    const auto pieces = [&, queued] { b.Load(1 << 20, queued); };
    WriteBesideLoad(b, ("pieces of 1 MiB, at most " + std::to_string(queued) + " queued").c_str(), pieces);
    Fact("load of 64 MiB in pieces of 1 MiB")
        .With("queued_at_most", queued)
        .WithTimes("whole", HostTimes(kSamples, pieces));
  }
  Fact("load of 64 MiB in one copy").WithTimes("whole", HostTimes(kSamples, whole));
}

// The same graph of small kernels in several streams at once: how long until all have ended.
void MeasureStreams() {
  constexpr int kKernels = 100;
  std::vector<Stream> streams;
  std::vector<DeviceMemory> words;
  std::vector<GraphExec> execs;
  for (int i = 0; i < 8; ++i) {
    streams.push_back(MakeStream());
    words.push_back(MakeDeviceMemory(sizeof(int)));
    cudaStream_t stream = streams.back().get();
    auto* word = static_cast<int*>(words.back().get());
    execs.push_back(Instantiate(Capture(stream, [&] {
      for (int k = 0; k < kKernels; ++k) Check(LaunchTiny(word, stream));
    })));
  }
  for (const size_t count : {1, 2, 4, 8}) {
    const auto run = [&] {
      for (size_t i = 0; i < count; ++i) Check(cudaGraphLaunch(execs[i].get(), streams[i].get()));
      for (size_t i = 0; i < count; ++i) Check(cudaStreamSynchronize(streams[i].get()));
    };
    HostTimes(5, run);
    Fact("replays of graphs of 100 kernels at the same time")
        .With("streams", count)
        .WithTimes("all", HostTimes(kSamples, run));
  }
}

// A request of `bytes` in and 4 KiB out around 100 kernels: copies as part of the graph, or as calls around it.
void MeasureCopiesInGraph(const Buffers& b, size_t bytes) {
  cudaStream_t stream = b.request_stream.get();
  auto* word = static_cast<int*>(b.of_request.get());
  const auto copy_in = [&] {
    Check(cudaMemcpyAsync(b.of_load.get(), b.load.get(), bytes, cudaMemcpyHostToDevice, stream));
  };
  const auto copy_out = [&] { Check(cudaMemcpyAsync(b.request.get(), word, 4096, cudaMemcpyDeviceToHost, stream)); };
  const auto kernels = [&] {
    for (int i = 0; i < 100; ++i) Check(LaunchTiny(word, stream));
  };
  const GraphExec bare = Instantiate(Capture(stream, kernels));
  const GraphExec with_copies = Instantiate(Capture(stream, [&] {
    copy_in();
    kernels();
    copy_out();
  }));
  const auto times = [&](const std::function<void()>& start) {
    const auto run = [&] {
      start();
      Check(cudaStreamSynchronize(stream));
    };
    HostTimes(5, run);
    return HostTimes(kSamples, run);
  };
  Fact("copies around 100 kernels")
      .With("bytes_in", bytes)
      .WithTimes("without_copies", times([&] { Check(cudaGraphLaunch(bare.get(), stream)); }))
      .WithTimes("copies_in_the_graph", times([&] { Check(cudaGraphLaunch(with_copies.get(), stream)); }))
      .WithTimes("copies_around_the_graph", times([&] {
                   copy_in();
                   Check(cudaGraphLaunch(bare.get(), stream));
                   copy_out();
                 }));
}

void Measure() {
  const Buffers buffers;
  Try("loads", [&] { MeasureLoads(buffers); });
  Try("streams", MeasureStreams);
  for (const size_t bytes : {size_t{4} << 10, size_t{600} << 10, size_t{19} << 20}) {
    Try("copies in a graph", [&] { MeasureCopiesInGraph(buffers, bytes); });
  }
}

}  // namespace
}  // namespace longshore::gpu

int main() { return longshore::gpu::RunPart(longshore::gpu::Measure); }

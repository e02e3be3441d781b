// CUDA graphs of tiny kernels: capture, instantiation and replay, compared with plain launches of the same kernels.
#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

constexpr int kSamples = 200;
constexpr int kSamplesOfBuild = 50;

class Chain {
 public:
  Chain(int kernels, int* word, cudaStream_t stream) : kernels_(kernels), word_(word), stream_(stream) {}

  void Launch() const {
    for (int i = 0; i < kernels_; ++i) Check(LaunchTiny(word_, stream_));
  }
  void Finish() const { Check(cudaStreamSynchronize(stream_)); }
  Graph CaptureAll() const {
    return Capture(stream_, [this] { Launch(); });
  }

  // The times of `start`, of `start` until the host knows that the device has finished, and on the device.
  void WriteTimes(const std::string& name, const std::function<void()>& start) const {
    for (int i = 0; i < 5; ++i) start();
    Finish();
    Samples call, whole;
    for (int i = 0; i < kSamples; ++i) {
      const double began = NowUs();
      start();
      call.push_back(NowUs() - began);
      Finish();
      whole.push_back(NowUs() - began);
    }
    Fact(name)
        .With("kernels", kernels_)
        .WithTimes("call", call)
        .WithTimes("until_host_knows", whole)
        .WithTimes("device", DeviceTimes(stream_, kSamples, start));
  }

  void WriteBuild() const {
    std::vector<Graph> graphs;
    std::vector<GraphExec> execs;
    const Samples capture = HostTimes(kSamplesOfBuild, [&] { graphs.push_back(CaptureAll()); });
    const Samples instantiate = HostTimes(kSamplesOfBuild, [&] { execs.push_back(Instantiate(graphs[execs.size()])); });
    size_t next = 0;
    const Samples upload = HostTimes(kSamplesOfBuild, [&] {
      Check(cudaGraphUpload(execs[next++].get(), stream_));
      Finish();
    });
    const Samples update = HostTimes(kSamplesOfBuild, [&] {
      cudaGraphExecUpdateResultInfo result{};
      Check(cudaGraphExecUpdate(execs[0].get(), graphs[1].get(), &result));
    });
    Fact("build of a graph")
        .With("kernels", kernels_)
        .WithTimes("capture", capture)
        .With("first_capture_us", Rounded(capture[0]))
        .WithTimes("instantiate", instantiate)
        .With("first_instantiate_us", Rounded(instantiate[0]))
        .WithTimes("upload", upload)
        .WithTimes("update", update);
  }

  // The first replay pays for the upload if nothing uploaded the graph before.
  void WriteFirstReplay(bool uploaded) const {
    std::vector<GraphExec> execs;
    for (int i = 0; i < kSamplesOfBuild; ++i) {
      execs.push_back(Instantiate(CaptureAll()));
      if (uploaded) Check(cudaGraphUpload(execs.back().get(), stream_));
    }
    Finish();
    size_t next = 0;
    const Samples first = HostTimes(kSamplesOfBuild, [&] {
      Check(cudaGraphLaunch(execs[next++].get(), stream_));
      Finish();
    });
    Fact("first replay")
        .With("kernels", kernels_)
        .With("uploaded_before", uploaded)
        .WithTimes("until_host_knows", first);
  }

 private:
  int kernels_;
  int* word_;
  cudaStream_t stream_;
};

void Measure() {
  const Stream stream = MakeStream();
  const DeviceMemory word = MakeDeviceMemory(sizeof(int));
  for (const int kernels : {1, 10, 100, 500}) {
    const Chain chain(kernels, static_cast<int*>(word.get()), stream.get());
    chain.WriteTimes("plain launches", [&] { chain.Launch(); });
    const GraphExec exec = Instantiate(chain.CaptureAll());
    chain.WriteTimes("replay of a graph", [&] { Check(cudaGraphLaunch(exec.get(), stream.get())); });
    chain.WriteBuild();
    chain.WriteFirstReplay(false);
    chain.WriteFirstReplay(true);
  }
}

}  // namespace
}  // namespace longshore::gpu

int main() { return longshore::gpu::RunPart(longshore::gpu::Measure); }

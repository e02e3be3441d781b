// Copies between the host and the device: time by size, pinned and pageable, and what runs at the same time.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

constexpr size_t kBytesMax = 64 << 20;
constexpr int kSamples = 100;

double GigabytesPerSecond(size_t bytes, double us) { return Rounded(static_cast<double>(bytes) / us / 1e3); }

struct Buffers {
  DeviceMemory device = MakeDeviceMemory(kBytesMax), second_device = MakeDeviceMemory(kBytesMax);
  PinnedMemory pinned = MakePinnedMemory(kBytesMax), second_pinned = MakePinnedMemory(kBytesMax);
  std::vector<char> pageable = std::vector<char>(kBytesMax, 1);
  Stream stream = MakeStream(), second_stream = MakeStream();

  Buffers() {
    std::memset(pinned.get(), 1, kBytesMax);
    std::memset(second_pinned.get(), 1, kBytesMax);
  }
};

void WriteCopy(const Table& table, const char* name, size_t bytes, cudaStream_t stream,
               const std::function<void()>& copy) {
  for (int i = 0; i < 3; ++i) copy();
  Check(cudaStreamSynchronize(stream));
  const Samples call = HostTimes(kSamples, [&] { copy(); });
  Check(cudaStreamSynchronize(stream));
  const Samples whole = HostTimes(kSamples, [&] {
    copy();
    Check(cudaStreamSynchronize(stream));
  });
  const double device_us = Quantile(DeviceTimes(stream, kSamples, copy), 0.5);
  table.Add({name, bytes, Rounded(Quantile(call, 0.5)), Rounded(Quantile(whole, 0.5)), Rounded(Quantile(whole, 0.99)),
             Rounded(device_us), GigabytesPerSecond(bytes, device_us)});
}

void MeasureSizes(const Buffers& b) {
  const Table table("copies", {"kind", "bytes", "call us", "until the host knows us", "until the host knows p99 us",
                               "device us", "gigabytes per s"});
  for (size_t bytes = 4 << 10; bytes <= kBytesMax; bytes *= 4) {
    const auto copy = [&](const char* name, void* to, const void* from, cudaMemcpyKind kind) {
      WriteCopy(table, name, bytes, b.stream.get(),
                [=, &b] { Check(cudaMemcpyAsync(to, from, bytes, kind, b.stream.get())); });
    };
    copy("to the device, pinned", b.device.get(), b.pinned.get(), cudaMemcpyHostToDevice);
    copy("to the host, pinned", b.pinned.get(), b.device.get(), cudaMemcpyDeviceToHost);
    copy("to the device, pageable", b.device.get(), b.pageable.data(), cudaMemcpyHostToDevice);
    copy("to the host, pageable", const_cast<char*>(b.pageable.data()), b.device.get(), cudaMemcpyDeviceToHost);
    copy("within the device", b.second_device.get(), b.device.get(), cudaMemcpyDeviceToDevice);
    if (bytes > (1 << 20)) continue;
    const int words = static_cast<int>(bytes / sizeof(int));
    WriteCopy(table, "a kernel reads pinned memory", bytes, b.stream.get(), [&, words] {
      Check(LaunchCopyWords(static_cast<const int*>(b.pinned.get()), static_cast<int*>(b.device.get()), words,
                            b.stream.get()));
    });
    WriteCopy(table, "a kernel writes pinned memory", bytes, b.stream.get(), [&, words] {
      Check(LaunchCopyWords(static_cast<const int*>(b.device.get()), static_cast<int*>(b.pinned.get()), words,
                            b.stream.get()));
    });
  }
}

// The time until both streams have finished.
Samples Together(const Buffers& b, const std::function<void()>& first, const std::function<void()>& second) {
  return HostTimes(50, [&] {
    first();
    second();
    Check(cudaStreamSynchronize(b.stream.get()));
    Check(cudaStreamSynchronize(b.second_stream.get()));
  });
}

void MeasureOverlap(const Buffers& b) {
  const std::function<void()> nothing = [] {};
  const std::function<void()> to_device = [&] {
    Check(cudaMemcpyAsync(b.device.get(), b.pinned.get(), kBytesMax, cudaMemcpyHostToDevice, b.stream.get()));
  };
  const std::function<void()> to_host = [&] {
    Check(cudaMemcpyAsync(b.second_pinned.get(), b.second_device.get(), kBytesMax, cudaMemcpyDeviceToHost,
                          b.second_stream.get()));
  };
  const std::function<void()> kernel = [&] { Check(LaunchSpin(1'000'000, Multiprocessors(), b.second_stream.get())); };
  const std::function<void()> pageable = [&] {
    Check(cudaMemcpyAsync(b.device.get(), b.pageable.data(), kBytesMax, cudaMemcpyHostToDevice, b.stream.get()));
  };
  Together(b, to_device, kernel);
  Fact("overlap")
      .With("bytes", kBytesMax)
      .WithTimes("copy_to_device", Together(b, to_device, nothing))
      .WithTimes("copy_to_host", Together(b, nothing, to_host))
      .WithTimes("kernel", Together(b, nothing, kernel))
      .WithTimes("copy_to_device_and_kernel", Together(b, to_device, kernel))
      .WithTimes("both_copies", Together(b, to_device, to_host))
      .WithTimes("pageable_copy_to_device", Together(b, pageable, nothing))
      .WithTimes("kernel_then_pageable_copy", Together(b, kernel, pageable));
}

void MeasurePinning() {
  for (const size_t bytes : {size_t{1} << 20, size_t{64} << 20, size_t{1} << 30}) {
    PinnedMemory pinned;
    const Samples allocate = HostTimes(1, [&] { pinned = MakePinnedMemory(bytes); });
    const Samples free = HostTimes(1, [&] { pinned.reset(); });
    std::vector<char> pageable(bytes, 1);
    const Samples pin = HostTimes(1, [&] { Check(cudaHostRegister(pageable.data(), bytes, cudaHostRegisterDefault)); });
    const Samples unpin = HostTimes(1, [&] { Check(cudaHostUnregister(pageable.data())); });
    Fact("pinned memory")
        .With("bytes", bytes)
        .With("allocate_us", Rounded(allocate[0]))
        .With("free_us", Rounded(free[0]))
        .With("register_us", Rounded(pin[0]))
        .With("unregister_us", Rounded(unpin[0]));
  }
}

// A copy that is much larger than the caches: the bandwidth of the memory.
void MeasureMemory() {
  constexpr size_t kBytes = size_t{2} << 30;
  const DeviceMemory from = MakeDeviceMemory(kBytes), to = MakeDeviceMemory(kBytes);
  const Stream stream = MakeStream();
  FillFloats(static_cast<float*>(from.get()), kBytes / sizeof(float), 1, stream.get());
  const auto copy = [&] {
    Check(cudaMemcpyAsync(to.get(), from.get(), kBytes, cudaMemcpyDeviceToDevice, stream.get()));
  };
  copy();
  const Samples times = DeviceTimes(stream.get(), 50, copy);
  Fact("copy within the device, bytes read and written")
      .With("bytes", 2 * kBytes)
      .WithTimes("device", times)
      .With("gb_per_s", GigabytesPerSecond(2 * kBytes, Quantile(times, 0.5)));
}

void Measure() {
  const Buffers buffers;
  Try("sizes", [&] { MeasureSizes(buffers); });
  Try("overlap", [&] { MeasureOverlap(buffers); });
  Try("memory", MeasureMemory);
  Try("pinned memory", MeasurePinning);
}

}  // namespace
}  // namespace longshore::gpu

int main() { return longshore::gpu::RunPart(longshore::gpu::Measure); }

#include <cuda_bf16.h>

#include "tests/gpu/device.h"

namespace longshore::gpu {
namespace {

constexpr int kThreads = 256;

__device__ int64_t NanosecondsNow() {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ void WaitNanoseconds(int64_t nanoseconds) {
  const int64_t end = NanosecondsNow() + nanoseconds;
  while (NanosecondsNow() < end) {
  }
}

// The finalizer of MurmurHash3, which mixes all bits of its argument.
__device__ uint32_t Mix(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

__device__ float RandomNumber(size_t index, uint32_t seed) {
  const uint32_t bits = Mix(static_cast<uint32_t>(index) + Mix(seed)) >> 8;
  return static_cast<float>(bits) * (2.0f / (1 << 24)) - 1.0f;
}

__global__ void AddOne(int* word) { ++*word; }

__global__ void Spin(int64_t nanoseconds) { WaitNanoseconds(nanoseconds); }

__global__ void SpinThenFlag(int64_t nanoseconds, volatile int* flag) {
  WaitNanoseconds(nanoseconds);
  __threadfence_system();
  *flag = 1;
}

__global__ void CopyWords(const int* from, int* to, int words) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < words) to[i] = from[i];
}

__global__ void WriteTo(int* address) { *address = 1; }

template <int N>
__global__ void NeverUsed(int* word) {
  *word += N;
}

template <class T>
__global__ void FillRandom(T* values, size_t count, uint32_t seed) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step) {
    values[i] = static_cast<T>(RandomNumber(i, seed));
  }
}

__global__ void AddDifferences(const uint32_t* a, const uint32_t* b, size_t words, unsigned long long* total) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  unsigned long long found = 0;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < words; i += step)
    found += a[i] != b[i];
  if (found > 0) atomicAdd(total, found);
}

__global__ void AddHashes(const uint32_t* values, size_t words, unsigned long long* total) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  unsigned long long sum = 0;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < words; i += step) {
    sum += Mix(values[i] + Mix(static_cast<uint32_t>(i)));
  }
  atomicAdd(total, sum);
}

int BlocksFor(size_t count) { return static_cast<int>(count / kThreads < 1024 ? count / kThreads + 1 : 1024); }

// Runs `kernel`, which adds to a number on the device, and returns the number.
template <class Kernel>
unsigned long long Total(cudaStream_t stream, const Kernel& kernel) {
  const DeviceMemory total = MakeDeviceMemory(sizeof(unsigned long long));
  Check(cudaMemsetAsync(total.get(), 0, sizeof(unsigned long long), stream));
  kernel(static_cast<unsigned long long*>(total.get()));
  Check(cudaGetLastError());
  unsigned long long result = 0;
  Check(cudaMemcpyAsync(&result, total.get(), sizeof result, cudaMemcpyDeviceToHost, stream));
  Check(cudaStreamSynchronize(stream));
  return result;
}

}  // namespace

cudaError_t LaunchTiny(int* word, cudaStream_t stream) {
  AddOne<<<1, 1, 0, stream>>>(word);
  return cudaPeekAtLastError();
}

cudaError_t LaunchSpin(int64_t nanoseconds, int blocks, cudaStream_t stream) {
  Spin<<<blocks, 128, 0, stream>>>(nanoseconds);
  return cudaPeekAtLastError();
}

cudaError_t LaunchSpinThenFlag(int64_t nanoseconds, volatile int* flag, cudaStream_t stream) {
  SpinThenFlag<<<1, 1, 0, stream>>>(nanoseconds, flag);
  return cudaPeekAtLastError();
}

cudaError_t LaunchCopyWords(const int* from, int* to, int words, cudaStream_t stream) {
  CopyWords<<<(words + kThreads - 1) / kThreads, kThreads, 0, stream>>>(from, to, words);
  return cudaPeekAtLastError();
}

cudaError_t LaunchNeverUsed(int which, int* word, cudaStream_t stream) {
  void (*const kernels[])(int*) = {NeverUsed<1>, NeverUsed<2>, NeverUsed<3>};
  kernels[which]<<<1, 1, 0, stream>>>(word);
  return cudaPeekAtLastError();
}

cudaError_t LaunchWriteToAddressZero(cudaStream_t stream) {
  WriteTo<<<1, 1, 0, stream>>>(nullptr);
  return cudaPeekAtLastError();
}

void FillFloats(float* values, size_t count, uint32_t seed, cudaStream_t stream) {
  FillRandom<<<BlocksFor(count), kThreads, 0, stream>>>(values, count, seed);
  Check(cudaGetLastError());
}

void FillBfloat16s(void* values, size_t count, uint32_t seed, cudaStream_t stream) {
  FillRandom<<<BlocksFor(count), kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(values), count, seed);
  Check(cudaGetLastError());
}

size_t CountDifferences(const void* a, const void* b, size_t words, cudaStream_t stream) {
  return Total(stream, [&](unsigned long long* total) {
    AddDifferences<<<BlocksFor(words), kThreads, 0, stream>>>(static_cast<const uint32_t*>(a),
                                                              static_cast<const uint32_t*>(b), words, total);
  });
}

uint64_t Checksum(const void* values, size_t words, cudaStream_t stream) {
  return Total(stream, [&](unsigned long long* total) {
    AddHashes<<<BlocksFor(words), kThreads, 0, stream>>>(static_cast<const uint32_t*>(values), words, total);
  });
}

}  // namespace longshore::gpu

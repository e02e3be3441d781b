// Computations on rows of numbers, each written once for the device and once, in the same order, for the host.
//
// A block of kThreads threads computes a row. Thread t takes the elements t, t + kThreads, ...; then the sums of the
// threads of a warp are added in pairs (threads whose numbers differ in one bit), and then those of the warps.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>

namespace longshore::gpu {

constexpr int kThreads = 128;
constexpr int kLanes = 32;  // The threads of a warp.
constexpr int kWarps = kThreads / kLanes;

__host__ __device__ inline float ToFloat(float x) { return x; }
__host__ __device__ inline float ToFloat(__half x) { return __half2float(x); }
__host__ __device__ inline float ToFloat(__nv_bfloat16 x) { return __bfloat162float(x); }

template <class T>
__host__ __device__ T FromFloat(float x);
template <>
__host__ __device__ inline float FromFloat(float x) {
  return x;
}
template <>
__host__ __device__ inline __half FromFloat(float x) {
  return __float2half_rn(x);
}
template <>
__host__ __device__ inline __nv_bfloat16 FromFloat(float x) {
  return __float2bfloat16_rn(x);
}

struct Add {
  __host__ __device__ static float Of(float a, float b) { return a + b; }
  static constexpr float kNeutral = 0;
};
struct Max {
  __host__ __device__ static float Of(float a, float b) { return fmaxf(a, b); }
  static constexpr float kNeutral = -3.402823466e38f;
};

// Combines one number of each thread of the block; all threads get the result.
template <class Op>
__device__ float Combine(float value, float* of_warps) {
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = Op::Of(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  __syncthreads();  // Some threads may still read of_warps after an earlier call.
  if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = value;
  __syncthreads();
  value = threadIdx.x % kLanes < kWarps ? of_warps[threadIdx.x % kLanes] : Op::kNeutral;
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = Op::Of(value, __shfl_xor_sync(0xffffffffu, value, distance));
  }
  return value;
}

// The same for the host: values[t] is the number of thread t.
template <class Op>
float CombineOnHost(const float* values) {
  const auto combine_lanes = [](float* lanes) {
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      float before[kLanes];
      std::copy(lanes, lanes + kLanes, before);
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = Op::Of(before[lane], before[lane ^ distance]);
    }
    return lanes[0];
  };
  float of_warps[kLanes];
  std::fill(of_warps, of_warps + kLanes, Op::kNeutral);
  for (int warp = 0; warp < kWarps; ++warp) {
    float lanes[kLanes];
    std::copy(values + warp * kLanes, values + (warp + 1) * kLanes, lanes);
    of_warps[warp] = combine_lanes(lanes);
  }
  return combine_lanes(of_warps);
}

// Combines of(i) over all i of a row of the host.
template <class Op, class F>
float RowOnHost(int columns, const F& of) {
  float values[kThreads];
  std::fill(values, values + kThreads, Op::kNeutral);
  for (int i = 0; i < columns; ++i) values[i % kThreads] = Op::Of(values[i % kThreads], of(i));
  return CombineOnHost<Op>(values);
}

// The same on the device.
template <class Op, class F>
__device__ float RowOnDevice(int columns, float* of_warps, const F& of) {
  float value = Op::kNeutral;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads) value = Op::Of(value, of(i));
  return Combine<Op>(value, of_warps);
}

template <class T>
__global__ void __launch_bounds__(kThreads) SoftmaxOnDevice(const T* in, T* out, int columns) {
  __shared__ float of_warps[kWarps];
  in += static_cast<size_t>(blockIdx.x) * columns;
  out += static_cast<size_t>(blockIdx.x) * columns;
  const float most = RowOnDevice<Max>(columns, of_warps, [&](int i) { return ToFloat(in[i]); });
  const float sum = RowOnDevice<Add>(columns, of_warps, [&](int i) { return expf(ToFloat(in[i]) - most); });
  const float inverse = 1.0f / sum;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads) {
    out[i] = FromFloat<T>(expf(ToFloat(in[i]) - most) * inverse);
  }
}

template <class T>
void SoftmaxOnHost(const T* in, T* out, int columns) {
  const float most = RowOnHost<Max>(columns, [&](int i) { return ToFloat(in[i]); });
  const float sum = RowOnHost<Add>(columns, [&](int i) { return std::exp(ToFloat(in[i]) - most); });
  const float inverse = 1.0f / sum;
  for (int i = 0; i < columns; ++i) out[i] = FromFloat<T>(std::exp(ToFloat(in[i]) - most) * inverse);
}

// Layer normalization without scale and offset.
template <class T>
__global__ void __launch_bounds__(kThreads) LayerNormOnDevice(const T* in, T* out, int columns) {
  __shared__ float of_warps[kWarps];
  in += static_cast<size_t>(blockIdx.x) * columns;
  out += static_cast<size_t>(blockIdx.x) * columns;
  const float mean = RowOnDevice<Add>(columns, of_warps, [&](int i) { return ToFloat(in[i]); }) / columns;
  const float variance = RowOnDevice<Add>(columns, of_warps, [&](int i) {
    const float distance = ToFloat(in[i]) - mean;
    return distance * distance;
  });
  const float inverse = 1.0f / sqrtf(variance / columns + 1e-5f);
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += kThreads) {
    out[i] = FromFloat<T>((ToFloat(in[i]) - mean) * inverse);
  }
}

template <class T>
void LayerNormOnHost(const T* in, T* out, int columns) {
  const float mean = RowOnHost<Add>(columns, [&](int i) { return ToFloat(in[i]); }) / columns;
  const float variance = RowOnHost<Add>(columns, [&](int i) {
    const float distance = ToFloat(in[i]) - mean;
    return distance * distance;
  });
  const float inverse = 1.0f / std::sqrt(variance / columns + 1e-5f);
  for (int i = 0; i < columns; ++i) out[i] = FromFloat<T>((ToFloat(in[i]) - mean) * inverse);
}

}  // namespace longshore::gpu

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/gpu/device.h"
#include "tests/gpu/reference.h"

namespace longshore::gpu {
namespace {

constexpr int kSampledMax = 4096;

struct Pair {
  double output;
  double reference;
};

struct Step4 {
  int64_t n, c, h, w;
};

struct ConvolutionTask {
  int64_t output_size, filters, image, channels_per_filter, kernel, stride, pad;
  bool is_depthwise;
  Step4 input_steps, filter_steps, output_steps;
};

// Spreads the samples over all outputs; the factor is a prime number.
__device__ int64_t SampledIndex(int i, int64_t count) { return static_cast<int64_t>(i) * 2654435761LL % count; }

__device__ double ConvolveAt(const ConvolutionTask& task, const float* input, const float* filter, int64_t f, int64_t y,
                             int64_t x) {
  double sum = 0;
  for (int64_t c = 0; c < task.channels_per_filter; ++c) {
    for (int64_t i = 0; i < task.kernel * task.kernel; ++i) {
      const int64_t fy = i / task.kernel, fx = i % task.kernel;
      const int64_t iy = y * task.stride - task.pad + fy, ix = x * task.stride - task.pad + fx;
      if (iy < 0 || ix < 0 || iy >= task.image || ix >= task.image) continue;
      const int64_t channel = task.is_depthwise ? f : c;
      const double value = input[channel * task.input_steps.c + iy * task.input_steps.h + ix * task.input_steps.w];
      sum += value * filter[f * task.filter_steps.n + c * task.filter_steps.c + fy * task.filter_steps.h +
                            fx * task.filter_steps.w];
    }
  }
  return sum;
}

__global__ void SampleConvolution(ConvolutionTask task, Arguments arguments, int64_t count, Pair* pairs, int samples) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= samples) return;
  const int64_t at = SampledIndex(i, count), size = task.output_size;
  const int64_t x = at % size, y = at / size % size, f = at / (size * size) % task.filters,
                n = at / (size * size * task.filters);
  double reference = ConvolveAt(task, static_cast<const float*>(arguments.input) + n * task.input_steps.n,
                                static_cast<const float*>(arguments.filter), f, y, x);
  const Step4& steps = task.output_steps;
  const int64_t place = n * steps.n + f * steps.c + y * steps.h + x * steps.w;
  if (arguments.bias != nullptr) reference += static_cast<const float*>(arguments.bias)[f];
  if (arguments.residual != nullptr) reference += static_cast<const float*>(arguments.residual)[place];
  if (arguments.bias != nullptr) reference = fmax(reference, 0.0);
  const auto* output = static_cast<const float*>(arguments.output);
  pairs[i] = {output[place], reference};
}

__global__ void SampleProduct(int64_t rows, int64_t inner, int64_t columns, bool is_transposed,
                              ProductArguments arguments, int64_t count, Pair* pairs, int samples) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= samples) return;
  const int64_t at = SampledIndex(i, count);
  const int64_t column = at % columns, row = at / columns % rows, batch = at / (columns * rows);
  const float* left = arguments.left + (batch * rows + row) * inner;
  const float* right = arguments.right + batch * inner * columns;
  double sum = 0;
  for (int64_t k = 0; k < inner; ++k) {
    sum += static_cast<double>(left[k]) * right[is_transposed ? column * inner + k : k * columns + column];
  }
  pairs[i] = {arguments.output[at], sum};
}

// Runs `sample`, which fills the pairs, and compares them.
template <class Sample>
double Error(int64_t count, cudaStream_t stream, const Sample& sample) {
  const int samples = static_cast<int>(std::min<int64_t>(count, kSampledMax));
  const DeviceMemory memory = MakeDeviceMemory(static_cast<size_t>(samples) * sizeof(Pair));
  sample(static_cast<Pair*>(memory.get()), samples);
  Check(cudaGetLastError());
  std::vector<Pair> pairs(static_cast<size_t>(samples));
  Check(cudaMemcpyAsync(pairs.data(), memory.get(), pairs.size() * sizeof(Pair), cudaMemcpyDeviceToHost, stream));
  Check(cudaStreamSynchronize(stream));
  double difference = 0, size = 0;
  for (const Pair& pair : pairs) {
    difference += (pair.output - pair.reference) * (pair.output - pair.reference);
    size += pair.reference * pair.reference;
  }
  return std::sqrt(difference / size);
}

Step4 StepsOf(const std::vector<int64_t>& dimensions, Layout layout) {
  const std::vector<int64_t> strides = Strides(dimensions, layout);
  return {strides[0], strides[1], strides[2], strides[3]};
}

}  // namespace

double ConvolutionError(const Request& request, const Arguments& arguments, cudaStream_t stream) {
  const Convolution& shape = request.shape;
  const int64_t size = shape.Output();
  ConvolutionTask task{size,
                       shape.filters,
                       shape.image,
                       shape.ChannelsPerFilter(),
                       shape.kernel,
                       shape.stride,
                       shape.pad_before,
                       shape.is_depthwise,
                       {},
                       {},
                       {}};
  task.input_steps = StepsOf({request.batch, shape.channels, shape.image, shape.image}, request.layout);
  task.filter_steps = StepsOf({shape.filters, shape.ChannelsPerFilter(), shape.kernel, shape.kernel}, request.layout);
  task.output_steps = StepsOf({request.batch, shape.filters, size, size}, request.layout);
  const int64_t count = shape.OutputCount(request.batch);
  return Error(count, stream, [&](Pair* pairs, int samples) {
    SampleConvolution<<<(samples + 127) / 128, 128, 0, stream>>>(task, arguments, count, pairs, samples);
  });
}

double ProductError(const Product& product, const ProductArguments& arguments, cudaStream_t stream) {
  const int64_t count = product.batches * product.rows * product.columns;
  return Error(count, stream, [&](Pair* pairs, int samples) {
    SampleProduct<<<(samples + 127) / 128, 128, 0, stream>>>(product.rows, product.inner, product.columns,
                                                             product.is_transposed, arguments, count, pairs, samples);
  });
}

}  // namespace longshore::gpu

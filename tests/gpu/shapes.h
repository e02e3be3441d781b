// The convolutions and products that are measured; shapes.txt lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace longshore::gpu {

// Images and kernels are square.
struct Convolution {
  int64_t image = 0;
  int64_t channels = 0;
  int64_t filters = 0;
  int64_t kernel = 0;
  int64_t stride = 0;
  int64_t pad_before = 0;
  int64_t pad_after = 0;
  bool is_depthwise = false;  // One filter per channel.
  std::string models;         // Those that have it; see shapes.txt.

  int64_t Output() const { return (image + pad_before + pad_after - kernel) / stride + 1; }
  int64_t ChannelsPerFilter() const { return is_depthwise ? 1 : channels; }
  int64_t InputCount(int64_t batch) const { return batch * channels * image * image; }
  int64_t FilterCount() const { return filters * ChannelsPerFilter() * kernel * kernel; }
  int64_t OutputCount(int64_t batch) const { return batch * filters * Output() * Output(); }
  double Flop(int64_t batch) const;
  std::string Text() const;  // 56x56x64 3x3/1 64
};

// [rows, inner] times [inner, columns], or times the transpose of [columns, inner]. Row-major.
struct Product {
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t columns = 0;
  int64_t batches = 1;
  bool is_transposed = false;
  std::string models;

  // The product for several examples: more rows with one weight matrix, or more independent products.
  Product For(int64_t batch) const;
  double Flop() const;
  std::string Text() const;  // 12 x 64x64x64T
};

struct Shapes {
  std::vector<Convolution> convolutions;
  // With those that convolutions are: each row has the inputs of one place of the output. For a kernel of 1 and a
  // stride of 1 they are in this order already; otherwise they have to be gathered first, and that time is not
  // measured.
  std::vector<Product> products;
};

// Throws if the file cannot be read or has a line of another kind.
Shapes ReadShapes(const std::string& path);

}  // namespace longshore::gpu

// The largest or the mean value under a window.
#include <algorithm>
#include <limits>

#include "serving-node/engine/reference/kernels/types.h"
#include "serving-node/engine/reference/kernels/window.h"

namespace longshore::engine::reference::kernels {
namespace {

// The part of a window that lies inside of the image.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

Span Inside(const Slide& slide, int64_t place) {
  const int64_t begin = place * slide.stride - slide.before;
  return {std::max<int64_t>(begin, 0), std::min(begin + slide.window, slide.size)};
}

// Both count only what lies inside of the image. As in TensorFlow nothing is below the lowest number, and the largest
// of some values is no NaN; their mean may be one.
template <typename T>
void MaxAt(const T* image, Span rows, Span columns, int64_t width, int64_t channels, T* out) {
  std::fill_n(out, channels, std::numeric_limits<T>::lowest());
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      const T* from = image + (y * width + x) * channels;
      for (int64_t c = 0; c < channels; ++c) out[c] = from[c] > out[c] ? from[c] : out[c];
    }
  }
}

template <typename T>
void MeanAt(const T* image, Span rows, Span columns, int64_t width, int64_t channels, T* out) {
  std::fill_n(out, channels, T{0});
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      for (int64_t c = 0; c < channels; ++c) out[c] += image[(y * width + x) * channels + c];
    }
  }
  const auto count = static_cast<T>((rows.end - rows.begin) * (columns.end - columns.begin));
  for (int64_t c = 0; c < channels; ++c) out[c] /= count;
}

template <bool kIsMax>
Outputs Pool(const Call& call) {
  const Tensor& image = call.in(0);
  const auto size = call.attributes().Ints("ksize");
  if (image.rank() != 4 || size.size() != 4) return InvalidArgument("an image of shape {}", ToString(image.shape()));
  ASSIGN_OR_RETURN(const Window window, WindowOf(call, image.shape(), size[1], size[2]));
  const int64_t channels = image.dim(3), width = image.dim(2);
  ASSIGN_OR_RETURN(Tensor out, MakeLike(image, {image.dim(0), window.rows.out, window.columns.out, channels}));
  return ForFloats(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = Raw<T>(out);
    for (int64_t i = 0; i < (out.elements() == 0 ? 0 : image.dim(0)); ++i) {
      const T* one = Raw<T>(image) + i * image.dim(1) * width * channels;
      for (int64_t y = 0; y < window.rows.out; ++y) {
        for (int64_t x = 0; x < window.columns.out; ++x, to += channels) {
          constexpr auto kAt = kIsMax ? MaxAt<T> : MeanAt<T>;
          kAt(one, Inside(window.rows, y), Inside(window.columns, x), width, channels, to);
        }
      }
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {{"AvgPool", Pool<false>, 1, kFloats, CheckWindow},
                               {"MaxPool", Pool<true>, 1, kFloats, CheckWindow}};

}  // namespace

std::span<const Kernel> PoolKernels() { return kKernels; }

}  // namespace longshore::engine::reference::kernels

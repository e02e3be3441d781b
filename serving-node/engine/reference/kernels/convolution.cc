// Conv2D and its depthwise form.
#include <algorithm>

#include "serving-node/engine/reference/kernels/gemm.h"
#include "serving-node/engine/reference/kernels/types.h"
#include "serving-node/engine/reference/kernels/window.h"

namespace longshore::engine::reference::kernels {
namespace {

// How many places of the result are unrolled at once: the patches stay in the cache.
constexpr int64_t kPlacesAtOnce = 64;

// The values under the window at (row, column) of the result, zeros outside of the image: [window, window, channels].
template <typename T>
void CopyPatch(const T* image, const Window& window, int64_t channels, int64_t row, int64_t column, T* patch) {
  const auto& [rows, columns] = window;
  for (int64_t i = 0; i < rows.window; ++i) {
    const int64_t y = row * rows.stride - rows.before + i * rows.dilation;
    for (int64_t j = 0; j < columns.window; ++j, patch += channels) {
      const int64_t x = column * columns.stride - columns.before + j * columns.dilation;
      const bool inside = y >= 0 && y < rows.size && x >= 0 && x < columns.size;
      if (inside) std::copy_n(image + (y * columns.size + x) * channels, channels, patch);
      else std::fill_n(patch, channels, T{0});
    }
  }
}

Status CheckShapes(const Tensor& image, const Tensor& filter) {
  if (image.rank() == 4 && filter.rank() == 4 && image.type() == filter.type() && filter.elements() > 0) return {};
  return InvalidArgument("input {} and filter {} do not fit", ToString(image.shape()), ToString(filter.shape()));
}

// One image: places are unrolled into patches, and patches times filter is a matrix product.
template <typename T>
void ConvolveImage(const T* image, const T* filter, const Window& window, int64_t channels, int64_t filters, T* out) {
  const int64_t patch_size = window.rows.window * window.columns.window * channels;
  const int64_t places = window.rows.out * window.columns.out;
  std::vector<T> patches(static_cast<size_t>(std::min(places, kPlacesAtOnce) * patch_size));
  for (int64_t first = 0; first < places; first += kPlacesAtOnce) {
    const int64_t count = std::min(kPlacesAtOnce, places - first);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = first + i;
      CopyPatch(image, window, channels, place / window.columns.out, place % window.columns.out, patches.data() + i * patch_size);
    }
    Gemm(patches.data(), filter, out + first * filters, count, patch_size, filters);
  }
}

Outputs Conv2D(const Call& call) {
  const Tensor& image = call.in(0);
  const Tensor& filter = call.in(1);
  RETURN_IF_ERROR(CheckShapes(image, filter));
  const int64_t channels = image.dim(3);
  if (channels != filter.dim(2)) return InvalidArgument("input depth must equal filter depth: {} vs {}", channels, filter.dim(2));
  ASSIGN_OR_RETURN(const Window window, WindowOf(call, image.shape(), filter.dim(0), filter.dim(1)));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(image, {image.dim(0), window.rows.out, window.columns.out, filter.dim(3)}));
  return ForFloats(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < (out.elements() == 0 ? 0 : image.dim(0)); ++i) {
      const int64_t in_size = image.elements() / image.dim(0);
      const int64_t out_size = out.elements() / image.dim(0);
      ConvolveImage(Raw<T>(image) + i * in_size, Raw<T>(filter), window, channels, filter.dim(3), Raw<T>(out) + i * out_size);
    }
    return One(out);
  });
}

// filter [rows, columns, channels, multiplier]: every channel has its own filters.
Outputs DepthwiseConv2D(const Call& call) {
  const Tensor& image = call.in(0);
  const Tensor& filter = call.in(1);
  RETURN_IF_ERROR(CheckShapes(image, filter));
  const int64_t channels = image.dim(3), multiplier = filter.dim(3);
  if (channels != filter.dim(2)) return InvalidArgument("input depth must equal filter depth: {} vs {}", channels, filter.dim(2));
  ASSIGN_OR_RETURN(const Window window, WindowOf(call, image.shape(), filter.dim(0), filter.dim(1)));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(image, {image.dim(0), window.rows.out, window.columns.out, channels * multiplier}));
  const int64_t taps = filter.dim(0) * filter.dim(1);
  return ForFloats(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> patch(static_cast<size_t>(taps * channels));
    std::fill_n(Raw<T>(out), out.elements(), T{0});
    const int64_t places = window.rows.out * window.columns.out;
    for (int64_t place = 0; place < (out.elements() == 0 ? 0 : image.dim(0) * places); ++place) {
      const int64_t at = place % places;
      const T* one = Raw<T>(image) + place / places * (image.elements() / image.dim(0));
      CopyPatch(one, window, channels, at / window.columns.out, at % window.columns.out, patch.data());
      T* to = Raw<T>(out) + place * channels * multiplier;
      for (int64_t i = 0; i < taps * channels * multiplier; ++i) {
        to[i % (channels * multiplier)] += patch[static_cast<size_t>(i / multiplier)] * Raw<T>(filter)[i];
      }
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {"Conv2D", Conv2D, 2, kFloats, CheckWindow}, {"DepthwiseConv2dNative", DepthwiseConv2D, 2, kFloats, CheckWindow},
};

}  // namespace

std::span<const Kernel> ConvolutionKernels() { return kKernels; }

}  // namespace longshore::engine::reference::kernels

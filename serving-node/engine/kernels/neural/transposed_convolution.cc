// Transposed convolution (Keras' Conv2DTranspose): multiplies each value of the input by the filters, and adds the
// products to the result under the window of that value.
#include <algorithm>

#include "serving-node/engine/kernels/base/gemm.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/neural/families.h"
#include "serving-node/engine/kernels/neural/volume.h"

namespace longshore::engine::kernels::neural {
namespace {

// How many pixels of the input are processed at once: few enough that their patches stay in the cache.
constexpr int64_t kPlacesAtOnce = 64;

struct Sizes {
  int64_t batch = 0;
  int64_t channels = 0;  // Channels of the result, an image or volume.
  int64_t filters = 0;   // Channels of the input.
};

// Transposes [taps * channels, filters] to [filters, taps * channels].
template <typename T>
std::vector<T> Transposed(const Tensor& filter, int64_t filters) {
  const int64_t rows = filter.elements() / filters;
  std::vector<T> transposed(static_cast<size_t>(filter.elements()));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < filters; ++j)
      transposed[static_cast<size_t>(j * rows + i)] = Raw<T>(filter)[i * filters + j];
  }
  return transposed;
}

// Computes one image: multiplies the matrix of the input's pixels (`places`) by the transposed filters, which gives a
// patch for each pixel, and adds each patch to the image under its window.
template <typename T>
void Spread(const T* places, const std::vector<T>& transposed, const Volume& window, const Sizes& sizes, T* image) {
  const int64_t patch_size = static_cast<int64_t>(transposed.size()) / sizes.filters;
  const int64_t place_count = PlacesOf(window);
  std::vector<T> patches(static_cast<size_t>(std::min(place_count, kPlacesAtOnce) * patch_size));
  for (int64_t first = 0; first < place_count; first += kPlacesAtOnce) {
    const int64_t count = std::min(kPlacesAtOnce, place_count - first);
    Gemm(places + first * sizes.filters, transposed.data(), patches.data(), count, sizes.filters, patch_size);
    for (int64_t i = 0; i < count; ++i) {
      const T* patch = patches.data() + i * patch_size;
      ForEachInside(window, PlaceAt(window, first + i), [&](int64_t place, int64_t offset) {
        T* to = image + offset * sizes.channels;
        for (int64_t c = 0; c < sizes.channels; ++c) to[c] += patch[place * sizes.channels + c];
      });
    }
  }
}

Outputs SpreadAll(const Tensor& filter, const Tensor& places, const Volume& window, const Sizes& sizes, Tensor out) {
  return ForFloats(places.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), T{0});
    if (out.elements() == 0 || places.elements() == 0) return One(out);
    const auto transposed = Transposed<T>(filter, sizes.filters);
    for (int64_t i = 0; i < sizes.batch; ++i) {
      const T* from = Raw<T>(places) + i * (places.elements() / sizes.batch);
      Spread(from, transposed, window, sizes, Raw<T>(out) + i * (out.elements() / sizes.batch));
    }
    return One(out);
  });
}

Status CheckTypesAndRanks(const Call& call, int rank) {
  const Tensor& filter = call.in(1);
  const Tensor& places = call.in(2);
  if (filter.rank() == rank && places.rank() == rank && filter.type() == places.type() && filter.elements() > 0)
    return {};
  return InvalidArgument(
      "filter {} and out_backprop {} differ in type or have unsupported ranks, or the filter is empty",
      ToString(filter.shape()), ToString(places.shape()));
}

// `image` is the shape [batch, sizes..., channels] of an image, and `wanted` is the shape of its forward convolution.
// InvalidArgument unless `places` has the shape `wanted`, and the image has the batch size of `places` and the channels
// of the filter.
Status CheckFits(const Shape& image, const Tensor& filter, const Tensor& places, const Shape& wanted) {
  if (image[0] == places.dim(0) && image.back() == filter.dim(filter.rank() - 2) && places.shape() == wanted) return {};
  return InvalidArgument("input_sizes {} and filter {} require out_backprop of shape {}, not {}", ToString(image),
                         ToString(filter.shape()), ToString(wanted), ToString(places.shape()));
}

Outputs Conv2DBackpropInput(const Call& call) {
  RETURN_IF_ERROR(CheckTypesAndRanks(call, 4));
  const Tensor& filter = call.in(1);
  const Tensor& places = call.in(2);
  ASSIGN_OR_RETURN(Shape image, ImageShapeOf(call.in(0)));
  if (image.size() == 2) image = {places.dim(0), image[0], image[1], filter.dim(2)};
  if (image.size() != 4) return InvalidArgument("input_sizes must be two or four sizes, not {}", ToString(image));
  ASSIGN_OR_RETURN(const Window flat, WindowOf(call, image, filter.dim(0), filter.dim(1)));
  RETURN_IF_ERROR(CheckFits(image, filter, places, {places.dim(0), flat.rows.out, flat.columns.out, filter.dim(3)}));
  RETURN_IF_ERROR(call.HasRoomFor(places.type(), image));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(places, image));
  const Volume window = {Slide{.size = 1, .out = 1}, flat.rows, flat.columns};
  return SpreadAll(filter, places, window, {image[0], filter.dim(2), filter.dim(3)}, out);
}

Outputs Conv3DBackpropInput(const Call& call) {
  RETURN_IF_ERROR(CheckTypesAndRanks(call, 5));
  const Tensor& filter = call.in(1);
  const Tensor& places = call.in(2);
  ASSIGN_OR_RETURN(const Shape image, ImageShapeOf(call.in(0)));
  if (image.size() != 5) return InvalidArgument("input_sizes must be five sizes, not {}", ToString(image));
  ASSIGN_OR_RETURN(const Volume window, VolumeOf(call, image, {filter.dim(0), filter.dim(1), filter.dim(2)}));
  RETURN_IF_ERROR(
      CheckFits(image, filter, places, {places.dim(0), window[0].out, window[1].out, window[2].out, filter.dim(4)}));
  RETURN_IF_ERROR(call.HasRoomFor(places.type(), image));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(places, image));
  return SpreadAll(filter, places, window, {image[0], filter.dim(3), filter.dim(4)}, out);
}

// The filter is [rows, columns, channels, multiplier]: every channel has `multiplier` filters of its own.
Outputs DepthwiseBackpropInput(const Call& call) {
  RETURN_IF_ERROR(CheckTypesAndRanks(call, 4));
  const Tensor& filter = call.in(1);
  const Tensor& places = call.in(2);
  ASSIGN_OR_RETURN(const Shape image, ImageShapeOf(call.in(0)));
  if (image.size() != 4) return InvalidArgument("input_sizes must be four sizes, not {}", ToString(image));
  ASSIGN_OR_RETURN(const Window flat, WindowOf(call, image, filter.dim(0), filter.dim(1)));
  const int64_t channels = filter.dim(2), multiplier = filter.dim(3);
  RETURN_IF_ERROR(
      CheckFits(image, filter, places, {places.dim(0), flat.rows.out, flat.columns.out, channels * multiplier}));
  RETURN_IF_ERROR(call.HasRoomFor(places.type(), image));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(places, image));
  const Volume window = {Slide{.size = 1, .out = 1}, flat.rows, flat.columns};
  return ForFloats(places.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::fill_n(Raw<T>(out), out.elements(), T{0});
    const int64_t place_count = PlacesOf(window);
    for (int64_t i = 0; i < (out.elements() == 0 || places.elements() == 0 ? 0 : image[0] * place_count); ++i) {
      T* to = Raw<T>(out) + i / place_count * (out.elements() / image[0]);
      const T* from = Raw<T>(places) + i * channels * multiplier;
      ForEachInside(window, PlaceAt(window, i % place_count), [&](int64_t tap, int64_t offset) {
        const T* weights = Raw<T>(filter) + tap * channels * multiplier;
        for (int64_t k = 0; k < channels * multiplier; ++k)
          to[offset * channels + k / multiplier] += from[k] * weights[k];
      });
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {"Conv2DBackpropInput", AlsoShort<Conv2DBackpropInput>, 3, kFloats | kShortFloats, CheckWindow},
    {"Conv3DBackpropInputV2", AlsoShort<Conv3DBackpropInput>, 3, kFloats | kShortFloats, CheckVolume},
    {"DepthwiseConv2dNativeBackpropInput", AlsoShort<DepthwiseBackpropInput>, 3, kFloats | kShortFloats, CheckWindow},
};

}  // namespace

std::span<const Kernel> TransposedConvolutionKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::neural

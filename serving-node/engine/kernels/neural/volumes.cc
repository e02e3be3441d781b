// Kernels for the convolution and pooling of volumes.
#include <algorithm>
#include <limits>

#include "serving-node/engine/kernels/base/gemm.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/neural/families.h"
#include "serving-node/engine/kernels/neural/volume.h"

namespace longshore::engine::kernels::neural {
namespace {

// How many positions of the result are computed at once: few enough that their unrolled patches stay in the cache.
constexpr int64_t kPlacesAtOnce = 64;

// Convolves one volume: unrolls it into one patch per position of the result, and multiplies the matrix of patches by
// the matrix of filters.
template <typename T>
void Convolve(const T* volume, const T* filters, const Volume& window, int64_t channels, int64_t filter_count, T* out) {
  const int64_t patch_size = window[0].window * window[1].window * window[2].window * channels;
  const int64_t places = PlacesOf(window);
  std::vector<T> patches(static_cast<size_t>(std::min(places, kPlacesAtOnce) * patch_size));
  for (int64_t first = 0; first < places; first += kPlacesAtOnce) {
    const int64_t count = std::min(kPlacesAtOnce, places - first);
    std::fill(patches.begin(), patches.end(), T{0});
    for (int64_t i = 0; i < count; ++i) {
      T* patch = patches.data() + i * patch_size;
      ForEachInside(window, PlaceAt(window, first + i), [&](int64_t place, int64_t offset) {
        std::copy_n(volume + offset * channels, channels, patch + place * channels);
      });
    }
    Gemm(patches.data(), filters, out + first * filter_count, count, patch_size, filter_count);
  }
}

Outputs Conv3D(const Call& call) {
  const Tensor& volume = call.in(0);
  const Tensor& filter = call.in(1);
  if (volume.rank() != 5 || filter.rank() != 5 || volume.type() != filter.type() || filter.elements() == 0)
    return InvalidArgument("input {} and filter {} must be of rank 5 and of one type, and the filter must not be empty",
                           ToString(volume.shape()), ToString(filter.shape()));
  if (volume.dim(4) != filter.dim(3)) {
    return InvalidArgument("input depth must equal filter depth: {} vs {}", volume.dim(4), filter.dim(3));
  }
  ASSIGN_OR_RETURN(const Volume window, VolumeOf(call, volume.shape(), {filter.dim(0), filter.dim(1), filter.dim(2)}));
  const Shape shape = {volume.dim(0), window[0].out, window[1].out, window[2].out, filter.dim(4)};
  RETURN_IF_ERROR(call.HasRoomFor(volume.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(volume, shape));
  return ForFloats(volume.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < (out.elements() == 0 ? 0 : volume.dim(0)); ++i) {
      const T* from = Raw<T>(volume) + i * (volume.elements() / volume.dim(0));
      T* to = Raw<T>(out) + i * (out.elements() / volume.dim(0));
      Convolve(from, Raw<T>(filter), window, volume.dim(4), filter.dim(4), to);
    }
    return One(out);
  });
}

// Reads only positions inside the volume. The maximum ignores NaN; if there are no other values, it is the lowest
// number.
template <bool kIsMax, typename T>
void PoolAt(const T* volume, const Volume& window, const std::array<int64_t, 3>& at, int64_t channels, T* out) {
  std::fill_n(out, channels, kIsMax ? std::numeric_limits<T>::lowest() : T{0});
  int64_t count = 0;
  ForEachInside(window, at, [&](int64_t, int64_t offset) {
    const T* from = volume + offset * channels;
    for (int64_t c = 0; c < channels; ++c) {
      if (kIsMax)
        out[c] = from[c] > out[c] ? from[c] : out[c];
      else
        out[c] += from[c];
    }
    ++count;
  });
  for (int64_t c = 0; c < (kIsMax ? 0 : channels); ++c) out[c] /= static_cast<T>(count);
}

template <bool kIsMax>
Outputs Pool3D(const Call& call) {
  const Tensor& volume = call.in(0);
  const auto size = call.attributes().Ints("ksize");
  if (volume.rank() != 5) return InvalidArgument("input must be of rank 5, not of shape {}", ToString(volume.shape()));
  if (size.size() != 5) return InvalidArgument("ksize must have 5 elements, not {}", size.size());
  ASSIGN_OR_RETURN(const Volume window, VolumeOf(call, volume.shape(), {size[1], size[2], size[3]}));
  const int64_t channels = volume.dim(4);
  const Shape shape = {volume.dim(0), window[0].out, window[1].out, window[2].out, channels};
  RETURN_IF_ERROR(call.HasRoomFor(volume.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(volume, shape));
  return ForFloats(volume.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t places = PlacesOf(window);
    for (int64_t i = 0; i < (out.elements() == 0 ? 0 : volume.dim(0) * places); ++i) {
      const T* one = Raw<T>(volume) + i / places * (volume.elements() / volume.dim(0));
      PoolAt<kIsMax>(one, window, PlaceAt(window, i % places), channels, Raw<T>(out) + i * channels);
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {"AvgPool3D", AlsoShort<Pool3D<false>>, 1, kFloats | kShortFloats, CheckVolume},
    {"Conv3D", AlsoShort<Conv3D>, 2, kFloats | kShortFloats, CheckVolume},
    {"MaxPool3D", AlsoShort<Pool3D<true>>, 1, kFloats | kShortFloats, CheckVolume},
};

}  // namespace

std::span<const Kernel> VolumeKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::neural

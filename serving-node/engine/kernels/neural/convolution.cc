// Kernels for Conv2D and its depthwise form.
#include <algorithm>

#include "serving-node/engine/kernels/base/gemm.h"
#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/base/window.h"
#include "serving-node/engine/kernels/neural/families.h"

namespace longshore::engine::kernels::neural {
namespace {

// How many pixels of the result are computed at once: few enough that their unrolled patches stay in the cache.
constexpr int64_t kPlacesAtOnce = 64;

// Grouped convolution: the channels and the filters are split into equal groups, and the filters of a group see only
// the channels of that group.
struct Groups {
  int64_t count = 1;
  int64_t depth = 0;    // How many channels each group has.
  int64_t filters = 0;  // How many filters each group has.
};

Result<Groups> GroupsOf(int64_t channels, const Tensor& filter) {
  const int64_t depth = filter.dim(2);
  if (channels == 0 || channels % depth != 0) {
    return InvalidArgument("input depth must be evenly divisible by filter depth: {} vs {}", channels, depth);
  }
  const int64_t count = channels / depth;
  if (filter.dim(3) % count != 0) {
    return InvalidArgument("output depth must be evenly divisible by number of groups: {} vs {}", filter.dim(3), count);
  }
  return Groups{.count = count, .depth = depth, .filters = filter.dim(3) / count};
}

// Copies the values of the image under the window at (row, column) of the result to `patch`, whose shape is [window
// rows, window columns, taken]. Values outside the image are zero. A pixel of the image has `channels` values, of which
// the first `taken` are copied.
template <typename T>
void CopyPatch(const T* image, const Window& window, int64_t channels, int64_t taken, int64_t row, int64_t column,
               T* patch) {
  const auto& [rows, columns] = window;
  for (int64_t i = 0; i < rows.window; ++i) {
    const int64_t y = row * rows.stride - rows.before + i * rows.dilation;
    for (int64_t j = 0; j < columns.window; ++j, patch += taken) {
      const int64_t x = column * columns.stride - columns.before + j * columns.dilation;
      const bool inside = y >= 0 && y < rows.size && x >= 0 && x < columns.size;
      if (inside)
        std::copy_n(image + (y * columns.size + x) * channels, taken, patch);
      else
        std::fill_n(patch, taken, T{0});
    }
  }
}

Status CheckShapes(const Tensor& image, const Tensor& filter) {
  if (image.rank() == 4 && filter.rank() == 4 && image.type() == filter.type() && filter.elements() > 0) return {};
  return InvalidArgument("input {} and filter {} must be of rank 4 and of one type, and the filter must not be empty",
                         ToString(image.shape()), ToString(filter.shape()));
}

// Makes the filters of each group contiguous: [taps, filters] becomes [group, taps, filters of the group]. A tap is one
// (row, column, channel) of a filter.
template <typename T>
std::vector<T> FiltersByGroup(const Tensor& filter, const Groups& groups) {
  const int64_t taps = filter.elements() / filter.dim(3);
  std::vector<T> sorted(static_cast<size_t>(filter.elements()));
  for (int64_t group = 0; group < groups.count; ++group) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const T* from = Raw<T>(filter) + tap * filter.dim(3) + group * groups.filters;
      std::copy_n(from, groups.filters, sorted.data() + (group * taps + tap) * groups.filters);
    }
  }
  return sorted;
}

// Convolves the channels of one group of one image: unrolls the image into one patch per pixel of the result, and
// multiplies the matrix of patches by the matrix of filters. `image` and `out` point to the first channel of the group,
// but each of their pixels holds the channels of all groups.
template <typename T>
void ConvolveGroup(const T* image, const T* filters, const Window& window, const Groups& groups, T* out) {
  const int64_t patch_size = window.rows.window * window.columns.window * groups.depth;
  const int64_t places = window.rows.out * window.columns.out;
  const int64_t at_once = std::min(places, kPlacesAtOnce);
  const bool is_single_group = groups.count == 1;
  std::vector<T> patches(static_cast<size_t>(at_once * patch_size));
  std::vector<T> products(static_cast<size_t>(is_single_group ? 0 : at_once * groups.filters));
  for (int64_t first = 0; first < places; first += kPlacesAtOnce) {
    const int64_t count = std::min(kPlacesAtOnce, places - first);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = (first + i) / window.columns.out, column = (first + i) % window.columns.out;
      CopyPatch(image, window, groups.count * groups.depth, groups.depth, row, column, patches.data() + i * patch_size);
    }
    T* to = out + first * groups.count * groups.filters;
    Gemm(patches.data(), filters, is_single_group ? to : products.data(), count, patch_size, groups.filters);
    for (int64_t i = 0; i < (is_single_group ? 0 : count); ++i) {
      std::copy_n(products.data() + i * groups.filters, groups.filters, to + i * groups.count * groups.filters);
    }
  }
}

template <typename T>
void ConvolveAll(const Tensor& image, const Tensor& filter, const Window& window, const Groups& groups, Tensor* out) {
  if (out->elements() == 0) return;
  const auto sorted = groups.count == 1 ? std::vector<T>() : FiltersByGroup<T>(filter, groups);
  const T* filters = groups.count == 1 ? Raw<T>(filter) : sorted.data();
  for (int64_t i = 0; i < image.dim(0); ++i) {
    const T* from = Raw<T>(image) + i * (image.elements() / image.dim(0));
    T* to = Raw<T>(*out) + i * (out->elements() / image.dim(0));
    for (int64_t group = 0; group < groups.count; ++group) {
      const T* group_filters = filters + group * (filter.elements() / groups.count);
      ConvolveGroup(from + group * groups.depth, group_filters, window, groups, to + group * groups.filters);
    }
  }
}

Outputs Conv2D(const Call& call) {
  const Tensor& image = call.in(0);
  const Tensor& filter = call.in(1);
  RETURN_IF_ERROR(CheckShapes(image, filter));
  ASSIGN_OR_RETURN(const Groups groups, GroupsOf(image.dim(3), filter));
  ASSIGN_OR_RETURN(const Window window, WindowOf(call, image.shape(), filter.dim(0), filter.dim(1)));
  const Shape shape = {image.dim(0), window.rows.out, window.columns.out, filter.dim(3)};
  RETURN_IF_ERROR(call.HasRoomFor(image.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(image, shape));
  return ForFloats(image.type(), [&](auto tag) {
    ConvolveAll<typename decltype(tag)::type>(image, filter, window, groups, &out);
    return One(out);
  });
}

// The filter is [rows, columns, channels, multiplier]: every channel has `multiplier` filters of its own.
Outputs DepthwiseConv2D(const Call& call) {
  const Tensor& image = call.in(0);
  const Tensor& filter = call.in(1);
  RETURN_IF_ERROR(CheckShapes(image, filter));
  const int64_t channels = image.dim(3), multiplier = filter.dim(3);
  if (channels != filter.dim(2))
    return InvalidArgument("input depth must equal filter depth: {} vs {}", channels, filter.dim(2));
  ASSIGN_OR_RETURN(const Window window, WindowOf(call, image.shape(), filter.dim(0), filter.dim(1)));
  const Shape shape = {image.dim(0), window.rows.out, window.columns.out, channels * multiplier};
  RETURN_IF_ERROR(call.HasRoomFor(image.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(image, shape));
  const int64_t taps = filter.dim(0) * filter.dim(1);
  return ForFloats(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> patch(static_cast<size_t>(taps * channels));
    std::fill_n(Raw<T>(out), out.elements(), T{0});
    const int64_t places = window.rows.out * window.columns.out;
    for (int64_t place = 0; place < (out.elements() == 0 ? 0 : image.dim(0) * places); ++place) {
      const int64_t at = place % places;
      const T* one = Raw<T>(image) + place / places * (image.elements() / image.dim(0));
      CopyPatch(one, window, channels, channels, at / window.columns.out, at % window.columns.out, patch.data());
      T* to = Raw<T>(out) + place * channels * multiplier;
      for (int64_t i = 0; i < taps * channels * multiplier; ++i) {
        to[i % (channels * multiplier)] += patch[static_cast<size_t>(i / multiplier)] * Raw<T>(filter)[i];
      }
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {"Conv2D", AlsoShort<Conv2D>, 2, kFloats | kShortFloats, CheckWindow},
    {"DepthwiseConv2dNative", AlsoShort<DepthwiseConv2D>, 2, kFloats | kShortFloats, CheckWindow},
};

}  // namespace

std::span<const Kernel> ConvolutionKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::neural

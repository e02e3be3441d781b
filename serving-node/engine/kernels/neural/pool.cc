// Pooling of images: the largest or the mean value under a window.
#include <algorithm>
#include <limits>

#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/base/window.h"
#include "serving-node/engine/kernels/neural/families.h"

namespace longshore::engine::kernels::neural {
namespace {

// The rows or columns [begin, end) of a window that are inside the image.
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

Span Inside(const Slide& slide, int64_t place) {
  const int64_t begin = place * slide.stride - slide.before;
  return {std::max<int64_t>(begin, 0), std::min(begin + slide.window, slide.size)};
}

// MaxAt and MeanAt read only pixels inside the image. As in TensorFlow, MaxAt ignores NaN and gives the lowest number
// if there are no other values; MeanAt does not ignore NaN.
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

Result<Window> PoolWindow(const Call& call) {
  const Shape& image = call.in(0).shape();
  const auto size = call.attributes().Ints("ksize");
  if (image.size() != 4 || size.size() != 4)
    return InvalidArgument("input must be of rank 4, not of shape {}", ToString(image));
  return WindowOf(call, image, size[1], size[2]);
}

template <bool kIsMax>
Outputs PoolOver(const Call& call, const Window& window) {
  const Tensor& image = call.in(0);
  const int64_t channels = image.dim(3), width = image.dim(2);
  const Shape shape = {image.dim(0), window.rows.out, window.columns.out, channels};
  RETURN_IF_ERROR(call.HasRoomFor(image.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(image, shape));
  const auto fill = [&](auto tag) {
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
  };
  if constexpr (kIsMax) return ForNumbers(image.type(), fill);
  if constexpr (!kIsMax) return ForFloats(image.type(), fill);  // Floats only: an empty window divides by zero.
}

template <bool kIsMax>
Outputs Pool(const Call& call) {
  ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  return PoolOver<kIsMax>(call, window);
}

// Like MaxPool, but the window size and the strides are inputs instead of attributes.
Outputs MaxPoolV2(const Call& call) {
  const Tensor& image = call.in(0);
  ASSIGN_OR_RETURN(const auto size, IntsOf(call.in(1), "ksize"));
  ASSIGN_OR_RETURN(const auto strides, IntsOf(call.in(2), "strides"));
  for (const auto& list : {size, strides}) {
    if (list.size() != 4 || !AreSteps(list))
      return InvalidArgument("ksize {} and strides {} must be four positive numbers each", ToString(size),
                             ToString(strides));
    if (list[0] != 1 || list[3] != 1)
      return Unimplemented("pooling across batches or depth is not supported: ksize {}, strides {}", ToString(size),
                           ToString(strides));
  }
  if (image.rank() != 4) return InvalidArgument("input must be of rank 4, not of shape {}", ToString(image.shape()));
  Window window;
  window.rows = {.size = image.dim(1), .window = size[1], .stride = strides[1]};
  window.columns = {.size = image.dim(2), .window = size[2], .stride = strides[2]};
  const std::string padding = call.attributes().Text("padding", "VALID");
  RETURN_IF_ERROR(PlaceWindow(padding, 0, 0, &window.rows));
  RETURN_IF_ERROR(PlaceWindow(padding, 0, 0, &window.columns));
  return PoolOver<true>(call, window);
}

struct Largest {
  Tensor values;
  Tensor places;  // The index of each value in its image or batch, DT_INT64.
};

// Finds the largest value under each window and its index, which counts from the start of its image, or from the start
// of the batch if count_batch. Of equal values the first is taken. NaN is taken only if it is the first value under the
// window.
template <typename T>
void FindLargest(const Tensor& image, const Window& window, bool count_batch, Largest* found) {
  const int64_t channels = image.dim(3), places = window.rows.out * window.columns.out;
  const int64_t image_size = image.dim(1) * image.dim(2) * channels;
  for (int64_t i = 0; i < found->values.elements(); ++i) {
    const int64_t place = i / channels, in_image = place % places, first = place / places * image_size;
    const Span rows = Inside(window.rows, in_image / window.columns.out);
    const Span columns = Inside(window.columns, in_image % window.columns.out);
    int64_t best = -1;
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        const int64_t at = first + (y * image.dim(2) + x) * channels + i % channels;
        if (best < 0 || Raw<T>(image)[at] > Raw<T>(image)[best]) best = at;
      }
    }
    Raw<T>(found->values)[i] = best < 0 ? std::numeric_limits<T>::lowest() : Raw<T>(image)[best];
    Raw<int64_t>(found->places)[i] = best < 0 || count_batch ? best : best - first;
  }
}

Outputs MaxPoolWithArgmax(const Call& call) {
  ASSIGN_OR_RETURN(const Window window, PoolWindow(call));
  const Tensor& image = call.in(0);
  const Shape shape = {image.dim(0), window.rows.out, window.columns.out, image.dim(3)};
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt64, shape));
  Largest found;
  ASSIGN_OR_RETURN(found.values, MakeLike(image, shape));
  ASSIGN_OR_RETURN(found.places, Tensor::Make(DType::kInt64, shape));
  return ForNumbers(image.type(), [&](auto tag) -> Outputs {
    FindLargest<typename decltype(tag)::type>(image, window, call.attributes().Bool("include_batch_in_index", false),
                                              &found);
    if (call.attributes().Type("Targmax", DType::kInt64) == DType::kInt64)
      return std::vector<Tensor>{found.values, found.places};
    ASSIGN_OR_RETURN(Tensor narrow, Tensor::Make(DType::kInt32, shape));
    std::transform(Raw<int64_t>(found.places), Raw<int64_t>(found.places) + narrow.elements(), Raw<int32_t>(narrow),
                   [](int64_t place) { return static_cast<int32_t>(place); });
    return std::vector<Tensor>{found.values, narrow};
  });
}

constexpr Kernel kKernels[] = {
    {"AvgPool", AlsoShort<Pool<false>>, 1, kFloats | kShortFloats, CheckWindow},
    {"MaxPool", AlsoShort<Pool<true>>, 1, kNumbers | kShortFloats, CheckWindow},
    {"MaxPoolV2", AlsoShort<MaxPoolV2>, 3, kNumbers | kShortFloats, CheckWindow},
    {"MaxPoolWithArgmax", MaxPoolWithArgmax, 1, kNumbers, CheckWindow},
};

}  // namespace

std::span<const Kernel> PoolKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::neural

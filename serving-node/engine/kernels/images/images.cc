// Colour and contrast adjustments, patches and local response normalisation of images.
#include <algorithm>
#include <cmath>

#include "serving-node/engine/kernels/base/short_floats.h"
#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/base/window.h"
#include "serving-node/engine/kernels/images/families.h"

namespace longshore::engine::kernels::images {
namespace {

// Multiplies the difference between each value and the mean of its channel in its image by the contrast factor.
Outputs AdjustContrast(const Call& call) {
  const Tensor& images = call.in(0);
  const Tensor& factor = call.in(1);
  if (images.rank() < 3 || images.type() != DType::kFloat)
    return InvalidArgument("images must be DT_FLOAT of rank 3 or more, not {}{}", DTypeName(images.type()),
                           ToString(images.shape()));
  if (factor.rank() != 0 || factor.type() != DType::kFloat) return InvalidArgument("contrast_factor must be one float");
  const int64_t channels = images.shape().back();
  const int64_t places = images.dim(images.rank() - 2) * images.dim(images.rank() - 3);
  ASSIGN_OR_RETURN(Tensor out, MakeLike(images, images.shape()));
  if (images.elements() == 0) return One(out);
  for (int64_t first = 0; first < images.elements(); first += places * channels) {
    for (int64_t c = 0; c < channels; ++c) {
      const float* from = Raw<float>(images) + first + c;
      double sum = 0;
      for (int64_t i = 0; i < places; ++i) sum += static_cast<double>(from[i * channels]);
      const auto mean = static_cast<float>(sum / static_cast<double>(places));
      float* to = Raw<float>(out) + first + c;
      for (int64_t i = 0; i < places; ++i) to[i * channels] = (from[i * channels] - mean) * *Raw<float>(factor) + mean;
    }
  }
  return One(out);
}

template <typename T>
using Colour = std::array<T, 3>;

struct ToHsv {
  template <typename T>
  Colour<T> operator()(const Colour<T>& rgb) const {
    const auto [r, g, b] = rgb;
    const T value = std::max({r, g, b}), range = value - std::min({r, g, b});
    if (!(range > 0)) return {T{0}, value > 0 ? range / value : T{0}, value};
    const T norm = T{1} / (T{6} * range);
    T hue = r == value ? norm * (g - b) : g == value ? norm * (b - r) + T(2.0 / 6) : norm * (r - g) + T(4.0 / 6);
    if (hue < 0) hue += 1;
    return {hue, value > 0 ? range / value : T{0}, value};
  }
};

struct ToRgb {
  template <typename T>
  Colour<T> operator()(const Colour<T>& hsv) const {
    const auto [hue, saturation, value] = hsv;
    const T angle = hue * 6;
    const auto part = [&](T x) {
      return ((T{1} - saturation) + saturation * std::min(std::max(x, T{0}), T{1})) * value;
    };
    return {part(std::fabs(angle - 3) - 1), part(2 - std::fabs(angle - 2)), part(2 - std::fabs(angle - 4))};
  }
};

template <typename F>
Outputs Colours(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.rank() < 1) return InvalidArgument("input must be at least a vector, not of shape []");
  if (in.shape().back() != 3)
    return FailedPrecondition("the last dimension must hold 3 colour channels, but the shape is {}",
                              ToString(in.shape()));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  return ForFloats(in.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < in.elements(); i += 3) {
      const T* from = Raw<T>(in) + i;
      const Colour<T> made = F{}(Colour<T>{from[0], from[1], from[2]});
      std::copy_n(made.data(), 3, Raw<T>(out) + i);
    }
    return One(out);
  });
}

// Converts the image to HSV, applies `change` to each pixel, and converts the image back to RGB.
template <typename F>
Outputs Adjusted(const Call& call, F change) {
  const Tensor& in = call.in(0);
  const Tensor& by = call.in(1);
  if (in.type() != DType::kFloat || in.rank() < 3 || in.shape().back() != 3)
    return InvalidArgument("images must be DT_FLOAT of rank 3 or more, with 3 channels last, not {}{}",
                           DTypeName(in.type()), ToString(in.shape()));
  if (by.type() != DType::kFloat || by.rank() != 0) return InvalidArgument("delta or scale must be one float");
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  for (int64_t i = 0; i < in.elements(); i += 3) {
    const float* from = Raw<float>(in) + i;
    auto colour = ToHsv{}(Colour<float>{from[0], from[1], from[2]});
    change(&colour, *Raw<float>(by));
    std::copy_n(ToRgb{}(colour).data(), 3, Raw<float>(out) + i);
  }
  return One(out);
}

Outputs AdjustHue(const Call& call) {
  return Adjusted(call, [](Colour<float>* hsv, float delta) {
    const float hue = (*hsv)[0] + delta;
    (*hsv)[0] = hue - std::floor(hue);
  });
}

Outputs AdjustSaturation(const Call& call) {
  return Adjusted(
      call, [](Colour<float>* hsv, float scale) { (*hsv)[1] = std::min(std::max((*hsv)[1] * scale, 0.0F), 1.0F); });
}

Slide PatchSlide(const Call& call, int64_t size, size_t at) {
  return {.size = size,
          .window = call.attributes().Ints("ksizes")[at],
          .stride = call.attributes().Ints("strides")[at],
          .dilation = call.attributes().Ints("rates")[at]};
}

// Each pixel of the result holds all values under its window of the image, one after the other. Values outside the
// image are zero.
Outputs ExtractImagePatches(const Call& call) {
  const Tensor& image = call.in(0);
  if (image.rank() != 4) return InvalidArgument("images must be of rank 4, not of shape {}", ToString(image.shape()));
  const int64_t channels = image.dim(3);
  Slide rows = PatchSlide(call, image.dim(1), 1), columns = PatchSlide(call, image.dim(2), 2);
  RETURN_IF_ERROR(PlaceWindow(call.attributes().Text("padding", "VALID"), 0, 0, &rows));
  RETURN_IF_ERROR(PlaceWindow(call.attributes().Text("padding", "VALID"), 0, 0, &columns));
  int64_t patch = rows.window * columns.window;
  if (__builtin_mul_overflow(patch, channels, &patch)) return InvalidArgument("the patches are too large");
  const Shape shape = {image.dim(0), rows.out, columns.out, patch};
  RETURN_IF_ERROR(call.HasRoomFor(image.type(), shape));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(image, shape));
  return ForMoves(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < (channels == 0 ? 0 : out.elements() / channels); ++i) {
      const int64_t tap = i % (rows.window * columns.window), place = i / (rows.window * columns.window);
      const int64_t y =
          place / columns.out % rows.out * rows.stride - rows.before + tap / columns.window * rows.dilation;
      const int64_t x = place % columns.out * columns.stride - columns.before + tap % columns.window * columns.dilation;
      const int64_t from = (place / columns.out / rows.out * rows.size + y) * columns.size + x;
      if (y < 0 || y >= rows.size || x < 0 || x >= columns.size)
        std::fill_n(Raw<T>(out) + i * channels, channels, T{});
      else
        std::copy_n(Raw<T>(image) + from * channels, channels, Raw<T>(out) + i * channels);
    }
    return One(out);
  });
}

Status CheckPatches(const graph::Node& node) {
  for (const char* name : {"ksizes", "strides", "rates"}) {
    const auto list = node.attributes.Ints(name);
    if (list.size() != 4 || list[0] != 1 || list[3] != 1 || !AreSteps(list))
      return Unimplemented("{} with {} {}", node.op, name, ToString(list));
  }
  const std::string padding = node.attributes.Text("padding", "VALID");
  return padding == "SAME" || padding == "VALID" ? Status{} : Unimplemented("{} with padding {}", node.op, padding);
}

// Divides each value by a norm of the values of the same pixel in neighbouring channels.
Outputs LocalResponse(const Call& call) {
  const Tensor& in = call.in(0);
  if (in.rank() != 4 || in.type() != DType::kFloat)
    return InvalidArgument("input must be DT_FLOAT of rank 4, not {}{}", DTypeName(in.type()), ToString(in.shape()));
  const int64_t channels = in.dim(3), radius = call.attributes().Int("depth_radius", 5);
  const float bias = call.attributes().Float("bias", 1), alpha = call.attributes().Float("alpha", 1);
  const float beta = call.attributes().Float("beta", 0.5F);
  ASSIGN_OR_RETURN(Tensor out, MakeLike(in, in.shape()));
  for (int64_t i = 0; i < in.elements(); ++i) {
    const int64_t c = i % channels;
    const float* row = Raw<float>(in) + i - c;
    double sum = 0;
    for (int64_t k = std::max<int64_t>(c - radius, 0); k <= std::min(c + radius, channels - 1); ++k)
      sum += static_cast<double>(row[k]) * static_cast<double>(row[k]);
    Raw<float>(out)[i] = row[c] * std::pow(bias + alpha * static_cast<float>(sum), -beta);
  }
  return One(out);
}

Status CheckRadius(const graph::Node& node) {
  const int64_t radius = node.attributes.Int("depth_radius", 5);
  return radius >= 0 && radius <= INT32_MAX ? Status{} : Unimplemented("{} with depth_radius {}", node.op, radius);
}

constexpr TypeSet kFloatOnly = Only(DType::kFloat);
constexpr Kernel kKernels[] = {
    {"AdjustContrastv2", AdjustContrast, 2, kFloatOnly},
    {"AdjustHue", AdjustHue, 2, kFloatOnly},
    {"AdjustSaturation", AdjustSaturation, 2, kFloatOnly},
    {"ExtractImagePatches", ExtractImagePatches, 1, kNumbers, CheckPatches},
    {"HSVToRGB", AlsoShort<Colours<ToRgb>>, 1, kFloats | kShortFloats},
    {"LRN", AlsoShort<LocalResponse>, 1, kFloatOnly | kShortFloats, CheckRadius},
    {"RGBToHSV", AlsoShort<Colours<ToHsv>>, 1, kFloats | kShortFloats},
};

}  // namespace

std::span<const Kernel> ImageKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::images

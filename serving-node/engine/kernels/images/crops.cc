// Kernels that cut boxes out of images and resize them, and that scale and translate images.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/images/families.h"
#include "serving-node/engine/kernels/images/wide_images.h"

namespace longshore::engine::kernels::images {
namespace {

// One direction of a box: maps the places of the crop to places of the image.
struct Side {
  float low = 0, high = 0;
  int64_t in = 0, out = 0;

  float At(int64_t place) const {
    const auto last = static_cast<float>(in - 1);
    if (out < 2) return 0.5F * (low + high) * last;
    const float step = (high - low) * last / static_cast<float>(out - 1);
    return low * last + static_cast<float>(place) * step;
  }
  bool IsInside(float at) const { return at >= 0 && at <= static_cast<float>(in - 1); }
};

// One value of a crop: interpolated between the four nearest places, or copied from the nearest one.
template <typename T>
float ValueAt(const T* image, float y, float x, bool is_nearest, int64_t width, int64_t channels) {
  const auto value = [&](float row, float column) {
    return static_cast<float>(image[(static_cast<int64_t>(row) * width + static_cast<int64_t>(column)) * channels]);
  };
  if (is_nearest) return value(std::round(y), std::round(x));
  const float top = std::floor(y), bottom = std::ceil(y), left = std::floor(x), right = std::ceil(x);
  const float above = value(top, left) + (value(top, right) - value(top, left)) * (x - left);
  const float below = value(bottom, left) + (value(bottom, right) - value(bottom, left)) * (x - left);
  return above + (below - above) * (y - top);
}

struct Boxes {
  const Tensor& boxes;
  std::vector<int64_t> images;  // The index of the image of each box.
  int64_t height = 0, width = 0;
};

Result<Boxes> BoxesOf(const Call& call) {
  const Tensor& image = call.in(0);
  const Tensor& boxes = call.in(1);
  ASSIGN_OR_RETURN(auto images, IntsOf(call.in(2), "box_ind", tensor::kTensorBytesMax));
  ASSIGN_OR_RETURN(const auto size, IntsOf(call.in(3), "crop_size"));
  if (image.rank() != 4 || image.dim(1) < 1 || image.dim(2) < 1)
    return InvalidArgument("image must be of rank 4 and not empty, not of shape {}", ToString(image.shape()));
  if (boxes.type() != DType::kFloat || call.in(2).rank() != 1 ||
      boxes.shape() != Shape{static_cast<int64_t>(images.size()), 4})
    return InvalidArgument(
        "boxes must be DT_FLOAT[{},4], with one row for each element of the vector box_ind, not {}{}", images.size(),
        DTypeName(boxes.type()), ToString(boxes.shape()));
  const auto is_invalid_size = [](int64_t side) { return side < 1 || side > INT32_MAX; };
  if (size.size() != 2 || std::ranges::any_of(size, is_invalid_size))
    return InvalidArgument("crop_size must be two positive numbers, not {}", ToString(size));
  for (const int64_t at : images) {
    if (at < 0 || at >= image.dim(0)) return OutOfRange("box_ind {} is out of range for {} images", at, image.dim(0));
  }
  return Boxes{boxes, std::move(images), size[0], size[1]};
}

// boxes [n, 4]: y and x of one corner, then of the opposite corner, where 0 to 1 spans the image.
Outputs CropAndResize(const Call& call) {
  const Tensor& image = call.in(0);
  ASSIGN_OR_RETURN(const Boxes crops, BoxesOf(call));
  const int64_t channels = image.dim(3), width = image.dim(2);
  const Shape shape = {static_cast<int64_t>(crops.images.size()), crops.height, crops.width, channels};
  RETURN_IF_ERROR(call.HasRoomFor(DType::kFloat, shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kFloat, shape));
  const float outside = call.attributes().Float("extrapolation_value", 0);
  const bool is_nearest = call.attributes().Text("method", "bilinear") == "nearest";
  return ForNumbers(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < out.elements(); ++i) {
      const int64_t place = i / channels, box = place / crops.width / crops.height;
      const float* corners = Raw<float>(crops.boxes) + box * 4;
      const Side rows{corners[0], corners[2], image.dim(1), crops.height};
      const Side columns{corners[1], corners[3], width, crops.width};
      const float y = rows.At(place / crops.width % crops.height), x = columns.At(place % crops.width);
      const T* from = Raw<T>(image) + crops.images[static_cast<size_t>(box)] * image.dim(1) * width * channels;
      const bool is_inside = rows.IsInside(y) && columns.IsInside(x);
      Raw<float>(out)[i] = is_inside ? ValueAt(from + i % channels, y, x, is_nearest, width, channels) : outside;
    }
    return One(out);
  });
}

Status CheckMethod(const graph::Node& node) {
  const std::string method = node.attributes.Text("method", "bilinear");
  return method == "bilinear" || method == "nearest" ? Status{} : Unimplemented("{} with method {}", node.op, method);
}

// A filter of the resampling: the weight of a place of the image by its distance from the sampled point.
struct Filter {
  const char* name;
  float radius;
  float (*weight)(float distance);
};

template <int kRadius>
float Lanczos(float x) {
  constexpr auto kPi = std::numbers::pi_v<float>;
  if (x > kRadius) return 0;
  if (x <= 1e-3F) return 1;
  return kRadius * std::sin(kPi * x) * std::sin(kPi * x / kRadius) / (kPi * kPi * x * x);
}
float Gaussian(float x) {
  constexpr float kRadius = 1.5F, kSigma = kRadius / 3;
  return x >= kRadius ? 0 : std::exp(-x * x / (2 * kSigma * kSigma));
}
float Box(float x) { return x < 0.5F ? 1.0F : x == 0.5F ? 0.5F : 0.0F; }
float Triangle(float x) { return x < 1 ? 1 - x : 0; }
float KeysCubic(float x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-0.5F * x + 2.5F) * x - 4) * x + 2 : ((1.5F * x - 2.5F) * x) * x + 1;
}
float MitchellCubic(float x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-7.0F / 18 * x + 2) * x - 10.0F / 3) * x + 16.0F / 9 : ((7.0F / 6 * x - 2) * x) * x + 8.0F / 9;
}

constexpr Filter kFilters[] = {
    {"lanczos1", 1, Lanczos<1>},
    {"lanczos3", 3, Lanczos<3>},
    {"lanczos5", 5, Lanczos<5>},
    {"gaussian", 1.5F, Gaussian},
    {"box", 1, Box},
    {"triangle", 1, Triangle},
    {"keyscubic", 2, KeysCubic},
    {"mitchellcubic", 2, MitchellCubic},
};

const Filter* FilterOf(const graph::Node& node) {
  const std::string name = node.attributes.Text("kernel_type", "lanczos3");
  const auto* found = std::ranges::find_if(kFilters, [&](const Filter& filter) { return name == filter.name; });
  return found == std::end(kFilters) ? nullptr : found;
}

Status CheckFilter(const graph::Node& node) {
  if (FilterOf(node) != nullptr) return {};
  return Unimplemented("{} with kernel_type {}", node.op, node.attributes.Text("kernel_type", ""));
}

// One direction of an image that is scaled by `scale` and moved by `shift` places of the result.
struct Scaled {
  int64_t in = 0, out = 0;
  float scale = 1, shift = 0;
};

// The weights of consecutive places of the image, from `first` on, that make up one place of the result.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

// The memory of a Taps with few weights, including the heap block of the weights.
constexpr size_t kTapsBytes = sizeof(Taps) + 32;

// Returns no weights if the place is outside the image.
Taps TapsAt(const Scaled& axis, int64_t place, const Filter& filter, float stretch) {
  const float inverse = static_cast<float>(1.0 / axis.scale);
  const float at = (static_cast<float>(place) + 0.5F) * inverse + -inverse * axis.shift;
  if (!(at >= 0 && at <= static_cast<float>(axis.in))) return {};
  const float reach = filter.radius * stretch, last = static_cast<float>(axis.in - 1);
  const auto first = static_cast<int64_t>(std::clamp(std::ceil(at - reach - 0.5F), 0.0F, last));
  const auto end = static_cast<int64_t>(std::clamp(std::floor(at + reach - 0.5F), 0.0F, last));
  Taps taps{first, {}};
  float sum = 0;
  for (int64_t i = first; i <= end; ++i) {
    taps.weights.push_back(filter.weight(std::fabs((static_cast<float>(i) + 0.5F - at) / stretch)));
    sum += taps.weights.back();
  }
  if (std::fabs(sum) >= 1000 * std::numeric_limits<float>::min()) {
    for (float& weight : taps.weights) weight *= 1.0F / sum;
  }
  return taps;
}

std::vector<Taps> AllTaps(const Scaled& axis, const Filter& filter, bool antialias) {
  const float stretch = antialias ? std::max(static_cast<float>(1.0 / axis.scale), 1.0F) : 1.0F;
  std::vector<Taps> all;
  all.reserve(static_cast<size_t>(axis.out));
  for (int64_t place = 0; place < axis.out; ++place) all.push_back(TapsAt(axis, place, filter, stretch));
  return all;
}

Result<std::array<Scaled, 2>> ScalesOf(const Call& call) {
  const Tensor& image = call.in(0);
  ASSIGN_OR_RETURN(const auto size, IntsOf(call.in(1), "size"));
  const auto is_invalid_side = [](int64_t side) { return side < 1 || side > INT32_MAX; };
  if (image.rank() != 4 || size.size() != 2 || std::ranges::any_of(size, is_invalid_side) || image.elements() == 0)
    return InvalidArgument("images {} must be of rank 4 and not empty, and size must be two positive numbers, not {}",
                           ToString(image.shape()), ToString(size));
  std::array<Scaled, 2> scales;
  for (const size_t input : {2U, 3U}) {
    if (call.in(input).type() != DType::kFloat || call.in(input).shape() != Shape{2})
      return InvalidArgument("scale and translation must be two floats each");
  }
  for (size_t i = 0; i < 2; ++i) {
    scales[i] = {image.dim(static_cast<int>(i) + 1), size[i], Raw<float>(call.in(2))[i], Raw<float>(call.in(3))[i]};
    if (!(scales[i].scale > 0)) return InvalidArgument("scale {} must be greater than zero", scales[i].scale);
  }
  return scales;
}

template <typename T>
float WeightedSum(const T* image, const Taps& rows, const Taps& columns, int64_t width, int64_t channels) {
  float sum = 0;
  for (size_t j = 0; j < columns.weights.size(); ++j) {
    float vertical = 0;
    for (size_t i = 0; i < rows.weights.size(); ++i) {
      const int64_t place = (rows.first + static_cast<int64_t>(i)) * width + columns.first + static_cast<int64_t>(j);
      vertical += rows.weights[i] * static_cast<float>(image[place * channels]);
    }
    sum += columns.weights[j] * vertical;
  }
  return sum;
}

Outputs ScaleAndTranslate(const Call& call) {
  const Tensor& image = call.in(0);
  ASSIGN_OR_RETURN(const auto scales, ScalesOf(call));
  const int64_t channels = image.dim(3), width = image.dim(2);
  const Shape shape = {image.dim(0), scales[0].out, scales[1].out, channels};
  RETURN_IF_ERROR(call.HasRoomFor(DType::kFloat, shape));
  RETURN_IF_ERROR(HasRoomForTable(call, shape[1] + shape[2], kTapsBytes));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kFloat, shape));
  const Filter* filter = FilterOf(call.node);
  if (filter == nullptr) return InvalidArgument("kernel_type is unknown");
  const bool antialias = call.attributes().Bool("antialias", true);
  const auto rows = AllTaps(scales[0], *filter, antialias), columns = AllTaps(scales[1], *filter, antialias);
  return ForNumbers(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < out.elements(); ++i) {
      const int64_t place = i / channels, x = place % shape[2], y = place / shape[2] % shape[1];
      const T* from = Raw<T>(image) + place / shape[2] / shape[1] * image.dim(1) * width * channels + i % channels;
      const Taps& row = rows[static_cast<size_t>(y)];
      Raw<float>(out)[i] = WeightedSum(from, row, columns[static_cast<size_t>(x)], width, channels);
    }
    return One(out);
  });
}

constexpr Kernel kKernels[] = {
    {"CropAndResize", AlsoShortImages<CropAndResize>, 4, kNumbers | Only(DType::kHalf), CheckMethod},
    {"ScaleAndTranslate", AlsoShortImages<ScaleAndTranslate>, 4, kNumbers | kShortFloats, CheckFilter},
};

}  // namespace

std::span<const Kernel> CropKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::images

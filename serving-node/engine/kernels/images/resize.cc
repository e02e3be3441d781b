// Resizes images. Images are [batch, height, width, channels].
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/images/families.h"
#include "serving-node/engine/kernels/images/wide_images.h"

namespace longshore::engine::kernels::images {
namespace {

// One direction of an image, height or width, with the sizes before (`in`) and after (`out`) the resizing.
struct Axis {
  int64_t in = 0;
  int64_t out = 0;
  float scale = 1;  // Pixels of the image per pixel of the result.
  bool has_half_centers = false;

  // The position in the image, in this direction, of the centre of a pixel of the result.
  float At(int64_t place) const {
    const auto at = static_cast<float>(place);
    return has_half_centers ? (at + 0.5F) * scale - 0.5F : at * scale;
  }
};

Axis AxisFor(const Call& call, int64_t in, int64_t out) {
  const bool aligned = call.attributes().Bool("align_corners", false) && out > 1;
  const float scale = aligned ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                              : static_cast<float>(in) / static_cast<float>(out);
  return {in, out, scale, call.attributes().Bool("half_pixel_centers", false)};
}

struct Plan {
  Axis rows;
  Axis columns;
  Shape shape;
};

// `place_bytes` is the number of bytes that the op's tables need for each row and for each column of the result.
Result<Plan> PlanOf(const Call& call, DType out_type, size_t place_bytes) {
  const Tensor& image = call.in(0);
  ASSIGN_OR_RETURN(const auto size, IntsOf(call.in(1), "size"));
  if (image.rank() != 4 || call.in(1).rank() != 1 || size.size() != 2)
    return InvalidArgument("images {} must be of rank 4, and size must be two numbers, not {}", ToString(image.shape()),
                           ToString(size));
  const auto is_invalid_size = [](int64_t side) { return side < 1 || side > INT32_MAX; };
  if (std::ranges::any_of(size, is_invalid_size))
    return InvalidArgument("size {}: output dimensions must be positive", ToString(size));
  if (is_invalid_size(image.dim(1)) || is_invalid_size(image.dim(2)) || is_invalid_size(image.dim(3)))
    return InvalidArgument("images of shape {} are empty or too large", ToString(image.shape()));
  const Shape shape = {image.dim(0), size[0], size[1], image.dim(3)};
  RETURN_IF_ERROR(call.HasRoomFor(out_type, shape));
  if (place_bytes > 0) RETURN_IF_ERROR(HasRoomForTable(call, size[0] + size[1], place_bytes));
  return Plan{AxisFor(call, image.dim(1), size[0]), AxisFor(call, image.dim(2), size[1]), shape};
}

// Calls at(image, row, column, to) for each pixel of the result. `image` points to the input image and `to` to the
// values of the pixel.
template <typename T, typename R, typename F>
void ForEachPlace(const Plan& plan, const Tensor& image, Tensor* out, F at) {
  R* to = Raw<R>(*out);
  for (int64_t i = 0; i < plan.shape[0]; ++i) {
    const T* one = Raw<T>(image) + i * (image.elements() / plan.shape[0]);
    for (int64_t y = 0; y < plan.rows.out; ++y) {
      for (int64_t x = 0; x < plan.columns.out; ++x, to += plan.shape[3]) at(one, y, x, to);
    }
  }
}

// The N rows or columns of the image from which one row or column of the result is computed, and their weights.
template <size_t N>
struct Taps {
  std::array<int64_t, N> at{};
  std::array<float, N> weights{};
};

template <size_t N>
using TapsAt = Taps<N> (*)(const Axis& axis, int64_t place);

// Interpolates between two rows or columns of the image. weights[1] is the weight of the second one; weights[0] is
// unused.
Taps<2> LinearTaps(const Axis& axis, int64_t place) {
  const float at = axis.At(place);
  const float below = std::floor(at);
  return {
      {std::max<int64_t>(static_cast<int64_t>(below), 0), std::min(static_cast<int64_t>(std::ceil(at)), axis.in - 1)},
      {0, at - below}};
}

template <size_t N>
std::vector<Taps<N>> AllTaps(const Axis& axis, TapsAt<N> taps_at) {
  std::vector<Taps<N>> all;
  all.reserve(static_cast<size_t>(axis.out));
  for (int64_t place = 0; place < axis.out; ++place) all.push_back(taps_at(axis, place));
  return all;
}

// The result is DT_FLOAT, whatever the type of the image.
Outputs Bilinear(const Call& call) {
  const Tensor& image = call.in(0);
  ASSIGN_OR_RETURN(const Plan plan, PlanOf(call, DType::kFloat, sizeof(Taps<2>)));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kFloat, plan.shape));
  if (out.elements() == 0) return One(out);
  const auto rows = AllTaps<2>(plan.rows, LinearTaps);
  const auto columns = AllTaps<2>(plan.columns, LinearTaps);
  const int64_t channels = image.dim(3), row_size = image.dim(2) * channels;
  const bool is_same = plan.shape == image.shape();
  return ForNumbers(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForEachPlace<T, float>(plan, image, &out, [&](const T* one, int64_t y, int64_t x, float* to) {
      const auto& row = rows[static_cast<size_t>(y)];
      const auto& column = columns[static_cast<size_t>(x)];
      for (int64_t c = 0; c < channels; ++c) {
        if (is_same) {
          to[c] = static_cast<float>(one[y * row_size + x * channels + c]);
          continue;
        }
        const auto value = [&](size_t i, size_t j) {
          return static_cast<float>(one[row.at[i] * row_size + column.at[j] * channels + c]);
        };
        const float top = value(0, 0) + (value(0, 1) - value(0, 0)) * column.weights[1];
        const float bottom = value(1, 0) + (value(1, 1) - value(1, 0)) * column.weights[1];
        to[c] = top + (bottom - top) * row.weights[1];
      }
    });
    return One(out);
  });
}

int64_t NearestPlace(const Axis& axis, int64_t place, bool rounds) {
  const float at = static_cast<float>(place) + (axis.has_half_centers ? 0.5F : 0.0F);
  const float nearest = rounds ? std::round(at * axis.scale) : std::floor(at * axis.scale);
  return std::min(std::max<int64_t>(static_cast<int64_t>(nearest), 0), axis.in - 1);
}

Outputs NearestNeighbor(const Call& call) {
  const Tensor& image = call.in(0);
  ASSIGN_OR_RETURN(const Plan plan, PlanOf(call, image.type(), 0));
  ASSIGN_OR_RETURN(Tensor out, MakeLike(image, plan.shape));
  const bool rounds = call.attributes().Bool("align_corners", false);
  const int64_t channels = image.dim(3), row_size = image.dim(2) * channels;
  return ForMoves(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForEachPlace<T, T>(plan, image, &out, [&](const T* one, int64_t y, int64_t x, T* to) {
      const int64_t row = NearestPlace(plan.rows, y, rounds), column = NearestPlace(plan.columns, x, rounds);
      std::copy_n(one + row * row_size + column * channels, channels, to);
    });
    return One(out);
  });
}

// The cubic convolution kernel of Keys. Distances are multiples of 1/1024, as in TensorFlow's table of weights.
struct Cubic {
  float a;
  float Near(int64_t step) const {  // For a distance from 0 to 1, which is step / 1024.
    const float x = static_cast<float>(static_cast<double>(step) / kSteps);
    return static_cast<float>(((a + 2.0) * x - (a + 3.0)) * x * x + 1.0);
  }
  float Far(int64_t step) const {  // For a distance from 1 to 2, which is 1 + step / 1024.
    const float x = static_cast<float>(static_cast<double>(step) / kSteps) + 1.0F;
    return static_cast<float>(((static_cast<double>(a) * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a);
  }
  static constexpr int64_t kSteps = 1024;
};

// Rows and columns outside the image repeat its edge. With half-pixel centres they have the weight 0 instead.
Taps<4> CubicTaps(const Axis& axis, int64_t place) {
  const float at = axis.At(place);
  const auto below = static_cast<int64_t>(std::floor(at));
  const int64_t step = std::lrintf((at - static_cast<float>(below)) * static_cast<float>(Cubic::kSteps));
  const Cubic cubic{axis.has_half_centers ? -0.5F : -0.75F};
  Taps<4> taps;
  taps.weights = {cubic.Far(step), cubic.Near(step), cubic.Near(Cubic::kSteps - step), cubic.Far(Cubic::kSteps - step)};
  float sum = 0;
  for (size_t i = 0; i < 4; ++i) {
    const int64_t wanted = below - 1 + static_cast<int64_t>(i);
    taps.at[i] = std::clamp<int64_t>(wanted, 0, axis.in - 1);
    if (axis.has_half_centers && taps.at[i] != wanted) taps.weights[i] = 0;
    sum += taps.weights[i];
  }
  if (!axis.has_half_centers || std::fabs(sum) < 1000 * std::numeric_limits<float>::min()) return taps;
  for (float& weight : taps.weights) weight *= 1 / sum;
  return taps;
}

Outputs Bicubic(const Call& call) {
  const Tensor& image = call.in(0);
  ASSIGN_OR_RETURN(const Plan plan, PlanOf(call, DType::kFloat, sizeof(Taps<4>)));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kFloat, plan.shape));
  if (out.elements() == 0) return One(out);
  const auto rows = AllTaps<4>(plan.rows, CubicTaps);
  const auto columns = AllTaps<4>(plan.columns, CubicTaps);
  const int64_t channels = image.dim(3), row_size = image.dim(2) * channels;
  return ForNumbers(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForEachPlace<T, float>(plan, image, &out, [&](const T* one, int64_t y, int64_t x, float* to) {
      const auto& row = rows[static_cast<size_t>(y)];
      const auto& column = columns[static_cast<size_t>(x)];
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (size_t j = 0; j < 4; ++j) {
          float vertical = 0;
          for (size_t i = 0; i < 4; ++i)
            vertical += row.weights[i] * static_cast<float>(one[row.at[i] * row_size + column.at[j] * channels + c]);
          sum += column.weights[j] * vertical;
        }
        to[c] = sum;
      }
    });
    return One(out);
  });
}

// The rows or columns of the image, from `first` on, that one row or column of the result covers, and how much of each
// it covers.
struct Cover {
  int64_t first = 0;
  std::vector<float> shares;
};

// The memory of a Cover with the heap block of its `shares`, which has few elements if the result is larger than the
// image.
constexpr size_t kCoverBytes = sizeof(Cover) + 32;

// If the scale is 0 (align_corners and an image with a single row or column), the result covers that row or column
// fully.
Cover CoverOf(const Axis& axis, int64_t place) {
  if (axis.scale == 0) return {0, {1}};
  const float begin = static_cast<float>(place) * axis.scale;
  const float end = static_cast<float>(place + 1) * axis.scale;
  Cover cover{static_cast<int64_t>(std::floor(begin)), {}};
  for (int64_t i = cover.first; i < static_cast<int64_t>(std::ceil(end)); ++i) {
    const auto low = static_cast<float>(i);
    const bool is_last = low + 1 > end;
    cover.shares.push_back(low < begin ? (is_last ? axis.scale : low + 1 - begin) : (is_last ? end - low : 1.0F));
  }
  return cover;
}

std::vector<Cover> AllCovers(const Axis& axis) {
  std::vector<Cover> all;
  all.reserve(static_cast<size_t>(axis.out));
  for (int64_t place = 0; place < axis.out; ++place) all.push_back(CoverOf(axis, place));
  return all;
}

Outputs Area(const Call& call) {
  const Tensor& image = call.in(0);
  ASSIGN_OR_RETURN(const Plan plan, PlanOf(call, DType::kFloat, kCoverBytes));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kFloat, plan.shape));
  if (out.elements() == 0) return One(out);
  const auto rows = AllCovers(plan.rows);
  const auto columns = AllCovers(plan.columns);
  const int64_t channels = image.dim(3), row_size = image.dim(2) * channels;
  const auto extent = [](const Axis& axis) { return axis.scale == 0 ? 1.0F : axis.scale; };
  const float norm = 1.0F / (extent(plan.rows) * extent(plan.columns));
  return ForNumbers(image.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ForEachPlace<T, float>(plan, image, &out, [&](const T* one, int64_t y, int64_t x, float* to) {
      const Cover& row = rows[static_cast<size_t>(y)];
      const Cover& column = columns[static_cast<size_t>(x)];
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (size_t i = 0; i < row.shares.size(); ++i) {
          const int64_t y_at = std::min(row.first + static_cast<int64_t>(i), plan.rows.in - 1);
          float across = 0;
          for (size_t j = 0; j < column.shares.size(); ++j) {
            const int64_t x_at = std::min(column.first + static_cast<int64_t>(j), plan.columns.in - 1);
            across += static_cast<float>(one[y_at * row_size + x_at * channels + c]) * column.shares[j];
          }
          sum += across * row.shares[i];
        }
        to[c] = sum * norm;
      }
    });
    return One(out);
  });
}

Status CheckCorners(const graph::Node& node) {
  if (!node.attributes.Bool("align_corners", false) || !node.attributes.Bool("half_pixel_centers", false)) return {};
  return Unimplemented("{} with both align_corners and half_pixel_centers", node.op);
}

constexpr Kernel kKernels[] = {
    {"ResizeArea", AlsoShortImages<Area>, 2, kNumbers | kShortFloats},
    {"ResizeBicubic", AlsoShortImages<Bicubic>, 2, kNumbers | kShortFloats, CheckCorners},
    {"ResizeBilinear", AlsoShortImages<Bilinear>, 2, kNumbers | kShortFloats, CheckCorners},
    {"ResizeNearestNeighbor", NearestNeighbor, 2, kNumbers | kShortFloats, CheckCorners},
};

}  // namespace

std::span<const Kernel> ResizeKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::images

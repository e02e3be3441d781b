// Windows that slide over volumes, for three-dimensional convolution and pooling. Volumes are [batch, depth, height,
// width, channels].
#pragma once

#include <array>

#include "serving-node/engine/kernels/base/window.h"

namespace longshore::engine::kernels::neural {

// How a window slides in the directions depth, height and width. For an image, the depth is 1.
using Volume = std::array<Slide, 3>;

// How a window of the given size slides over the volume, with the node's strides, dilations and padding. Requires that
// CheckVolume succeeded and that the volume has rank 5.
Result<Volume> VolumeOf(const Call& call, const Shape& volume, const std::array<int64_t, 3>& window);

// Unimplemented unless volumes are NDHWC, strides apply to depth, height and width only, and the padding is SAME or
// VALID.
Status CheckVolume(const graph::Node& node);

// Puts the window at position `at` of the result, and calls inside(place, offset) for each of its elements that is
// inside the volume. `place` is the element's index in the window and `offset` its index in the volume, both in
// row-major order.
template <typename F>
void ForEachInside(const Volume& volume, const std::array<int64_t, 3>& at, F inside) {
  std::array<int64_t, 3> first{};
  for (size_t k = 0; k < 3; ++k) first[k] = at[k] * volume[k].stride - volume[k].before;
  int64_t place = 0;
  for (int64_t i = 0; i < volume[0].window; ++i) {
    const int64_t z = first[0] + i * volume[0].dilation;
    for (int64_t j = 0; j < volume[1].window; ++j) {
      const int64_t y = first[1] + j * volume[1].dilation;
      for (int64_t k = 0; k < volume[2].window; ++k, ++place) {
        const int64_t x = first[2] + k * volume[2].dilation;
        if (z < 0 || z >= volume[0].size || y < 0 || y >= volume[1].size || x < 0 || x >= volume[2].size) continue;
        inside(place, (z * volume[1].size + y) * volume[2].size + x);
      }
    }
  }
}

// Converts the row-major index `place` of a position in the result into its coordinates.
inline std::array<int64_t, 3> PlaceAt(const Volume& volume, int64_t place) {
  const int64_t plane = volume[1].out * volume[2].out;
  return {place / plane, place % plane / volume[2].out, place % volume[2].out};
}

// How many positions the result has.
inline int64_t PlacesOf(const Volume& volume) { return volume[0].out * volume[1].out * volume[2].out; }

}  // namespace longshore::engine::kernels::neural

// Windows that slide over volumes, for three-dimensional convolution and pooling. Volumes are [batch, depth, height,
// width, channels].
#pragma once

#include <array>

#include "serving-node/engine/kernels/base/window.h"

namespace longshore::engine::kernels::neural {

// The directions depth, height, width. An image is a volume of depth 1.
using Volume = std::array<Slide, 3>;

// The volume with the strides, dilations and padding of the node. Requires: CheckVolume succeeded, and a volume of rank
// 5.
Result<Volume> VolumeOf(const Call& call, const Shape& volume, const std::array<int64_t, 3>& window);

// Unimplemented unless volumes are NDHWC, strides apply to depth, height and width only, and the padding is a known
// one.
Status CheckVolume(const graph::Node& node);

// Calls inside(place, offset) for each place of the window at position `at` of the result, if the place is inside the
// volume. `place` is the index within the window, `offset` the index within the volume, both in row-major order.
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

// The position of the result's place with the row-major index `place`.
inline std::array<int64_t, 3> PlaceAt(const Volume& volume, int64_t place) {
  const int64_t plane = volume[1].out * volume[2].out;
  return {place / plane, place % plane / volume[2].out, place % volume[2].out};
}

// How many places the result has.
inline int64_t PlacesOf(const Volume& volume) { return volume[0].out * volume[1].out * volume[2].out; }

}  // namespace longshore::engine::kernels::neural

// Decodes image files into pixels. The functions return InvalidArgument for damaged files and for variants that the op
// does not support. If the result does not fit into the memory of the run, they return ResourceExhausted before they
// decode anything.
#pragma once

#include <optional>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::images {

// A rectangle within an image, in pixels.
struct Window {
  int64_t y = 0, x = 0, height = 0, width = 0;
};

struct JpegOptions {
  int64_t channels = 0;  // 1 or 3, or 0 for as many as the file has.
  int64_t ratio = 1;     // Height and width are divided by it: 1, 2, 4 or 8.
  bool fancy_upscaling = true;
  bool fast = true;  // Use a faster, less exact inverse DCT, as TensorFlow does by default.
  // The part to decode, in pixels of the image after its division by `ratio`. InvalidArgument if it is not inside the
  // image.
  std::optional<Window> window = {};
};

struct JpegSize {
  int64_t height = 0, width = 0, channels = 0;
};

// Returns a tensor [height, width, channels] of uint8.
Result<Tensor> DecodeJpeg(const Call& call, const std::string& bytes, const JpegOptions& options);
Result<JpegSize> SizeOfJpeg(const std::string& bytes);

// Returns a tensor [height, width, channels] of uint8, or of uint16 if `wide`. `channels` is 1 to 4, or 0 for as many
// as the file has.
Result<Tensor> DecodePng(const Call& call, const std::string& bytes, int64_t channels, bool wide);

// Returns a tensor [frames, height, width, 3] of uint8. Decodes at most frames_max frames.
Result<Tensor> DecodeGif(const Call& call, const std::string& bytes, int64_t frames_max);

// Returns a tensor [height, width, channels] of uint8. `channels` is 1, 3 or 4, or 0 for as many as the file has.
Result<Tensor> DecodeBmp(const Call& call, const std::string& bytes, int64_t channels);

}  // namespace longshore::engine::kernels::images

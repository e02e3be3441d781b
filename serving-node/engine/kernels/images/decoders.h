// Decodes image files into pixels with the library of each format. InvalidArgument for damaged files and for variants
// that the op does not support. ResourceExhausted, before anything is decoded, if the result does not fit into the
// memory of the run.
#pragma once

#include <optional>

#include "serving-node/engine/kernels/base/kernel.h"

namespace longshore::engine::kernels::images {

// A rectangle within an image, in pixels.
struct Window {
  int64_t y = 0, x = 0, height = 0, width = 0;
};

struct JpegOptions {
  int64_t channels = 0;  // 1 or 3; 0: as many as the file has.
  int64_t ratio = 1;     // Divides height and width by 1, 2, 4 or 8.
  bool fancy_upscaling = true;
  bool fast = true;                   // A faster, less exact transform: TensorFlow's default.
  std::optional<Window> window = {};  // In the reduced image. InvalidArgument if outside it.
};

struct JpegSize {
  int64_t height = 0, width = 0, channels = 0;
};

// [height, width, channels] of uint8.
Result<Tensor> DecodeJpeg(const Call& call, const std::string& bytes, const JpegOptions& options);
Result<JpegSize> SizeOfJpeg(const std::string& bytes);

// [height, width, channels] of uint8, or of uint16 if `wide`. `channels` is 1 to 4; 0: as many as the file has.
Result<Tensor> DecodePng(const Call& call, const std::string& bytes, int64_t channels, bool wide);

// [frames, height, width, 3] of uint8; decodes at most frames_max frames.
Result<Tensor> DecodeGif(const Call& call, const std::string& bytes, int64_t frames_max);

// [height, width, channels] of uint8. `channels` is 1, 3 or 4; 0: as many as the file has.
Result<Tensor> DecodeBmp(const Call& call, const std::string& bytes, int64_t channels);

}  // namespace longshore::engine::kernels::images

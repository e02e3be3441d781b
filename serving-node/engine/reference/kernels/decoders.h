// Image files into pixels, by the library of each format. What is damaged, or of a kind that an op does not take, is
// InvalidArgument; what the run has no memory for is ResourceExhausted before it is decoded.
#pragma once

#include <optional>

#include "serving-node/engine/reference/kernels/kernel.h"

namespace longshore::engine::reference::kernels::images {

// A part of an image.
struct Window {
  int64_t y = 0, x = 0, height = 0, width = 0;
};

struct JpegOptions {
  int64_t channels = 0;  // 1 or 3; 0 as the file has.
  int64_t ratio = 1;     // Made so many times smaller: 1, 2, 4 or 8.
  bool fancy_upscaling = true;
  bool fast = true;                   // A quicker transform that is less exact: TensorFlow's own choice.
  std::optional<Window> window = {};  // Of the image after it is made smaller. InvalidArgument outside of it.
};

struct JpegSize {
  int64_t height = 0, width = 0, channels = 0;
};

// [height, width, channels] of uint8.
Result<Tensor> DecodeJpeg(const Call& call, const std::string& bytes, const JpegOptions& options);
Result<JpegSize> SizeOfJpeg(const std::string& bytes);

// [height, width, channels] of uint8, or of uint16 when `wide`. 1 to 4 channels; 0 as the file has.
Result<Tensor> DecodePng(const Call& call, const std::string& bytes, int64_t channels, bool wide);

// [frames, height, width, 3] of uint8; at most frames_max of the frames.
Result<Tensor> DecodeGif(const Call& call, const std::string& bytes, int64_t frames_max);

// [height, width, channels] of uint8. 1, 3 or 4 channels; 0 as the file has.
Result<Tensor> DecodeBmp(const Call& call, const std::string& bytes, int64_t channels);

}  // namespace longshore::engine::reference::kernels::images

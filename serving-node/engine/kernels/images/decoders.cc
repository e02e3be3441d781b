// Decodes image files into tensors of pixels.
#include "serving-node/engine/kernels/images/decoders.h"

#include <algorithm>
#include <array>

#include "serving-node/engine/kernels/base/ints.h"
#include "serving-node/engine/kernels/base/texts.h"
#include "serving-node/engine/kernels/images/families.h"

namespace longshore::engine::kernels::images {
namespace {

using images::JpegOptions;

enum class Format { kUnknown, kJpeg, kPng, kGif, kBmp };

Format FormatOf(const std::string& bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return Format::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return Format::kPng;
  if (bytes.starts_with("GIF8")) return Format::kGif;
  return bytes.starts_with("BM") ? Format::kBmp : Format::kUnknown;
}

JpegOptions OptionsOf(const graph::Attributes& attributes) {
  return {.channels = attributes.Int("channels", 0),
          .ratio = attributes.Int("ratio", 1),
          .fancy_upscaling = attributes.Bool("fancy_upscaling", true),
          .fast = attributes.Text("dct_method", "") != "INTEGER_ACCURATE"};
}

Status CheckGifChannels(const Call& call) {
  const int64_t channels = call.attributes().Int("channels", 0);
  if (channels == 0 || channels == 3) return {};
  return InvalidArgument("channels must be 0 or 3 for a GIF image, not {}", channels);
}

Result<Tensor> DecodeOnlyFrame(const Call& call, const std::string& bytes) {
  RETURN_IF_ERROR(CheckGifChannels(call));
  ASSIGN_OR_RETURN(const Tensor frames, images::DecodeGif(call, bytes, 2));
  if (frames.dim(0) != 1)
    return InvalidArgument("the GIF has several images: only DecodeGif and DecodeImage can decode it");
  return frames.Reshaped({frames.dim(1), frames.dim(2), frames.dim(3)});
}

// Converts pixels to another type: 8 bits to 16 bits, or integers to floats in [0, 1].
Outputs Converted(const Call& call, const Tensor& image, DType type) {
  if (image.type() == type) return One(image);
  RETURN_IF_ERROR(call.HasRoomFor(type, image.shape()));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, image.shape()));
  for (int64_t i = 0; i < out.elements(); ++i) {
    if (type == DType::kUint16)
      Raw<uint16_t>(out)[i] = static_cast<uint16_t>(Raw<uint8_t>(image)[i] * 256);
    else if (image.type() == DType::kUint16)
      Raw<float>(out)[i] = static_cast<float>(Raw<uint16_t>(image)[i]) * (1.0F / 65535.0F);
    else
      Raw<float>(out)[i] = static_cast<float>(Raw<uint8_t>(image)[i]) * (1.0F / 255.0F);
  }
  return One(out);
}

Result<std::string> ContentsOf(const Call& call) {
  ASSIGN_OR_RETURN(std::string bytes, TextOf(call, 0, "contents"));
  if (bytes.empty()) return InvalidArgument("contents are empty");
  return bytes;
}

// The ops DecodeJpeg and DecodePng both accept JPEG, PNG, and GIF files with a single image.
Outputs DecodeStill(const Call& call, DType type) {
  ASSIGN_OR_RETURN(const std::string bytes, ContentsOf(call));
  const int64_t channels = call.attributes().Int("channels", 0);
  Result<Tensor> image = InvalidArgument("Unknown image file format. One of JPEG, PNG, GIF required.");
  switch (FormatOf(bytes)) {
    case Format::kPng: image = images::DecodePng(call, bytes, channels, type == DType::kUint16); break;
    case Format::kJpeg: image = images::DecodeJpeg(call, bytes, OptionsOf(call.attributes())); break;
    case Format::kGif: image = DecodeOnlyFrame(call, bytes); break;
    default: break;
  }
  if (!image) return tl::make_unexpected(image.error());
  return Converted(call, *image, type);
}

Outputs DecodeJpeg(const Call& call) { return DecodeStill(call, DType::kUint8); }
Outputs DecodePng(const Call& call) { return DecodeStill(call, call.attributes().Type("dtype", DType::kUint8)); }

// The op accepts JPEG and PNG files too: each gives one frame of three channels.
Outputs DecodeGif(const Call& call) {
  ASSIGN_OR_RETURN(const std::string bytes, ContentsOf(call));
  Result<Tensor> image = InvalidArgument("Unknown image file format. One of JPEG, PNG, GIF required.");
  switch (FormatOf(bytes)) {
    case Format::kGif: return One(images::DecodeGif(call, bytes, INT64_MAX));
    case Format::kPng: image = images::DecodePng(call, bytes, 3, false); break;
    case Format::kJpeg: image = images::DecodeJpeg(call, bytes, {.channels = 3}); break;
    default: break;
  }
  if (!image) return tl::make_unexpected(image.error());
  return One(image->Reshaped({1, image->dim(0), image->dim(1), image->dim(2)}));
}

Outputs DecodeBmp(const Call& call) {
  ASSIGN_OR_RETURN(const std::string bytes, ContentsOf(call));
  const int64_t channels = call.attributes().Int("channels", 0);
  if (FormatOf(bytes) != Format::kBmp) return InvalidArgument("the contents are not a BMP image");
  if (channels == 1) return InvalidArgument("`channels` must be 0, 3 or 4 for BMP, but got 1");
  return One(images::DecodeBmp(call, bytes, channels));
}

Result<Tensor> DecodeFrames(const Call& call, const std::string& bytes) {
  RETURN_IF_ERROR(CheckGifChannels(call));
  ASSIGN_OR_RETURN(const Tensor frames, images::DecodeGif(call, bytes, INT64_MAX));
  if (call.attributes().Bool("expand_animations", true)) return frames;
  return frames.Rows(0, 1).Reshaped({frames.dim(1), frames.dim(2), frames.dim(3)});
}

Outputs DecodeImage(const Call& call) {
  ASSIGN_OR_RETURN(const std::string bytes, ContentsOf(call));
  const int64_t channels = call.attributes().Int("channels", 0);
  const DType type = call.attributes().Type("dtype", DType::kUint8);
  Result<Tensor> image = InvalidArgument("Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
  switch (FormatOf(bytes)) {
    case Format::kPng: image = images::DecodePng(call, bytes, channels, type != DType::kUint8); break;
    case Format::kJpeg: image = images::DecodeJpeg(call, bytes, {.channels = channels}); break;
    case Format::kGif: image = DecodeFrames(call, bytes); break;
    case Format::kBmp: image = images::DecodeBmp(call, bytes, channels); break;
    default: break;
  }
  if (!image) return tl::make_unexpected(image.error());
  return Converted(call, *image, type);
}

// The input crop_window is [y, x, height, width] and must be within the image.
Outputs DecodeAndCropJpeg(const Call& call) {
  ASSIGN_OR_RETURN(const std::string bytes, ContentsOf(call));
  ASSIGN_OR_RETURN(const auto window, IntsOf(call.in(1), "crop_window"));
  if (window.size() != 4) return InvalidArgument("crop_window must have four elements, not {}", window.size());
  if (FormatOf(bytes) != Format::kJpeg) return InvalidArgument("the contents are not a JPEG image");
  JpegOptions options = OptionsOf(call.attributes());
  options.window = images::Window{.y = window[0], .x = window[1], .height = window[2], .width = window[3]};
  return One(images::DecodeJpeg(call, bytes, options));
}

Outputs ExtractJpegShape(const Call& call) {
  ASSIGN_OR_RETURN(const std::string bytes, TextOf(call, 0, "contents"));
  ASSIGN_OR_RETURN(const auto size, images::SizeOfJpeg(bytes));
  return One(IntTensor(call.attributes().Type("output_type", DType::kInt32), {3},
                       std::array{size.height, size.width, size.channels}));
}

Status CheckChannels(const graph::Node& node) {
  const int64_t channels = node.attributes.Int("channels", 0);
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4)
    return Unimplemented("{} with {} channels", node.op, channels);
  return {};
}

Status CheckJpeg(const graph::Node& node) {
  RETURN_IF_ERROR(CheckChannels(node));
  const int64_t ratio = node.attributes.Int("ratio", 1);
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) return Unimplemented("{} with ratio {}", node.op, ratio);
  if (node.attributes.Int("channels", 0) == 4) return Unimplemented("{} with 4 channels", node.op);
  if (node.attributes.Bool("try_recover_truncated", false))
    return Unimplemented("{} with try_recover_truncated", node.op);
  return {};
}

constexpr Kernel kKernels[] = {
    {.op = "DecodeAndCropJpeg", .compute = DecodeAndCropJpeg, .inputs_min = 2, .check = CheckJpeg},
    {.op = "DecodeBmp", .compute = DecodeBmp, .inputs_min = 1, .check = CheckChannels},
    {.op = "DecodeGif", .compute = DecodeGif, .inputs_min = 1},
    {.op = "DecodeImage", .compute = DecodeImage, .inputs_min = 1, .check = CheckChannels},
    {.op = "DecodeJpeg", .compute = DecodeJpeg, .inputs_min = 1, .check = CheckJpeg},
    {.op = "DecodePng", .compute = DecodePng, .inputs_min = 1, .check = CheckChannels},
    {.op = "ExtractJpegShape", .compute = ExtractJpegShape, .inputs_min = 1},
};

}  // namespace

std::span<const Kernel> DecoderKernels() { return kKernels; }

}  // namespace longshore::engine::kernels::images

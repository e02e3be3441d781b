#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/images/decoders.h"

namespace longshore::engine::kernels::images {
namespace {

struct Closer {
  void operator()(GifFileType* file) const { DGifCloseFile(file, nullptr); }
};
using File = std::unique_ptr<GifFileType, Closer>;

int Read(GifFileType* file, GifByteType* to, int count) {
  auto* left = static_cast<std::string_view*>(file->UserData);
  const size_t taken = std::min(static_cast<size_t>(std::max(count, 0)), left->size());
  std::memcpy(to, left->data(), taken);
  left->remove_prefix(taken);
  return static_cast<int>(taken);
}

tl::unexpected<Error> Damaged(int error) {
  const char* why = GifErrorString(error);
  return InvalidArgument("Invalid GIF data: {}", why == nullptr ? "damaged" : why);
}

struct Color {
  uint8_t red = 0, green = 0, blue = 0;
};

// One frame: a rectangle of the image, whose pixels are indices into `palette`.
struct Frame {
  int left = 0, top = 0, width = 0, height = 0;
  int transparent = NO_TRANSPARENT_COLOR;
  bool interlaced = false;
  std::vector<Color> palette = {};
  std::vector<uint8_t> pixels = {};
};

// The order in which the lines of a frame are stored: top to bottom, or for interlaced frames every eighth line first
// and then the lines between them.
std::vector<int> LinesOf(const Frame& frame) {
  std::vector<int> lines;
  if (!frame.interlaced) {
    for (int line = 0; line < frame.height; ++line) lines.push_back(line);
    return lines;
  }
  for (const auto& [first, step] : {std::pair{0, 8}, {4, 8}, {2, 4}, {1, 2}}) {
    for (int line = first; line < frame.height; line += step) lines.push_back(line);
  }
  return lines;
}

// Reads an extension. If it is a graphics control extension, sets `transparent` to the index of its transparent colour.
Status ReadExtension(GifFileType* file, int* transparent) {
  int code = 0;
  GifByteType* block = nullptr;
  if (DGifGetExtension(file, &code, &block) == GIF_ERROR) return Damaged(file->Error);
  while (block != nullptr) {
    GraphicsControlBlock control;
    if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
      *transparent = control.TransparentColor;
    if (DGifGetExtensionNext(file, &block) == GIF_ERROR) return Damaged(file->Error);
  }
  return {};
}

Result<Frame> ReadFrame(const Call& call, GifFileType* file, int transparent) {
  if (DGifGetImageDesc(file) == GIF_ERROR) return Damaged(file->Error);
  const auto& image = file->Image;
  Frame frame{.left = image.Left, .top = image.Top, .width = image.Width, .height = image.Height};
  frame.transparent = transparent;
  frame.interlaced = image.Interlace;
  const ColorMapObject* palette = image.ColorMap != nullptr ? image.ColorMap : file->SColorMap;
  if (palette == nullptr) return InvalidArgument("Invalid GIF data: missing color map");
  for (int i = 0; i < palette->ColorCount; ++i)
    frame.palette.push_back({palette->Colors[i].Red, palette->Colors[i].Green, palette->Colors[i].Blue});
  RETURN_IF_ERROR(call.HasRoomFor(DType::kUint8, {frame.height, frame.width}));
  frame.pixels.resize(static_cast<size_t>(frame.height) * static_cast<size_t>(frame.width));
  for (const int line : LinesOf(frame)) {
    auto* to = frame.pixels.data() + static_cast<size_t>(line) * static_cast<size_t>(frame.width);
    if (DGifGetLine(file, to, frame.width) == GIF_ERROR) return Damaged(file->Error);
  }
  return frame;
}

// Reads the frames. ResourceExhausted unless all of them together fit into the memory of the run, as palette indices
// and as decoded pixels.
Result<std::vector<Frame>> ReadFrames(const Call& call, GifFileType* file, int64_t frames_max) {
  std::vector<Frame> frames;
  int transparent = NO_TRANSPARENT_COLOR;
  int64_t widest = 0, highest = 0;
  for (GifRecordType type = UNDEFINED_RECORD_TYPE; static_cast<int64_t>(frames.size()) < frames_max;) {
    if (DGifGetRecordType(file, &type) == GIF_ERROR) return Damaged(file->Error);
    if (type == TERMINATE_RECORD_TYPE) break;
    if (type == EXTENSION_RECORD_TYPE) RETURN_IF_ERROR(ReadExtension(file, &transparent));
    if (type != IMAGE_DESC_RECORD_TYPE) continue;
    ASSIGN_OR_RETURN(Frame frame, ReadFrame(call, file, transparent));
    transparent = NO_TRANSPARENT_COLOR;
    widest = std::max<int64_t>(widest, frame.width);
    highest = std::max<int64_t>(highest, frame.height);
    frames.push_back(std::move(frame));
    RETURN_IF_ERROR(call.HasRoomFor(DType::kUint8, {static_cast<int64_t>(frames.size()), highest, widest, 4}));
  }
  if (frames.empty()) return InvalidArgument("Invalid GIF data: it has no image");
  return frames;
}

// Draws the frame over the previous one, or over black for the first frame. InvalidArgument for a colour that is not in
// the palette.
Status Draw(const Frame& frame, int64_t height, int64_t width, uint8_t* to) {
  for (int64_t y = frame.top; y < std::min<int64_t>(frame.top + frame.height, height); ++y) {
    for (int64_t x = frame.left; x < std::min<int64_t>(frame.left + frame.width, width); ++x) {
      const uint8_t number = frame.pixels[static_cast<size_t>((y - frame.top) * frame.width + x - frame.left)];
      if (number == frame.transparent) continue;
      if (number >= frame.palette.size())
        return InvalidArgument("Invalid GIF data: color {} is not in the palette of {} colors", number,
                               frame.palette.size());
      const Color& color = frame.palette[number];
      uint8_t* pixel = to + (y * width + x) * 3;
      pixel[0] = color.red;
      pixel[1] = color.green;
      pixel[2] = color.blue;
    }
  }
  return {};
}

}  // namespace

Result<Tensor> DecodeGif(const Call& call, const std::string& bytes, int64_t frames_max) {
  std::string_view left = bytes;
  int error = 0;
  const File file(DGifOpen(&left, Read, &error));
  if (file == nullptr) return Damaged(error);
  ASSIGN_OR_RETURN(const auto frames, ReadFrames(call, file.get(), frames_max));
  int64_t height = 0, width = 0;
  for (const auto& frame : frames) {
    height = std::max<int64_t>(height, frame.height);
    width = std::max<int64_t>(width, frame.width);
  }
  const Shape shape = {static_cast<int64_t>(frames.size()), height, width, 3};
  RETURN_IF_ERROR(call.HasRoomFor(DType::kUint8, shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kUint8, shape));
  const int64_t frame_bytes = height * width * 3;
  uint8_t* to = Raw<uint8_t>(out);
  for (size_t i = 0; i < frames.size(); ++i, to += frame_bytes) {
    if (i == 0)
      std::fill_n(to, frame_bytes, uint8_t{0});
    else
      std::copy_n(to - frame_bytes, frame_bytes, to);
    RETURN_IF_ERROR(Draw(frames[i], height, width, to));
  }
  return out;
}

}  // namespace longshore::engine::kernels::images

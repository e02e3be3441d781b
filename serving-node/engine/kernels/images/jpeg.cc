#include <csetjmp>
#include <cstdio>
#include <cstring>

// These headers need <stdio.h> but do not include it.
#include <jerror.h>
#include <jpeglib.h>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/images/decoders.h"

namespace longshore::engine::kernels::images {
namespace {

// The limit of scans per file, because even a scan of few bytes can take as much time as the whole image.
constexpr int kScansMax = 500;

// The state that the callbacks of libjpeg use. Its members have no destructors, because longjmp skips destructors.
struct Reader {
  jpeg_decompress_struct info;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf failed;
  char message[JMSG_LENGTH_MAX];
  const std::string* bytes = nullptr;
  JpegOptions options;
  Window window;
  uint8_t* to = nullptr;
  uint8_t* line = nullptr;
};

Reader* ReaderOf(j_common_ptr info) { return static_cast<Reader*>(info->client_data); }

[[noreturn]] void Fail(j_common_ptr info) {
  info->err->format_message(info, ReaderOf(info)->message);
  std::longjmp(ReaderOf(info)->failed, 1);
}

// Makes a truncated file an error. Otherwise the library would fill in the missing pixels.
void OnMessage(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF) Fail(info);
}

void OnProgress(j_common_ptr info) {
  if (ReaderOf(info)->info.input_scan_number > kScansMax) Fail(info);
}

// Runs a step of the decoder. Returns false if the step failed. Only this function calls setjmp, so every longjmp ends
// here.
bool Try(Reader* reader, void (*step)(Reader*)) {
  if (setjmp(reader->failed) != 0) return false;
  step(reader);
  return true;
}

void ReadHeader(Reader* reader) {
  auto& info = reader->info;
  jpeg_create_decompress(&info);
  info.client_data = reader;
  info.progress = &reader->progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(reader->bytes->data()), reader->bytes->size());
  jpeg_read_header(&info, TRUE);
}

bool IsCmyk(const jpeg_decompress_struct& info) {
  return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
}

void SetOptions(Reader* reader) {
  auto& info = reader->info;
  const auto& options = reader->options;
  const bool is_gray = options.channels == 1 || (options.channels == 0 && info.num_components == 1);
  info.out_color_space = is_gray ? JCS_GRAYSCALE : (IsCmyk(info) ? JCS_CMYK : JCS_RGB);
  info.do_fancy_upsampling = options.fancy_upscaling ? TRUE : FALSE;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(options.ratio);
  info.dct_method = options.fast ? JDCT_IFAST : JDCT_ISLOW;
  jpeg_calc_output_dimensions(&info);
}

// Converts a line from CMYK to RGB in place. CMYK values say how much light is absorbed; Adobe writes them inverted.
void CmykToRgb(Reader* reader) {
  const bool is_adobe = reader->info.saw_Adobe_marker != 0;
  uint8_t* to = reader->line;
  const uint8_t* from = reader->line;
  for (JDIMENSION i = 0; i < reader->info.output_width; ++i, from += 4) {
    const int black = is_adobe ? from[3] : 255 - from[3];
    for (int k = 0; k < 3; ++k) *to++ = static_cast<uint8_t>(black * (is_adobe ? from[k] : 255 - from[k]) / 255);
  }
}

int PixelBytes(const Reader& reader) { return reader.info.out_color_space == JCS_GRAYSCALE ? 1 : 3; }

// Decodes only the blocks that overlap the window. As in TensorFlow, pixels at the edges of the window may therefore
// differ slightly from those of a full decode.
void ReadLines(Reader* reader) {
  auto& info = reader->info;
  const auto& window = reader->window;
  jpeg_start_decompress(&info);
  auto x = static_cast<JDIMENSION>(window.x), width = static_cast<JDIMENSION>(window.width);
  if (width != info.output_width) jpeg_crop_scanline(&info, &x, &width);
  if (window.y > 0) jpeg_skip_scanlines(&info, static_cast<JDIMENSION>(window.y));
  uint8_t* to = reader->to;
  const auto pixel = static_cast<size_t>(PixelBytes(*reader));
  const size_t skipped = (static_cast<size_t>(window.x) - x) * pixel;
  const size_t bytes = static_cast<size_t>(window.width) * pixel;
  for (int64_t y = 0; y < window.height; ++y, to += bytes) {
    JSAMPROW line = reader->line;
    if (jpeg_read_scanlines(&info, &line, 1) != 1) Fail(reinterpret_cast<j_common_ptr>(&info));
    if (info.out_color_space == JCS_CMYK) CmykToRgb(reader);
    std::memcpy(to, reader->line + skipped, bytes);
  }
}

// Owns a decompressor of libjpeg.
class Jpeg {
 public:
  explicit Jpeg(const std::string& bytes, const JpegOptions& options = {}) {
    reader_.bytes = &bytes;
    reader_.options = options;
    reader_.info.err = jpeg_std_error(&reader_.errors);
    reader_.info.client_data = &reader_;
    reader_.errors.error_exit = Fail;
    reader_.errors.emit_message = OnMessage;
    reader_.progress.progress_monitor = OnProgress;
  }
  ~Jpeg() { jpeg_destroy_decompress(&reader_.info); }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;

  Status Run(void (*step)(Reader*)) {
    if (Try(&reader_, step)) return {};
    return InvalidArgument("Invalid JPEG data: {}", reader_.message);
  }
  Reader& reader() { return reader_; }

 private:
  Reader reader_{};
};

Status CheckWindow(const Window& window, const Window& whole) {
  if (window.y >= 0 && window.x >= 0 && window.height > 0 && window.width > 0 && window.y <= whole.height &&
      window.x <= whole.width && window.height <= whole.height - window.y && window.width <= whole.width - window.x)
    return {};
  return InvalidArgument(
      "the window [{},{},{},{}] (y, x, height, width) is not within the image, which is {} pixels high and {} wide",
      window.y, window.x, window.height, window.width, whole.height, whole.width);
}

}  // namespace

Result<JpegSize> SizeOfJpeg(const std::string& bytes) {
  Jpeg jpeg(bytes);
  RETURN_IF_ERROR(jpeg.Run(ReadHeader));
  const auto& info = jpeg.reader().info;
  return JpegSize{info.image_height, info.image_width, info.num_components};
}

Result<Tensor> DecodeJpeg(const Call& call, const std::string& bytes, const JpegOptions& options) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3)
    return InvalidArgument("JPEG does not support {} channels", options.channels);
  Jpeg jpeg(bytes, options);
  RETURN_IF_ERROR(jpeg.Run(ReadHeader));
  RETURN_IF_ERROR(jpeg.Run(SetOptions));
  auto& info = jpeg.reader().info;
  const Window whole = {.height = info.output_height, .width = info.output_width};
  const Window window = options.window.value_or(whole);
  RETURN_IF_ERROR(CheckWindow(window, whole));
  const Shape shape = {window.height, window.width, PixelBytes(jpeg.reader())};
  // For an image in several scans, the library holds the coefficients of the whole image in memory.
  RETURN_IF_ERROR(call.HasRoomFor(DType::kInt16, {info.image_height, info.image_width, info.num_components}));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kUint8, shape));
  std::vector<uint8_t> line(size_t{4} * info.output_width);
  jpeg.reader().window = window;
  jpeg.reader().to = Raw<uint8_t>(out);
  jpeg.reader().line = line.data();
  RETURN_IF_ERROR(jpeg.Run(ReadLines));
  return out;
}

}  // namespace longshore::engine::kernels::images

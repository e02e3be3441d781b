#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/images/decoders.h"

namespace longshore::engine::kernels::images {
namespace {

// The state that the callbacks of libpng use. Its members have no destructors, because longjmp skips destructors.
struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf failed;
  char message[128] = "";
  std::string_view left;
  int64_t channels = 0;
  bool wide = false;
  png_bytep* rows = nullptr;
};

[[noreturn]] void Fail(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, message, sizeof(reader->message) - 1);
  std::longjmp(reader->failed, 1);
}

void Ignore(png_structp, png_const_charp) {}

void Read(png_structp png, png_bytep to, size_t count) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (count > reader->left.size()) png_error(png, "the file ends too early");
  std::memcpy(to, reader->left.data(), count);
  reader->left.remove_prefix(count);
}

// Runs a step of the decoder. Returns false if the step failed. Only this function calls setjmp, so every longjmp ends
// here.
bool Try(Reader* reader, void (*step)(Reader*)) {
  if (setjmp(reader->failed) != 0) return false;
  step(reader);
  return true;
}

void ReadHeader(Reader* reader) {
  png_set_read_fn(reader->png, reader, Read);
  png_read_info(reader->png, reader->info);
}

void SetAlpha(Reader* reader, int color, int bits) {
  const bool has_transparent = png_get_valid(reader->png, reader->info, PNG_INFO_tRNS) != 0;
  const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
  if (reader->channels % 2 != 0) {
    if (has_alpha || has_transparent) png_set_strip_alpha(reader->png);
  } else if (!has_alpha && has_transparent) {
    png_set_tRNS_to_alpha(reader->png);
  } else if (!has_alpha) {
    png_set_add_alpha(reader->png, (1U << bits) - 1, PNG_FILLER_AFTER);
  }
}

// Chooses the conversions that the library applies to the rows while it reads them.
void SetOptions(Reader* reader) {
  const int color = png_get_color_type(reader->png, reader->info);
  const int bits = png_get_bit_depth(reader->png, reader->info);
  const bool is_palette = color == PNG_COLOR_TYPE_PALETTE;
  if (reader->channels == 0) {
    const bool has_transparent = png_get_valid(reader->png, reader->info, PNG_INFO_tRNS) != 0;
    reader->channels = is_palette ? (has_transparent ? 4 : 3) : png_get_channels(reader->png, reader->info);
  }
  SetAlpha(reader, color, bits);
  if (bits > 8 && !reader->wide) png_set_strip_16(reader->png);
  png_set_packing(reader->png);
  png_set_interlace_handling(reader->png);
  if (reader->wide) png_set_swap(reader->png);
  if (is_palette) png_set_palette_to_rgb(reader->png);
  const bool is_gray = (color & PNG_COLOR_MASK_COLOR) == 0;
  if (is_gray && bits < 8) png_set_expand_gray_1_2_4_to_8(reader->png);
  if (reader->channels < 3 && !is_gray) png_set_rgb_to_gray(reader->png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
  if (reader->channels >= 3 && is_gray) png_set_gray_to_rgb(reader->png);
  png_read_update_info(reader->png, reader->info);
}

void ReadRows(Reader* reader) {
  png_read_image(reader->png, reader->rows);
  png_read_end(reader->png, reader->info);
}

// Owns the structures that libpng needs to read one image.
class Png {
 public:
  Png(const std::string& bytes, int64_t channels, bool wide) {
    reader_.left = bytes;
    reader_.channels = channels;
    reader_.wide = wide;
    reader_.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader_, Fail, Ignore);
    if (reader_.png != nullptr) reader_.info = png_create_info_struct(reader_.png);
  }
  ~Png() { png_destroy_read_struct(&reader_.png, &reader_.info, nullptr); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  Status Run(void (*step)(Reader*)) {
    if (reader_.info == nullptr) return ResourceExhausted("not enough memory for a PNG decoder");
    if (Try(&reader_, step)) return {};
    return InvalidArgument("Invalid PNG data: {}", reader_.message);
  }
  Reader& reader() { return reader_; }

 private:
  Reader reader_;
};

// Widens 8-bit values to 16 bits, in place.
void Widen(Tensor* image) {
  auto* wide = Raw<uint16_t>(*image);
  const auto* narrow = Raw<uint8_t>(*image);
  for (int64_t i = image->elements(); i-- > 0;) wide[i] = static_cast<uint16_t>(narrow[i] * 257);
}

}  // namespace

Result<Tensor> DecodePng(const Call& call, const std::string& bytes, int64_t channels, bool wide) {
  Png png(bytes, channels, wide);
  RETURN_IF_ERROR(png.Run(ReadHeader));
  auto& reader = png.reader();
  const bool was_narrow = png_get_bit_depth(reader.png, reader.info) <= 8;
  RETURN_IF_ERROR(png.Run(SetOptions));
  const auto height = png_get_image_height(reader.png, reader.info);
  const Shape shape = {height, png_get_image_width(reader.png, reader.info), reader.channels};
  const DType type = wide ? DType::kUint16 : DType::kUint8;
  RETURN_IF_ERROR(call.HasRoomFor(type, shape));
  const size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  const size_t element_bytes = wide && !was_narrow ? 2 : 1;
  if (row_bytes != static_cast<size_t>(shape[1] * shape[2]) * element_bytes)
    return InvalidArgument("Invalid PNG data: rows of {} bytes do not match the shape {}", row_bytes, ToString(shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(type, shape));
  std::vector<png_bytep> rows(height);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = Raw<uint8_t>(out) + i * row_bytes;
  reader.rows = rows.data();
  RETURN_IF_ERROR(png.Run(ReadRows));
  if (wide && was_narrow) Widen(&out);
  return out;
}

}  // namespace longshore::engine::kernels::images

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "serving-node/engine/kernels/base/types.h"
#include "serving-node/engine/kernels/images/decoders.h"

namespace longshore::engine::kernels::images {
namespace {

// Reads a number at byte `at`. Numbers in BMP files are little-endian. Requires: the number is within the file.
template <typename T>
T NumberAt(const std::string& bytes, size_t at) {
  T number{};
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

struct Header {
  int64_t pixels_at = 0, width = 0, height = 0, channels = 0;
  bool top_down = false;

  // Rows are padded to a multiple of 4 bytes.
  int64_t row_bytes() const { return (width * channels * 8 + 31) / 32 * 4; }
};

Result<Header> HeaderOf(const std::string& bytes) {
  constexpr size_t kHeaderBytes = 32;
  if (bytes.size() < kHeaderBytes) return InvalidArgument("Incomplete BMP content, {} bytes", bytes.size());
  Header header{.pixels_at = NumberAt<int32_t>(bytes, 10), .width = NumberAt<int32_t>(bytes, 18)};
  header.height = NumberAt<int32_t>(bytes, 22);
  header.top_down = header.height < 0;
  header.height = std::abs(header.height);
  header.channels = NumberAt<int16_t>(bytes, 28) / 8;
  if (header.pixels_at < 0)
    return InvalidArgument("Invalid BMP data: the header says that the pixels begin at byte {}", header.pixels_at);
  if (header.width <= 0 || header.height == 0)
    return InvalidArgument("Invalid BMP data: width {} and height {}", header.width, header.height);
  if (header.channels != 1 && header.channels != 3 && header.channels != 4)
    return InvalidArgument("a BMP image with {} channels is not supported", header.channels);
  return header;
}

// BMP files store blue first. A grey pixel becomes equal red, green and blue; missing alpha becomes 255.
void CopyPixel(const uint8_t* from, int64_t from_channels, int64_t channels, uint8_t* to) {
  if (channels == 1) {
    *to = *from;
    return;
  }
  for (int64_t k = 0; k < 3; ++k) to[k] = from_channels == 1 ? *from : from[2 - k];
  if (channels == 4) to[3] = from_channels == 4 ? from[3] : uint8_t{255};
}

}  // namespace

Result<Tensor> DecodeBmp(const Call& call, const std::string& bytes, int64_t channels) {
  ASSIGN_OR_RETURN(const Header header, HeaderOf(bytes));
  if (channels == 0) channels = header.channels;
  const auto left = static_cast<int64_t>(bytes.size()) - header.pixels_at;
  if (left % header.row_bytes() != 0 || left / header.row_bytes() != header.height)
    return InvalidArgument("Invalid BMP data: {} bytes for {} rows of {} bytes each", left, header.height,
                           header.row_bytes());
  const Shape shape = {header.height, header.width, channels};
  RETURN_IF_ERROR(call.HasRoomFor(DType::kUint8, shape));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Make(DType::kUint8, shape));
  const auto* pixels = reinterpret_cast<const uint8_t*>(bytes.data()) + header.pixels_at;
  uint8_t* to = Raw<uint8_t>(out);
  for (int64_t y = 0; y < header.height; ++y) {
    const uint8_t* row = pixels + (header.top_down ? y : header.height - 1 - y) * header.row_bytes();
    for (int64_t x = 0; x < header.width; ++x, to += channels)
      CopyPixel(row + x * header.channels, header.channels, channels, to);
  }
  return out;
}

}  // namespace longshore::engine::kernels::images

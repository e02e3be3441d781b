#include "common/net/http/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

namespace longshore::http {
namespace {

constexpr int kGzipOrZlib = 15 + 32;

using Piece = std::array<char, size_t{16} << 10>;

struct Plain {
  const size_t compressed_bytes;
  const size_t bytes_max;
  HeldBytes* const held;
  std::string bytes = {};
};

Status Append(std::string_view piece, Plain& plain) {
  const size_t needed = plain.bytes.size() + piece.size();
  if (needed > plain.bytes_max)
    return ResourceExhausted("decompressed gzip body has more than {} bytes", plain.bytes_max);
  if (needed > plain.bytes.capacity()) {
    const size_t room = std::max(needed, std::min(2 * needed, plain.bytes_max));
    if (plain.held != nullptr && !plain.held->Hold(plain.compressed_bytes + room)) {
      return Unavailable("the requests in progress use too much memory");
    }
    plain.bytes.reserve(room);
  }
  plain.bytes.append(piece);
  return {};
}

// Decompresses the next piece and appends it to `plain`. Returns false at the end of the last gzip member. The caller
// allocates `piece` once for all steps, so that a body of many empty members is cheap.
Result<bool> Step(z_stream& stream, Piece& piece, Plain& plain) {
  stream.next_out = reinterpret_cast<Bytef*>(piece.data());
  const size_t room = std::min(piece.size(), plain.bytes_max + 1 - plain.bytes.size());
  stream.avail_out = static_cast<uInt>(room);
  const int code = inflate(&stream, Z_NO_FLUSH);
  RETURN_IF_ERROR(Append({piece.data(), room - stream.avail_out}, plain));
  if (code == Z_STREAM_END) {
    if (stream.avail_in == 0) return false;
    if (inflateReset(&stream) != Z_OK) return InvalidArgument("gzip body is damaged");
    return true;
  }
  if (code == Z_BUF_ERROR || (code == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
    return InvalidArgument("gzip body ends early");
  }
  if (code != Z_OK) return InvalidArgument("gzip body is damaged");
  return true;
}

}  // namespace

Result<std::string> Inflate(std::string_view compressed, size_t bytes_max, HeldBytes* held) {
  if (compressed.size() > UINT32_MAX) return ResourceExhausted("gzip body of {} bytes is too large", compressed.size());
  z_stream stream{};
  if (inflateInit2(&stream, kGzipOrZlib) != Z_OK)
    return ResourceExhausted("not enough memory to decompress a gzip body");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  Piece piece;
  Plain plain{.compressed_bytes = compressed.size(), .bytes_max = bytes_max, .held = held};
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, Step(stream, piece, plain));
  }
  return std::move(plain.bytes);
}

}  // namespace longshore::http

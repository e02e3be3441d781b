#include "common/net/http/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <optional>

#include "common/net/http/header_values.h"

namespace longshore::http {
namespace {

// zlib's window bits, which also choose the format.
constexpr int kZlibFormat = 15;
constexpr int kGzipFormat = kZlibFormat + 16;
constexpr int kMemoryLevel = 8;

// Whether the weight of an encoding is 0: "q=0", "q=0.0" and so on.
bool IsZero(std::string_view weight) {
  if (weight.size() < 3 || !EqualsIgnoringCase(weight.substr(0, 2), "q=")) return false;
  return weight.find_first_not_of("0.", 2) == weight.npos;
}

// The weights that an Accept-Encoding gives: whether each is above 0, or nullopt if the encoding is not named.
struct Accepted {
  std::optional<bool> gzip;
  std::optional<bool> deflate;
  std::optional<bool> any;
};

void AcceptItem(std::string_view item, Accepted* accepted) {
  const size_t semicolon = std::min(item.find(';'), item.size());
  const std::string_view name = Trimmed(item.substr(0, semicolon));
  const bool is_accepted = semicolon == item.size() || !IsZero(Trimmed(item.substr(semicolon + 1)));
  if (EqualsIgnoringCase(name, "gzip") && !accepted->gzip) accepted->gzip = is_accepted;
  if (EqualsIgnoringCase(name, "deflate") && !accepted->deflate) accepted->deflate = is_accepted;
  if (name == "*") accepted->any = is_accepted;
}

std::string Packed(std::string_view text, int format) {
  z_stream stream{};
  if (text.size() > UINT_MAX) return "";
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, format, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  out.resize(code == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

}  // namespace

Compression CompressionFor(std::string_view accept_encoding) {
  Accepted accepted;
  for (const std::string_view item : ListOf(accept_encoding)) AcceptItem(item, &accepted);
  if (accepted.gzip.value_or(accepted.any.value_or(false))) return Compression::kGzip;
  return accepted.deflate.value_or(false) ? Compression::kDeflate : Compression::kNone;
}

std::string Gzip(std::string_view text) { return Packed(text, kGzipFormat); }

std::string Deflate(std::string_view text) { return Packed(text, kZlibFormat); }

}  // namespace longshore::http

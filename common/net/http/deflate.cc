#include "common/net/http/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <climits>

namespace longshore::http {
namespace {

constexpr int kGzip = 15 + 16;
constexpr int kMemoryLevel = 8;

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

bool EqualsIgnoringCase(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

// Whether the weight of an encoding is 0: "q=0", "q=0.0" and so on.
bool IsZero(std::string_view weight) {
  if (weight.size() < 3 || !EqualsIgnoringCase(weight.substr(0, 2), "q=")) return false;
  return weight.find_first_not_of("0.", 2) == weight.npos;
}

}  // namespace

bool AcceptsGzip(std::string_view accept_encoding) {
  bool any = false;
  while (!accept_encoding.empty()) {
    const size_t comma = std::min(accept_encoding.find(','), accept_encoding.size());
    const std::string_view item = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(std::min(comma + 1, accept_encoding.size()));
    const size_t semicolon = std::min(item.find(';'), item.size());
    const std::string_view name = Trimmed(item.substr(0, semicolon));
    const bool accepted = semicolon == item.size() || !IsZero(Trimmed(item.substr(semicolon + 1)));
    if (EqualsIgnoringCase(name, "gzip")) return accepted;
    if (name == "*") any = accepted;
  }
  return any;
}

std::string Gzip(std::string_view text) {
  z_stream stream{};
  if (text.size() > UINT_MAX) return "";
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) return "";
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

}  // namespace longshore::http

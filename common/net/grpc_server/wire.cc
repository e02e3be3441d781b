#include "common/net/grpc_server/wire.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace longshore::grpc_server {
namespace {

using std::chrono::steady_clock;

constexpr size_t kTimeoutDigitsMax = 8;
constexpr auto kTimeoutMax = std::chrono::hours(24 * 366);

template <typename Unit>
steady_clock::duration Limited(int64_t value) {
  const int64_t max = std::chrono::duration_cast<Unit>(kTimeoutMax).count();
  return Unit(std::min(value, max));
}

}  // namespace

std::optional<steady_clock::duration> ParseTimeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kTimeoutDigitsMax + 1 || text[0] == '-') return std::nullopt;
  int64_t value = 0;
  const char* last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last) return std::nullopt;
  switch (*last) {
    case 'H': return Limited<std::chrono::hours>(value);
    case 'M': return Limited<std::chrono::minutes>(value);
    case 'S': return Limited<std::chrono::seconds>(value);
    case 'm': return Limited<std::chrono::milliseconds>(value);
    case 'u': return Limited<std::chrono::microseconds>(value);
    case 'n': return Limited<std::chrono::nanoseconds>(value);
    default: return std::nullopt;
  }
}

std::string EncodeMessage(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  const bool is_cut = text.size() > kMessageBytesMax;
  std::string encoded;
  for (const char c : text.substr(0, kMessageBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && byte != '%') {
      encoded += c;
    } else {
      encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  if (is_cut) encoded += "...TRUNCATED";
  return encoded;
}

std::string_view StatusText(Code code) {
  static constexpr std::array<std::string_view, 17> kTexts = {"0", "1",  "2",  "3",  "4",  "5",  "6",  "7", "8",
                                                              "9", "10", "11", "12", "13", "14", "15", "16"};
  return kTexts.at(static_cast<size_t>(code));
}

bool IsGrpcContentType(std::string_view value) {
  static constexpr std::string_view kType = "application/grpc";
  if (!value.starts_with(kType)) return false;
  return value.size() == kType.size() || value[kType.size()] == '+' || value[kType.size()] == ';';
}

}  // namespace longshore::grpc_server

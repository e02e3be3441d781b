#include "serving-node/routing/assignment.h"

#include "common/base/sha256.h"
#include "common/base/trimmed.h"

namespace longshore::routing {
namespace {

__extension__ using Uint128 = unsigned __int128;

// Scales u from the range 0..2^64-1 to the range of the buckets.
uint32_t Scaled(uint64_t u) { return static_cast<uint32_t>((static_cast<Uint128>(u) * kBuckets) >> 64); }

}  // namespace

uint32_t BucketOfSequence(uint64_t n) {
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // 2^64 / phi, rounded to an odd number.
  return Scaled(n * kGoldenRatio);
}

uint32_t BucketOfKey(std::string_view salt, std::string_view key) {
  const Sha256Bytes digest = Sha256(std::string(salt) + "\n" + std::string(key));
  uint64_t u = 0;
  for (int i = 0; i < 8; ++i) u = u << 8 | digest[static_cast<size_t>(i)];
  return Scaled(u);
}

std::optional<int64_t> OwnerOf(uint32_t bucket, std::span<const VersionWeight> shares) {
  int64_t end = 0;
  for (const VersionWeight& share : shares) {
    end += share.weight_bp;
    if (bucket < end) return share.version;
  }
  return std::nullopt;
}

bool AnyCookie(std::string_view header, std::string_view name, const std::function<bool(std::string_view)>& take) {
  while (!header.empty()) {
    const size_t end = header.find(';');
    const std::string_view pair = Trimmed(header.substr(0, end));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name && take(pair.substr(equals + 1)))
      return true;
    if (end == std::string_view::npos) break;
    header.remove_prefix(end + 1);
  }
  return false;
}

std::optional<std::string_view> CookieValue(std::string_view header, std::string_view name) {
  std::optional<std::string_view> first;
  AnyCookie(header, name, [&first](std::string_view value) {
    first = value;
    return true;
  });
  return first;
}

}  // namespace longshore::routing

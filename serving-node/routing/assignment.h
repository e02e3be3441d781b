// Which version a request without a version gets. Pure, and published: docs/assignment.md tells clients how to compute
// it.
//
// A request falls into one of 10000 buckets, of a hundredth of a percent each; versions own consecutive ranges of them,
// candidates first and stable last. When a candidate's weight grows its range grows at its upper end, so nobody who
// had the candidate goes back. Example: candidate 2 has 500, stable 1 has 9500: bucket 499 gets 2, bucket 500 gets 1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longshore::routing {

inline constexpr uint32_t kBuckets = 10000;

struct Share {
  int64_t version = 0;
  int32_t weight_bp = 0;  // Buckets owned.
};

// The bucket of the n-th request without a key: the golden-ratio sequence, in which any stretch of N requests is split
// exactly to within a few requests.
uint32_t BucketOfSequence(uint64_t n);

// The bucket of a key: the first 8 bytes, big endian, of SHA-256(salt + "\n" + key), scaled. The same on every node.
uint32_t BucketOfKey(std::string_view salt, std::string_view key);

// Who owns the bucket; the shares are in the order of their ranges. nullopt when no share reaches up to it.
std::optional<int64_t> OwnerOf(uint32_t bucket, std::span<const Share> shares);

// The value of a cookie in a Cookie header ("a=1; b=2"); nullopt when it is not there.
std::optional<std::string_view> CookieValue(std::string_view header, std::string_view name);

}  // namespace longshore::routing

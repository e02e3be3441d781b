// Assigns a version to a request that names none. Pure. docs/assignment.md describes the rule, so that clients can
// compute it themselves.
//
// A request falls into one of 10000 buckets (a hundredth of a percent each). Versions own consecutive ranges of
// buckets, candidates first and stable last. When a candidate's weight grows, its range grows at its upper end, so that
// no client that had the candidate goes back to stable. Example: candidate 2 has weight 500 and stable 1 has 9500:
// bucket 499 gets version 2, bucket 500 gets version 1.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace longshore::routing {

inline constexpr uint32_t kBuckets = 10000;

struct VersionWeight {
  int64_t version = 0;
  int32_t weight_bp = 0;  // The number of buckets that the version owns.
};

// The bucket of the n-th request without a key. The golden-ratio sequence spreads consecutive numbers evenly over the
// buckets, so in any sequence of requests the share of each version is its weight, to within a few requests.
uint32_t BucketOfSequence(uint64_t n);

// The bucket of a key: the first 8 bytes of SHA-256(salt + "\n" + key), read as a big-endian number and scaled to
// 0..9999. All nodes compute the same bucket.
uint32_t BucketOfKey(std::string_view salt, std::string_view key);

// Returns the version that owns the bucket; nullopt if the bucket is above all ranges. `shares` are in the order of
// their ranges.
std::optional<int64_t> OwnerOf(uint32_t bucket, std::span<const VersionWeight> shares);

// Returns true if `take` returns true for a value of the cookie `name` in a Cookie header ("a=1; b=2; a=3").
bool AnyCookie(std::string_view header, std::string_view name, const std::function<bool(std::string_view)>& take);

// Returns the first value of the cookie `name` in a Cookie header; nullopt if it is missing.
std::optional<std::string_view> CookieValue(std::string_view header, std::string_view name);

}  // namespace longshore::routing

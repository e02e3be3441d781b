// Verifies JSON Web Tokens, such as the projected tokens of pods: RFC 7519 (claims), 7515 (signatures), 7517 (keys),
// 7518 (algorithms). Accepts only the algorithms RS256 and ES256; in particular, "none" is rejected.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"

namespace longshore::auth {

// An issuer's public keys, by their ids. Immutable, so thread-safe.
class IssuerKeys {
 public:
  // Parses a key set: {"keys": [{"kid", "kty": "RSA" | "EC", ...}]}. Ignores keys of other types. Returns
  // InvalidArgument if `key_set` is not a key set or has no usable key.
  static Result<IssuerKeys> Parse(const Json& key_set);

  bool Has(const std::string& id) const { return keys_.contains(id); }
  size_t size() const { return keys_.size(); }

 private:
  friend Result<Json> VerifyJwt(std::string_view token, const IssuerKeys& keys, const std::string& audience,
                                TimePoint now);
  struct Key;

  std::map<std::string, std::shared_ptr<const Key>> keys_;
};

// Returns the claims if one of the keys has signed the token, the token is for this audience, and it is valid now.
// Tolerates a clock difference of one minute. Otherwise returns Unauthenticated with the reason; the message contains
// nothing of the token.
Result<Json> VerifyJwt(std::string_view token, const IssuerKeys& keys, const std::string& audience, TimePoint now);

// Returns the id of the key with which the token claims to be signed, or "" if it is not a valid token. If IssuerKeys
// has no key with this id, the caller may need newer keys.
std::string KeyIdOf(std::string_view token);

}  // namespace longshore::auth

// Verifies JSON Web Tokens, such as the projected tokens of pods: RFC 7519 (claims), 7515 (signatures), 7517 (keys),
// 7518 and 8037 (algorithms). Accepts only the algorithms RS256, ES256 and EdDSA with Ed25519; in particular, "none"
// and HS256 are rejected.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"

namespace longshore::auth {

inline constexpr size_t kJwtBytesMax = size_t{16} << 10;

// What a token must say besides being signed and valid now.
struct JwtTerms {
  std::string audience;
  std::string issuer{};  // "": any.
};

// An issuer's public keys, by their ids. Immutable, so thread-safe.
class IssuerKeys {
 public:
  // Parses a key set: {"keys": [{"kid", "kty": "RSA" | "EC" | "OKP", ...}]}. Ignores keys of other types, for other
  // algorithms, and for another use than signatures. Returns InvalidArgument if `key_set` is not a key set, has no
  // usable key, or has two different usable keys with the same id; a missing id is the id "".
  static Result<IssuerKeys> Parse(const Json& key_set);

  bool Has(const std::string& id) const { return keys_.contains(id); }
  size_t size() const { return keys_.size(); }

 private:
  friend Result<Json> VerifyJwt(std::string_view token, const IssuerKeys& keys, const JwtTerms& terms, TimePoint now);
  struct Key;
  static std::shared_ptr<const Key> KeyFrom(const Json& json);

  std::map<std::string, std::shared_ptr<const Key>> keys_;
};

// Returns the claims if one of the keys has signed the token, the token meets the terms, and it is valid now.
// Tolerates a clock difference of one minute. Otherwise returns Unauthenticated with the reason; the message contains
// nothing of the token.
Result<Json> VerifyJwt(std::string_view token, const IssuerKeys& keys, const JwtTerms& terms, TimePoint now);

// Returns the time from which VerifyJwt refuses a token with these claims. Requires: VerifyJwt returned them.
TimePoint EndOf(const Json& claims);

// Whether a bearer token has the form of a JSON Web Token: three parts, of which the first one is the Base64url of a
// text that begins with "{".
bool LooksLikeJwt(std::string_view token);

// Returns the id of the key with which the token claims to be signed, or "" if it does not have the form of one. If
// IssuerKeys has no key with this id, the caller may need newer keys.
std::string KeyIdOf(std::string_view token);

}  // namespace longshore::auth

// JSON Web Tokens that an issuer signed, such as the projected tokens of pods: RFC 7519 (claims), 7515 (signatures),
// 7517 (keys), 7518 (RS256 and ES256; no other algorithm is accepted, "none" least of all).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/error.h"
#include "common/json/json.h"

namespace longshore::auth {

// An issuer's public keys, by their ids. Immutable, so thread-safe.
class IssuerKeys {
 public:
  // Of a key set: {"keys": [{"kid", "kty": "RSA" | "EC", ...}]}. Keys of other kinds are left out. InvalidArgument when
  // it is none, or has no key that can be used.
  static Result<IssuerKeys> Parse(const Json& key_set);

  bool Has(const std::string& id) const { return keys_.contains(id); }
  size_t size() const { return keys_.size(); }

 private:
  friend Result<Json> VerifyJwt(std::string_view token, const IssuerKeys& keys, const std::string& audience,
                                TimePoint now);
  struct Key;

  std::map<std::string, std::shared_ptr<const Key>> keys_;
};

// The claims, when the token is signed by one of the keys, for this audience, and valid now; a minute of difference
// between clocks is forgiven. Unauthenticated with what is wrong, and nothing of the token in it.
Result<Json> VerifyJwt(std::string_view token, const IssuerKeys& keys, const std::string& audience, TimePoint now);

// The id of the key that is said to have signed it, "" when the token is none: to know whether newer keys are needed.
std::string KeyIdOf(std::string_view token);

}  // namespace longshore::auth

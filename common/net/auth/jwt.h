// Verifies JSON Web Tokens, such as the projected tokens of pods: RFC 7519 (claims), 7515 (signatures), 7517 (keys),
// 7518 (algorithms). Only RS256 and ES256 are accepted; in particular not "none".
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
  // Parses a key set: {"keys": [{"kid", "kty": "RSA" | "EC", ...}]}. Ignores keys of other types. InvalidArgument if it
  // is not a key set or has no usable key.
  static Result<IssuerKeys> Parse(const Json& key_set);

  bool Has(const std::string& id) const { return keys_.contains(id); }
  size_t size() const { return keys_.size(); }

 private:
  friend Result<Json> VerifyJwt(std::string_view token, const IssuerKeys& keys, const std::string& audience,
                                TimePoint now);
  struct Key;

  std::map<std::string, std::shared_ptr<const Key>> keys_;
};

// Returns the claims if one of the keys has signed the token, and it is for this audience and valid now. Tolerates a
// clock difference of one minute. Otherwise Unauthenticated with the reason; the message has no content of the token.
Result<Json> VerifyJwt(std::string_view token, const IssuerKeys& keys, const std::string& audience, TimePoint now);

// The id of the key that the token claims to be signed with, to find out whether newer keys are needed. "" if it is not
// a valid token.
std::string KeyIdOf(std::string_view token);

}  // namespace longshore::auth

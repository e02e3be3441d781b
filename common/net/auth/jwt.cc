#include "common/net/auth/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/base64.h"
#include "common/json/path.h"

namespace longshore::auth {
namespace {

constexpr Duration kSkewMax = std::chrono::seconds(60);

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
  void operator()(OSSL_PARAM* params) const { OSSL_PARAM_free(params); }
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// Decodes Base64url without padding (RFC 4648, section 5).
std::optional<std::string> FromBase64Url(std::string text) {
  for (char& c : text) {
    if (c == '+' || c == '/' || c == '=') return std::nullopt;
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  return FromBase64(text);
}

Owned<BIGNUM> NumberAt(const Json& json, const char* key) {
  const auto bytes = FromBase64Url(TextAt(json, {key}));
  if (!bytes || bytes->empty()) return nullptr;
  return Owned<BIGNUM>(
      BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes->data()), static_cast<int>(bytes->size()), nullptr));
}

Owned<EVP_PKEY> KeyOf(const char* type, OSSL_PARAM_BLD* builder) {
  const Owned<OSSL_PARAM> params(OSSL_PARAM_BLD_to_param(builder));
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return Owned<EVP_PKEY>(key);
}

Owned<EVP_PKEY> RsaKey(const Json& json) {
  const auto modulus = NumberAt(json, "n");
  const auto exponent = NumberAt(json, "e");
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (!modulus || !exponent || !builder || BN_num_bits(modulus.get()) < 2048) return nullptr;
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return KeyOf("RSA", builder.get());
}

// Supports only the curve P-256.
Owned<EVP_PKEY> EcKey(const Json& json) {
  const auto x = FromBase64Url(TextAt(json, {"x"}));
  const auto y = FromBase64Url(TextAt(json, {"y"}));
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (!x || !y || x->size() != 32 || y->size() != 32 || !builder || TextAt(json, {"crv"}) != "P-256") return nullptr;
  const std::string point = "\x04" + *x + *y;  // Uncompressed.
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  return KeyOf("EC", builder.get());
}

// Supports only the curve Ed25519 (RFC 8037).
Owned<EVP_PKEY> EdKey(const Json& json) {
  const auto x = FromBase64Url(TextAt(json, {"x"}));
  if (!x || x->size() != 32 || TextAt(json, {"crv"}) != "Ed25519") return nullptr;
  return Owned<EVP_PKEY>(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr,
                                                     reinterpret_cast<const unsigned char*>(x->data()), x->size()));
}

// Converts an ECDSA signature from the form that it has in a token, two numbers of 32 bytes each, to the ASN.1 form
// that OpenSSL expects.
std::optional<std::string> AsDer(const std::string& pair) {
  if (pair.size() != 64) return std::nullopt;
  const auto* bytes = reinterpret_cast<const unsigned char*>(pair.data());
  const Owned<ECDSA_SIG> signature(ECDSA_SIG_new());
  if (!signature ||
      ECDSA_SIG_set0(signature.get(), BN_bin2bn(bytes, 32, nullptr), BN_bin2bn(bytes + 32, 32, nullptr)) != 1)
    return std::nullopt;
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return std::nullopt;
  std::string out(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return out;
}

// A token of which only the parts are decoded that are needed to verify the signature.
struct SignedToken {
  Json header;
  std::string_view claims;  // Base64url.
  std::string_view signed_text;
  std::string signature;
};

std::optional<Json> ObjectOf(std::string_view part) {
  const auto text = FromBase64Url(std::string(part));
  auto json = text ? ParseJson(*text) : tl::make_unexpected(Error{});
  if (!json || !json->is_object()) return std::nullopt;
  return std::move(*json);
}

std::optional<SignedToken> Split(std::string_view token) {
  const size_t first = token.find('.');
  const size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (token.size() > kJwtBytesMax || second == std::string_view::npos) return std::nullopt;
  auto header = ObjectOf(token.substr(0, first));
  auto signature = FromBase64Url(std::string(token.substr(second + 1)));
  if (!header || !signature) return std::nullopt;
  return SignedToken{std::move(*header), token.substr(first + 1, second - first - 1), token.substr(0, second),
                     std::move(*signature)};
}

bool IsFor(const Json& claims, const std::string& audience) {
  const auto found = claims.find("aud");
  if (found == claims.end()) return false;
  if (found->is_string()) return *found == audience;
  return found->is_array() && std::find(found->begin(), found->end(), Json(audience)) != found->end();
}

// Returns nullopt if the claim is missing or not a number.
std::optional<TimePoint> TimeAt(const Json& claims, const char* key) {
  const auto found = claims.find(key);
  if (found == claims.end() || !found->is_number()) return std::nullopt;
  constexpr double kSecondsMax = 1e11;  // Conversions of larger numbers would overflow.
  return TimePoint(std::chrono::seconds(static_cast<int64_t>(std::clamp(found->get<double>(), 0.0, kSecondsMax))));
}

tl::unexpected<Error> Refused(const char* why) { return Fail(Code::kUnauthenticated, "the token {}", why); }

Status CheckClaims(const Json& claims, const JwtTerms& terms, TimePoint now) {
  if (!IsFor(claims, terms.audience)) return Refused("is for another audience");
  if (!terms.issuer.empty() && TextAt(claims, {"iss"}) != terms.issuer) return Refused("is from another issuer");
  const auto expires = TimeAt(claims, "exp");
  if (!expires) return Refused("has no valid expiration time");
  if (now >= *expires + kSkewMax) return Refused("has expired");
  const auto begins = TimeAt(claims, "nbf");
  if (!begins && claims.contains("nbf")) return Refused("has a claim nbf that is not a number");
  if (begins && now < *begins - kSkewMax) return Refused("is not valid yet");
  return {};
}

}  // namespace

struct IssuerKeys::Key {
  std::string algorithm;
  Owned<EVP_PKEY> key;

  bool HasSigned(std::string_view text, const std::string& signature) const {
    const auto der = algorithm == "ES256" ? AsDer(signature) : signature;
    const EVP_MD* digest = algorithm == "EdDSA" ? nullptr : EVP_sha256();  // Ed25519 hashes by itself.
    const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
    if (!der || !context || EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key.get()) != 1) return false;
    return EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(der->data()), der->size(),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  }
};

// Returns nullptr for a key that is not usable.
std::shared_ptr<const IssuerKeys::Key> IssuerKeys::KeyFrom(const Json& json) {
  struct Type {
    const char* name;
    const char* algorithm;
    Owned<EVP_PKEY> (*read)(const Json&);
  };
  static constexpr Type kTypes[] = {{"RSA", "RS256", RsaKey}, {"EC", "ES256", EcKey}, {"OKP", "EdDSA", EdKey}};
  const auto type = std::ranges::find_if(kTypes, [&](const Type& each) { return TextAt(json, {"kty"}) == each.name; });
  if (type == std::end(kTypes)) return nullptr;
  if (json.contains("use") && TextAt(json, {"use"}) != "sig") return nullptr;
  const std::string meant_for = TextAt(json, {"alg"});
  if (!meant_for.empty() && meant_for != type->algorithm) return nullptr;
  auto key = type->read(json);
  return key ? std::make_shared<const Key>(Key{type->algorithm, std::move(key)}) : nullptr;
}

Result<IssuerKeys> IssuerKeys::Parse(const Json& key_set) {
  const auto list = key_set.is_object() ? key_set.find("keys") : key_set.end();
  if (!key_set.is_object() || list == key_set.end() || !list->is_array())
    return InvalidArgument("not a JSON Web Key Set");
  IssuerKeys keys;
  for (const Json& json : *list) {
    if (!json.is_object()) continue;
    const auto key = KeyFrom(json);
    if (!key) continue;
    const std::string id = TextAt(json, {"kid"});
    const auto& kept = keys.keys_.try_emplace(id, key).first->second;
    if (EVP_PKEY_eq(kept->key.get(), key->key.get()) != 1)
      return InvalidArgument("the key set has two different keys with the kid \"{}\"", id);
  }
  if (keys.keys_.empty()) return InvalidArgument("the key set has no key for RS256, ES256 or EdDSA");
  return keys;
}

std::string KeyIdOf(std::string_view token) {
  const auto split = Split(token);
  return split ? TextAt(split->header, {"kid"}) : "";
}

TimePoint EndOf(const Json& claims) { return *TimeAt(claims, "exp") + kSkewMax; }

// Parses the claims only after it has verified the signature, so that only the issuer chooses what is parsed.
Result<Json> VerifyJwt(std::string_view token, const IssuerKeys& keys, const JwtTerms& terms, TimePoint now) {
  const auto split = Split(token);
  if (!split) return Refused("is not a JSON Web Token");
  const auto key = keys.keys_.find(TextAt(split->header, {"kid"}));
  if (key == keys.keys_.end()) return Refused("is signed with an unknown key");
  if (split->header.contains("crit")) return Refused("requires extensions that are not supported");
  if (TextAt(split->header, {"alg"}) != key->second->algorithm)
    return Refused("is signed with another algorithm than that of its key");
  if (!key->second->HasSigned(split->signed_text, split->signature)) return Refused("is not signed by the issuer");
  auto claims = ObjectOf(split->claims);
  if (!claims) return Refused("has claims that are not a JSON object");
  RETURN_IF_ERROR(CheckClaims(*claims, terms, now));
  return std::move(*claims);
}

bool LooksLikeJwt(std::string_view token) {
  if (std::ranges::count(token, '.') != 2) return false;
  const std::string_view header = token.substr(0, token.find('.'));
  const auto start = FromBase64Url(std::string(header.substr(0, 4)));  // The first three bytes.
  return start && start->starts_with('{');
}

}  // namespace longshore::auth

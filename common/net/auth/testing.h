// An issuer of JSON Web Tokens, for tests.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <string>
#include <utility>

#include "common/base/base64.h"
#include "common/json/json.h"

namespace longshore::auth {

inline std::string Url(const std::string& bytes) {
  std::string text = ToBase64(bytes);
  while (!text.empty() && text.back() == '=') text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

inline std::string Bytes(const BIGNUM* number, int size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), size);
  return bytes;
}

// An issuer with one key.
class Issuer {
 public:
  enum class Type { kRsa, kEc, kEd };

  Issuer(std::string id, Type type, unsigned bits = 2048)
      : id_(std::move(id)),
        type_(type),
        key_(type == Type::kRsa  ? EVP_RSA_gen(bits)
             : type == Type::kEc ? EVP_EC_gen("P-256")
                                 : EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")) {}
  ~Issuer() { EVP_PKEY_free(key_); }
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  Json Key() const {
    if (type_ == Type::kRsa) {
      return {{"kid", id_},
              {"kty", "RSA"},
              {"n", Url(Number(OSSL_PKEY_PARAM_RSA_N))},
              {"e", Url(Number(OSSL_PKEY_PARAM_RSA_E))}};
    }
    if (type_ == Type::kEd) {
      std::string x(32, '\0');
      size_t size = x.size();
      EVP_PKEY_get_raw_public_key(key_, reinterpret_cast<unsigned char*>(x.data()), &size);
      return {{"kid", id_}, {"kty", "OKP"}, {"crv", "Ed25519"}, {"x", Url(x)}};
    }
    return {{"kid", id_},
            {"kty", "EC"},
            {"crv", "P-256"},
            {"x", Url(Number(OSSL_PKEY_PARAM_EC_PUB_X, 32))},
            {"y", Url(Number(OSSL_PKEY_PARAM_EC_PUB_Y, 32))}};
  }
  std::string Token(const Json& claims, Json header = Json::object()) const {
    if (!header.contains("alg")) header["alg"] = type_ == Type::kRsa ? "RS256" : type_ == Type::kEc ? "ES256" : "EdDSA";
    if (!header.contains("kid")) header["kid"] = id_;
    const std::string text = Url(header.dump()) + "." + Url(claims.dump());
    return text + "." + Url(Sign(text));
  }

 private:
  std::string Number(const char* name, int size = 0) const {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(key_, name, &number);
    const std::string bytes = Bytes(number, size == 0 ? BN_num_bytes(number) : size);
    BN_free(number);
    return bytes;
  }
  std::string Sign(const std::string& text) const {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    size_t size = 1024;
    std::string signature(size, '\0');
    EVP_DigestSignInit(context, nullptr, type_ == Type::kEd ? nullptr : EVP_sha256(), nullptr, key_);
    EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()), text.size());
    EVP_MD_CTX_free(context);
    signature.resize(size);
    if (type_ != Type::kEc) return signature;
    const auto* der = reinterpret_cast<const unsigned char*>(signature.data());
    ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size));
    const std::string raw = Bytes(ECDSA_SIG_get0_r(pair), 32) + Bytes(ECDSA_SIG_get0_s(pair), 32);
    ECDSA_SIG_free(pair);
    return raw;
  }

  const std::string id_;
  const Type type_;
  EVP_PKEY* const key_;
};

}  // namespace longshore::auth

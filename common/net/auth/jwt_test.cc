#include "common/net/auth/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "common/base/base64.h"

namespace longshore::auth {
namespace {

using testing::HasSubstr;

std::string Url(const std::string& bytes) {
  std::string text = ToBase64(bytes);
  while (!text.empty() && text.back() == '=') text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

std::string Bytes(const BIGNUM* number, int size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), size);
  return bytes;
}

// An issuer with one key.
class Issuer {
 public:
  Issuer(std::string id, bool is_rsa, unsigned bits = 2048)
      : id_(std::move(id)), is_rsa_(is_rsa), key_(is_rsa ? EVP_RSA_gen(bits) : EVP_EC_gen("P-256")) {}
  ~Issuer() { EVP_PKEY_free(key_); }

  Json Key() const {
    if (is_rsa_) {
      return {{"kid", id_},
              {"kty", "RSA"},
              {"n", Url(Number(OSSL_PKEY_PARAM_RSA_N))},
              {"e", Url(Number(OSSL_PKEY_PARAM_RSA_E))}};
    }
    return {{"kid", id_},
            {"kty", "EC"},
            {"crv", "P-256"},
            {"x", Url(Number(OSSL_PKEY_PARAM_EC_PUB_X, 32))},
            {"y", Url(Number(OSSL_PKEY_PARAM_EC_PUB_Y, 32))}};
  }
  std::string Token(const Json& claims, Json header = Json::object()) const {
    if (!header.contains("alg")) header["alg"] = is_rsa_ ? "RS256" : "ES256";
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
    EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key_);
    EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()), text.size());
    EVP_MD_CTX_free(context);
    signature.resize(size);
    if (is_rsa_) return signature;
    const auto* der = reinterpret_cast<const unsigned char*>(signature.data());
    ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size));
    const std::string raw = Bytes(ECDSA_SIG_get0_r(pair), 32) + Bytes(ECDSA_SIG_get0_s(pair), 32);
    ECDSA_SIG_free(pair);
    return raw;
  }

  const std::string id_;
  const bool is_rsa_;
  EVP_PKEY* const key_;
};

class Jwt : public ::testing::Test {
 protected:
  Json Claims() const { return {{"sub", "node"}, {"aud", {"us", "them"}}, {"exp", 2000}, {"nbf", 1000}}; }
  std::string ErrorFor(const std::string& token, int64_t now_s = 1500) const {
    const auto claims = VerifyJwt(token, keys_, "us", FromUnixMillis(now_s * 1000));
    if (claims) return "";
    EXPECT_EQ(claims.error().code, Code::kUnauthenticated);
    return claims.error().message;
  }

  const Issuer rsa_{"r", true};
  const Issuer ec_{"e", false};
  const IssuerKeys keys_ =
      IssuerKeys::Parse({{"keys", {rsa_.Key(), ec_.Key(), {{"kty", "oct"}, {"kid", "o"}, {"k", "AAAA"}}}}}).value();
};

TEST_F(Jwt, ReturnsTheClaimsOfATokenThatTheIssuerSigned) {
  EXPECT_EQ(keys_.size(), 2U);
  for (const Issuer* issuer : {&rsa_, &ec_}) {
    const auto claims = VerifyJwt(issuer->Token(Claims()), keys_, "us", FromUnixMillis(1'500'000));
    ASSERT_TRUE(claims) << claims.error().message;
    EXPECT_EQ(claims->at("sub"), "node");
  }
  Json one = Claims();
  one["aud"] = "us";
  EXPECT_EQ(ErrorFor(rsa_.Token(one)), "");
  EXPECT_EQ(KeyIdOf(ec_.Token(one)), "e");
}

TEST_F(Jwt, RefusesTokensForAnotherAudienceOrTime) {
  Json other = Claims();
  other["aud"] = {"them"};
  EXPECT_THAT(ErrorFor(rsa_.Token(other)), HasSubstr("audience"));
  other.erase("aud");
  EXPECT_THAT(ErrorFor(rsa_.Token(other)), HasSubstr("audience"));
  EXPECT_EQ(ErrorFor(rsa_.Token(Claims()), 2059), "") << "clocks differ";
  EXPECT_THAT(ErrorFor(rsa_.Token(Claims()), 2060), HasSubstr("expired"));
  EXPECT_EQ(ErrorFor(rsa_.Token(Claims()), 940), "");
  EXPECT_THAT(ErrorFor(rsa_.Token(Claims()), 939), HasSubstr("not valid yet"));
  Json forever = Claims();
  forever.erase("exp");
  EXPECT_THAT(ErrorFor(rsa_.Token(forever)), HasSubstr("expiration time"));
  forever["exp"] = 1e300;
  EXPECT_EQ(ErrorFor(rsa_.Token(forever)), "");
}

TEST_F(Jwt, RefusesTokensThatWereChangedOrSignedByAnotherKey) {
  const std::string token = rsa_.Token(Claims());
  for (size_t i = 0; i < token.size(); i += 7) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(ErrorFor(changed), "") << i;
  }
  const Issuer stranger("r", true);
  EXPECT_THAT(ErrorFor(stranger.Token(Claims())), HasSubstr("not signed by the issuer"));
  EXPECT_THAT(ErrorFor(Issuer("x", false).Token(Claims())), HasSubstr("is signed with an unknown key"));
}

TEST_F(Jwt, DoesNotLetTheTokenChooseHowItIsVerified) {
  EXPECT_THAT(ErrorFor(rsa_.Token(Claims(), {{"alg", "none"}})), HasSubstr("algorithm"));
  EXPECT_THAT(ErrorFor(rsa_.Token(Claims(), {{"alg", "HS256"}})), HasSubstr("algorithm"));
  EXPECT_THAT(ErrorFor(rsa_.Token(Claims(), {{"alg", "ES256"}})), HasSubstr("algorithm"));
  EXPECT_THAT(ErrorFor(rsa_.Token(Claims(), {{"kid", "e"}})), HasSubstr("algorithm"));
  EXPECT_THAT(ErrorFor(rsa_.Token(Claims(), {{"crit", {"x"}}})), HasSubstr("extensions that are not supported"));
}

TEST_F(Jwt, RefusesMalformedTokensWithoutRepeatingThem) {
  for (const std::string token : {"", "secret", "a.b", "a.b.c", "..", "e30.e30.", "e30.bnVsbA.AA", "e30=.e30.AA"}) {
    const std::string error = ErrorFor(token);
    EXPECT_NE(error, "") << token;
    EXPECT_EQ(error.find("secret"), std::string::npos);
  }
  EXPECT_NE(ErrorFor(std::string(1 << 20, 'A')), "");
}

TEST_F(Jwt, RefusesWeakAndMalformedKeys) {
  for (const Json& set : std::vector<Json>{{},
                                           {{"keys", 1}},
                                           {{"keys", Json::array()}},
                                           {{"keys", {1, {{"kty", "RSA"}}, {{"kty", "EC"}, {"crv", "P-256"}}}}},
                                           {{"keys", {Issuer("weak", true, 1024).Key()}}}}) {
    EXPECT_EQ(IssuerKeys::Parse(set).error().code, Code::kInvalidArgument) << set.dump();
  }
}

}  // namespace
}  // namespace longshore::auth

#include "common/net/auth/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/net/auth/testing.h"

namespace longshore::auth {
namespace {

using testing::HasSubstr;

class Jwt : public ::testing::Test {
 protected:
  Json Claims() const { return {{"sub", "node"}, {"aud", {"us", "them"}}, {"exp", 2000}, {"nbf", 1000}}; }
  std::string ErrorFor(const std::string& token, int64_t now_s = 1500) const {
    const auto claims = VerifyJwt(token, keys_, {.audience = "us"}, FromUnixMillis(now_s * 1000));
    if (claims) return "";
    EXPECT_EQ(claims.error().code, Code::kUnauthenticated);
    return claims.error().message;
  }

  const Issuer rsa_{"r", Issuer::Type::kRsa};
  const Issuer ec_{"e", Issuer::Type::kEc};
  const Issuer ed_{"d", Issuer::Type::kEd};
  const IssuerKeys keys_ =
      IssuerKeys::Parse({{"keys", {rsa_.Key(), ec_.Key(), ed_.Key(), {{"kty", "oct"}, {"kid", "o"}, {"k", "AAAA"}}}}})
          .value();
};

TEST_F(Jwt, ReturnsTheClaimsOfATokenThatTheIssuerSigned) {
  EXPECT_EQ(keys_.size(), 3U);
  for (const Issuer* issuer : {&rsa_, &ec_, &ed_}) {
    const auto claims = VerifyJwt(issuer->Token(Claims()), keys_, {.audience = "us"}, FromUnixMillis(1'500'000));
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
  for (const Json& wrong : {Json("1000"), Json(), Json{1000}}) {
    forever["nbf"] = wrong;
    EXPECT_THAT(ErrorFor(rsa_.Token(forever)), HasSubstr("nbf that is not a number")) << wrong;
  }
}

TEST_F(Jwt, ParsesTheClaimsOnlyOfATokenThatTheIssuerSigned) {
  const Json text = "not an object";
  EXPECT_EQ(ErrorFor(ed_.Token(text)), "the token has claims that are not a JSON object");
  EXPECT_EQ(ErrorFor(ed_.Token(text, {{"kid", "x"}})), "the token is signed with an unknown key");
  EXPECT_EQ(ErrorFor(Issuer("d", Issuer::Type::kEd).Token(text)), "the token is not signed by the issuer");
  EXPECT_EQ(KeyIdOf(ed_.Token(text)), "d");
}

TEST(JwtForm, HasThreePartsAndAHeaderThatBeginsWithABrace) {
  for (const std::string header : {"{\"alg\":\"ES256\"}", "{ \"alg\":\"ES256\"}", "{\n\"alg\": 1}", "{}"}) {
    EXPECT_TRUE(LooksLikeJwt(Url(header) + ".e30.AA")) << header;
    EXPECT_FALSE(LooksLikeJwt(Url(header) + ".e30")) << header;
    EXPECT_FALSE(LooksLikeJwt(Url(header) + ".e30.AA.AA")) << header;
  }
  for (const auto* other : {"..", "web.0123456789.abcdef", "ey+J.e30.AA", "W10.e30.AA", "Bearer"})
    EXPECT_FALSE(LooksLikeJwt(other)) << other;
}

TEST_F(Jwt, RefusesATokenOfAnotherIssuerIfTheTermsNameOne) {
  Json claims = Claims();
  const auto error = [&] {
    const auto verified =
        VerifyJwt(ed_.Token(claims), keys_, {.audience = "us", .issuer = "https://login"}, FromUnixMillis(1'500'000));
    return verified ? "" : verified.error().message;
  };
  EXPECT_EQ(error(), "the token is from another issuer");
  claims["iss"] = "https://login/";
  EXPECT_EQ(error(), "the token is from another issuer");
  claims["iss"] = "https://login";
  EXPECT_EQ(error(), "");
}

TEST_F(Jwt, IgnoresKeysForOtherAlgorithms) {
  Json key = rsa_.Key();
  key["alg"] = "RS512";
  EXPECT_FALSE(IssuerKeys::Parse({{"keys", {key}}}));
  key["alg"] = "RS256";
  EXPECT_TRUE(IssuerKeys::Parse({{"keys", {key}}}));
}

TEST_F(Jwt, IgnoresKeysForOtherUsesThanSignatures) {
  Json key = rsa_.Key();
  for (const Json& other : {Json("enc"), Json("x"), Json(1)}) {
    key["use"] = other;
    EXPECT_FALSE(IssuerKeys::Parse({{"keys", {key}}})) << other;
  }
  key["use"] = "sig";
  EXPECT_TRUE(IssuerKeys::Parse({{"keys", {key}}}));
}

TEST_F(Jwt, RefusesAKeySetInWhichAnIdHasTwoDifferentKeys) {
  const Json other = Issuer("r", Issuer::Type::kEc).Key();
  EXPECT_EQ(IssuerKeys::Parse({{"keys", {rsa_.Key(), other}}}).error(),
            (Error{Code::kInvalidArgument, "the key set has two different keys with the kid \"r\""}));
  Json first = rsa_.Key();
  Json second = ec_.Key();
  first.erase("kid");
  second.erase("kid");
  EXPECT_THAT(IssuerKeys::Parse({{"keys", {first, second}}}).error().message, HasSubstr("the kid \"\""));
  EXPECT_EQ(IssuerKeys::Parse({{"keys", {first, first, ec_.Key()}}})->size(), 2U);
}

TEST_F(Jwt, RefusesTokensThatWereChangedOrSignedByAnotherKey) {
  const std::string token = rsa_.Token(Claims());
  for (size_t i = 0; i < token.size(); i += 7) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(ErrorFor(changed), "") << i;
  }
  for (const Issuer* issuer : {&ec_, &ed_}) {
    std::string changed = issuer->Token(Claims());
    changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';
    EXPECT_NE(ErrorFor(changed), "");
  }
  const Issuer stranger("r", Issuer::Type::kRsa);
  EXPECT_THAT(ErrorFor(stranger.Token(Claims())), HasSubstr("not signed by the issuer"));
  EXPECT_THAT(ErrorFor(Issuer("x", Issuer::Type::kEc).Token(Claims())), HasSubstr("is signed with an unknown key"));
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
                                           {{"keys", {Issuer("weak", Issuer::Type::kRsa, 1024).Key()}}}}) {
    EXPECT_EQ(IssuerKeys::Parse(set).error().code, Code::kInvalidArgument) << set.dump();
  }
}

}  // namespace
}  // namespace longshore::auth

#include "common/net/auth/jwt_verifier.h"

#include <gmock/gmock.h>

#include "common/net/auth/testing.h"
#include "common/net/auth/tokens.h"

namespace longshore::auth {
namespace {

using testing::HasSubstr;

class FakeClock final : public Clock {
 public:
  TimePoint Now() const override { return FromUnixMillis(now_s * 1000); }
  int64_t now_s = 1500;
};

class JwtGate : public testing::Test {
 protected:
  std::shared_ptr<Reloaded<KeyFile>> Keys() {
    return *Reloaded<KeyFile>::Start(
        "keys",
        [this]() -> Result<KeyFile> {
          auto keys = IssuerKeys::Parse(set_);
          if (!keys) return tl::make_unexpected(keys.error());
          return KeyFile{set_.dump(), std::move(*keys)};
        },
        std::chrono::milliseconds(0));
  }
  static std::shared_ptr<Reloaded<Tokens>> TokensOf(const std::string& text) {
    return *Reloaded<Tokens>::Start(
        "tokens", [text] { return Tokens::Parse(text); }, std::chrono::milliseconds(0));
  }
  static std::string Bearer(const std::string& token) { return "Bearer " + token; }
  static Json Claims() { return {{"iss", "login"}, {"aud", "longshore"}, {"exp", 2000}, {"groups", {"testers"}}}; }
  std::string ErrorFor(const Gate& gate, const std::string& authorization) {
    const Status admitted = gate.Admit(authorization);
    return admitted ? "" : admitted.error().message;
  }

  const Issuer issuer_{"k", Issuer::Type::kEd};
  Json set_{{"keys", {issuer_.Key()}}};
  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  const std::shared_ptr<Reloaded<KeyFile>> keys_ = Keys();
  const std::shared_ptr<const JwtVerifier> verifier_ =
      std::make_shared<const JwtVerifier>(keys_, JwtTerms{"longshore", "login"}, clock_);
  const Gate gate_{nullptr, verifier_};
};

TEST_F(JwtGate, AdmitsAValidTokenAndKnowsItsClaims) {
  const std::string authorization = Bearer(issuer_.Token(Claims()));
  EXPECT_EQ(ErrorFor(gate_, authorization), "");
  const Caller caller = gate_.CallerOf(authorization).value();
  EXPECT_EQ(caller.client, "");
  ASSERT_NE(caller.claims, nullptr);
  EXPECT_EQ(caller.claims->at("groups"), Json({"testers"}));
  EXPECT_EQ(gate_.CallerOf(authorization)->claims, caller.claims) << "the token was verified once";
}

TEST_F(JwtGate, WithoutTokensACallNeedsNone) {
  for (const auto* authorization : {"", "Bearer opaque-token-1234", "Basic dXNlcjpwYXNz"}) {
    EXPECT_EQ(ErrorFor(gate_, authorization), "") << authorization;
    EXPECT_EQ(gate_.CallerOf(authorization)->claims, nullptr) << authorization;
  }
}

TEST_F(JwtGate, RefusesATokenThatDoesNotVerifyAndSaysWhy) {
  const auto with = [](const char* key, const Json& value) {
    Json claims = Claims();
    claims[key] = value;
    return claims;
  };
  const std::string good = issuer_.Token(Claims());
  const std::pair<std::string, std::string> cases[] = {
      {issuer_.Token(with("exp", 1000)), "the token has expired"},
      {issuer_.Token(with("nbf", 1900)), "the token is not valid yet"},
      {issuer_.Token(with("aud", "other")), "the token is for another audience"},
      {issuer_.Token(with("iss", "other")), "the token is from another issuer"},
      {issuer_.Token(Claims(), {{"kid", "unknown"}}), "the token is signed with an unknown key"},
      {issuer_.Token(Claims(), {{"alg", "none"}}), "the token is signed with another algorithm than that of its key"},
      {issuer_.Token(Claims(), {{"alg", "HS256"}}), "the token is signed with another algorithm than that of its key"},
      {Issuer("k", Issuer::Type::kEd).Token(Claims()), "the token is not signed by the issuer"},
      {good.substr(0, good.rfind('.') + 1), "the token is not signed by the issuer"},
      {issuer_.Token(with("pad", std::string(kJwtBytesMax, 'a'))), "the token has more than 16 KiB"},
      {"eyJhIjox.eyJ9.AA", "the token is not a JSON Web Token"}};
  for (const auto& [token, error] : cases) {
    EXPECT_EQ(ErrorFor(gate_, Bearer(token)), error);
    EXPECT_EQ(gate_.CallerOf(Bearer(token)).error().message, error);
  }
}

TEST_F(JwtGate, ARememberedTokenEndsAtItsTimeAndWithItsKey) {
  const std::string authorization = Bearer(issuer_.Token(Claims()));
  EXPECT_EQ(ErrorFor(gate_, authorization), "");
  clock_->now_s = 2060;
  EXPECT_EQ(ErrorFor(gate_, authorization), "the token has expired");
  clock_->now_s = 1500;
  EXPECT_EQ(ErrorFor(gate_, authorization), "");
  set_ = {{"keys", {Issuer("k", Issuer::Type::kEd).Key()}}};
  keys_->Reload();
  EXPECT_EQ(ErrorFor(gate_, authorization), "the token is not signed by the issuer");
}

TEST_F(JwtGate, RemembersALimitedNumberOfTokens) {
  for (size_t i = 0; i <= JwtVerifier::kRememberedMax; ++i) {
    Json claims = Claims();
    claims["sub"] = i;
    EXPECT_EQ(ErrorFor(gate_, Bearer(issuer_.Token(claims))), "");
  }
}

TEST_F(JwtGate, WithTokensACallNeedsOneOfThemOrAValidJwt) {
  const Gate gate(TokensOf("web 0123456789abcdef"), verifier_);
  EXPECT_EQ(ErrorFor(gate, "Bearer 0123456789abcdef"), "");
  EXPECT_EQ(gate.CallerOf("Bearer 0123456789abcdef")->client, "web");
  EXPECT_EQ(ErrorFor(gate, Bearer(issuer_.Token(Claims()))), "");
  for (const auto* wrong : {"", "Bearer opaque-token-1234"})
    EXPECT_EQ(ErrorFor(gate, wrong), "the request has no valid bearer token") << wrong;
  EXPECT_THAT(ErrorFor(gate, Bearer(issuer_.Token(Claims(), {{"kid", "x"}}))), HasSubstr("unknown key"));
}

TEST_F(JwtGate, AJwtIsAnAdministratorsIfItsClaimScopeContainsTheWordAdmin) {
  const Gate gate(TokensOf("web 0123456789abcdef"), verifier_);
  const auto admitted = [&](const Gate& each, const Json& scope) {
    Json claims = Claims();
    if (!scope.is_null()) claims["scope"] = scope;
    const std::string authorization = Bearer(issuer_.Token(claims));
    EXPECT_TRUE(each.Admit(authorization, Scope::kPredict));
    return each.Admit(authorization, Scope::kAdmin).has_value();
  };
  for (const char* scope : {"admin", "openid admin", "admin predict"}) EXPECT_TRUE(admitted(gate, scope)) << scope;
  for (const char* scope : {"", "openid", "predict", "administrator", "no-admin"})
    EXPECT_FALSE(admitted(gate, scope)) << scope;
  EXPECT_FALSE(admitted(gate, nullptr));
  EXPECT_FALSE(admitted(gate, Json{"admin"})) << "RFC 8693: a string";
  EXPECT_TRUE(admitted(gate_, nullptr)) << "without a file of tokens, a call without a token is admitted, too";
}

TEST_F(JwtGate, ATokenOfTheFileMayLookLikeAJwt) {
  const std::string token = issuer_.Token(Claims(), {{"kid", "of another issuer"}});
  EXPECT_EQ(Gate(TokensOf("web " + token), verifier_).CallerOf(Bearer(token))->client, "web");
}

}  // namespace
}  // namespace longshore::auth

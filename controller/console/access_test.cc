#include "controller/console/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::console {
namespace {

using ::testing::HasSubstr;

constexpr const char* kAnna = "Bearer annas-secret-token-1";
constexpr const char* kBen = "Bearer bens-secret-token-22";

http::Request With(const std::string& authorization) {
  http::Request request{.method = "GET", .target = "/"};
  if (!authorization.empty()) request.headers.emplace_back("authorization", authorization);
  return request;
}

class TokensOfAFile : public ::testing::Test {
 protected:
  TokensOfAFile() {
    auto tokens = auth::Tokens::Parse("anna annas-secret-token-1 admin\nben bens-secret-token-22 predict\n").value();
    access_.identify = ByTokens(
        std::make_shared<const Reloaded<auth::Tokens>>("test", Reloaded<auth::Tokens>::Read(), std::move(tokens)),
        clock_);
    access_.how_to_sign_in = "Ask anna.";
  }
  Code CodeOf(const std::string& authorization, Right needed, bool reading_needs_token = false) {
    const auto person = Admit(With(authorization), access_, needed, reading_needs_token);
    return person ? Code::kOk : person.error().code;
  }

  FakeMonotonicClock clock_;
  Access access_;
};

TEST_F(TokensOfAFile, OnlyTheScopeAdminMayGiveCommands) {
  EXPECT_EQ(Admit(With(kAnna), access_, Right::kCommand, false), (Person{"anna", Right::kCommand}));
  EXPECT_EQ(Admit(With(kBen), access_, Right::kRead, true), (Person{"ben", Right::kRead}));
  EXPECT_EQ(CodeOf(kBen, Right::kCommand), Code::kPermissionDenied);
  EXPECT_EQ(CodeOf("Bearer wrong", Right::kRead), Code::kUnauthenticated) << "although reading needs no token";
  EXPECT_EQ(CodeOf("annas-secret-token-1", Right::kCommand), Code::kUnauthenticated) << "without the scheme";
}

TEST_F(TokensOfAFile, WithoutATokenOnlyReadingIsPossible) {
  EXPECT_EQ(Admit(With(""), access_, Right::kRead, false), Person());
  EXPECT_EQ(CodeOf("", Right::kRead, true), Code::kUnauthenticated);
  EXPECT_EQ(CodeOf("", Right::kCommand), Code::kUnauthenticated);
  EXPECT_THAT(Admit(With(""), access_, Right::kCommand, false).error().message, HasSubstr("Ask anna."));
}

TEST_F(TokensOfAFile, AfterManyWrongTokensAllAreRefusedForAMinute) {
  for (size_t i = 0; i < kWrongTokensMax; ++i) {
    EXPECT_EQ(CodeOf(kAnna, Right::kCommand), Code::kOk) << i;
    EXPECT_EQ(CodeOf("Bearer guess", Right::kCommand), Code::kUnauthenticated) << i;
  }
  EXPECT_EQ(CodeOf("Bearer guess", Right::kCommand), Code::kResourceExhausted);
  EXPECT_EQ(CodeOf(kAnna, Right::kCommand), Code::kResourceExhausted) << "or the right token could still be found";
  EXPECT_EQ(CodeOf("", Right::kRead), Code::kOk) << "reading needs no token";
  clock_.Advance(kWrongTokensPer);
  EXPECT_EQ(CodeOf(kAnna, Right::kCommand), Code::kOk);
}

TEST(ConsoleAccess, WithoutTokensNobodyGivesCommands) {
  EXPECT_EQ(Admit(With(kAnna), {}, Right::kRead, false), Person());
  EXPECT_EQ(Admit(With(kAnna), {}, Right::kCommand, false).error().code, Code::kUnauthenticated);
}

TEST(ConsoleAccess, ACommandComesFromThePageItselfOrFromNoBrowser) {
  const auto code = [](const http::Headers& headers) {
    const Status allowed = CheckOrigin({.method = "POST", .target = "/", .headers = headers});
    return allowed ? Code::kOk : allowed.error().code;
  };
  const std::pair<std::string, std::string> host = {"host", "Localhost:8620"};
  const std::pair<std::string, std::string> json = {"content-type", "application/json"};
  EXPECT_EQ(code({host, json}), Code::kOk);
  EXPECT_EQ(code({host, {"content-type", "Application/JSON; charset=utf-8"}}), Code::kOk);
  for (const char* own : {"http://localhost:8620", "https://localhost:8620"}) {
    EXPECT_EQ(code({host, json, {"origin", own}}), Code::kOk) << own;
  }
  for (const char* other : {"http://evil.test", "null", "http://localhost", "http://localhost:8621",
                            "http://localhost:8620.evil.test", "ftp://localhost:8620"}) {
    EXPECT_EQ(code({host, json, {"origin", other}}), Code::kPermissionDenied) << other;
  }
  // The types that a form of another site can send.
  for (const char* form : {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"}) {
    EXPECT_EQ(code({host, {"content-type", form}}), Code::kInvalidArgument) << form;
  }
}

TEST(ConsoleAccess, OnlyListedSubjectsMayUseTheConsole) {
  const Subjects subjects = {{"system:serviceaccount:ops:anna", Right::kCommand},
                             {"system:serviceaccount:ops:ben", Right::kRead}};
  EXPECT_EQ(PersonOf({{"sub", "system:serviceaccount:ops:anna"}}, subjects),
            (Person{"system:serviceaccount:ops:anna", Right::kCommand}));
  EXPECT_EQ(PersonOf({{"sub", "system:serviceaccount:ops:ben"}}, subjects)->right, Right::kRead);
  EXPECT_EQ(PersonOf({{"sub", "system:serviceaccount:ops:carl"}}, subjects).error().code, Code::kPermissionDenied);
  for (const Json& claims : {Json::object(), Json{{"sub", ""}}, Json{{"sub", 7}}, Json{{"sub", nullptr}}}) {
    EXPECT_EQ(PersonOf(claims, subjects).error().code, Code::kUnauthenticated) << claims;
  }
}

}  // namespace
}  // namespace longshore::console

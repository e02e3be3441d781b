#include "common/net/auth/tokens.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace longshore::auth {
namespace {

using testing::HasSubstr;

constexpr std::string_view kText = "# who may call\n\nweb  0123456789abcdef\r\n\tbatch 0123456789abcdeg  ";

constexpr auto* kWrongScope =
    "line 1: only scopes may follow the token: predict, admin, or both with a comma and without blanks";

Gate GateOf(std::string_view text) {
  const auto read = [text = std::string(text)] { return Tokens::Parse(text); };
  return Gate(*Reloaded<Tokens>::Start("tokens", read, std::chrono::milliseconds(0)));
}

TEST(Tokens, AreReadFromLinesWithANameAndAToken) {
  const auto tokens = Tokens::Parse(kText);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(tokens->ClientOf("0123456789abcdef")->client, "web");
  EXPECT_EQ(tokens->ClientOf("0123456789abcdeg")->client, "batch");
  for (const auto* wrong : {"", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef ", "web"}) {
    EXPECT_FALSE(tokens->ClientOf(wrong)) << wrong;
  }
}

TEST(Tokens, HaveTheScopesOfTheirLineOrAll) {
  const std::pair<std::string, Scope> cases[] = {{"", Scope::kAdmin},
                                                 {"\tpredict ", Scope::kPredict},
                                                 {" admin", Scope::kAdmin},
                                                 {" predict,admin", Scope::kAdmin},
                                                 {" admin,predict", Scope::kAdmin}};
  for (const auto& [scopes, expected] : cases) {
    const auto tokens = Tokens::Parse("web 0123456789abcdef" + scopes);
    ASSERT_TRUE(tokens) << tokens.error().message;
    EXPECT_EQ(tokens->ClientOf("0123456789abcdef")->scope, expected) << scopes;
  }
}

TEST(Tokens, NameAMalformedLineByItsNumberWithoutShowingIt) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "the file has no token"},
      {"# nothing\n", "the file has no token"},
      {"a 0123456789abcdef\nsecret0123456789", "line 2: expected a name and a token"},
      {"a secret", "line 1: a token must have 16 to 4096 characters"},
      {"a 0123456789\x7f"
       "abcdef",
       "line 1: a token must consist of visible ASCII characters"},
      {"a 0123456789abcdef secret", kWrongScope},
      {"a 0123456789abcdef predict, admin", kWrongScope},
      {"a 0123456789abcdef predict,", kWrongScope},
      {"a 0123456789abcdef PREDICT", kWrongScope},
      {"a 0123456789abcdef\na 0123456789abcdeg", "line 2: an earlier line has the same name or token"},
      {"a 0123456789abcdef\nb 0123456789abcdef", "line 2: an earlier line has the same name or token"}};
  for (const auto& [text, expected] : cases) {
    const auto tokens = Tokens::Parse(text);
    ASSERT_FALSE(tokens) << text;
    EXPECT_EQ(tokens.error().message, expected);
    EXPECT_THAT(tokens.error().message, Not(HasSubstr("secret")));
  }
}

TEST(Gate, AdmitsKnownTokensAndRefusesAllOthersWithTheSameError) {
  const Gate gate = GateOf(kText);
  for (const auto* good : {"Bearer 0123456789abcdef", "bearer 0123456789abcdef", "BEARER 0123456789abcdeg"}) {
    EXPECT_TRUE(gate.Admit(good)) << good;
  }
  for (const auto* bad : {"", "Bearer", "Bearer ", "Bearer 0123456789abcdefg", "Basic 0123456789abcdef",
                          "0123456789abcdef", "Bearer\t0123456789abcdef", "Bearer  0123456789abcdef"}) {
    const Status answer = gate.Admit(bad);
    ASSERT_FALSE(answer) << bad;
    EXPECT_EQ(answer.error(), (Error{Code::kUnauthenticated, "the request has no valid bearer token"}));
  }
}

TEST(Gate, RefusesACallThatNeedsAnotherScopeThanThatOfTheToken) {
  const Gate gate = GateOf("web 0123456789abcdef predict\nops 0123456789abcdeg admin");
  EXPECT_TRUE(gate.Admit("Bearer 0123456789abcdef", Scope::kPredict));
  EXPECT_TRUE(gate.Admit("Bearer 0123456789abcdeg", Scope::kPredict));
  EXPECT_TRUE(gate.Admit("Bearer 0123456789abcdeg", Scope::kAdmin));
  const Status refused = gate.Admit("Bearer 0123456789abcdef", Scope::kAdmin);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error(),
      (Error{Code::kPermissionDenied,
             "this call needs a token with the scope admin, but the token of the request has the scope predict"}));
  EXPECT_EQ(gate.Admit("Bearer 0123456789abcdee", Scope::kAdmin).error().code, Code::kUnauthenticated);
}

TEST(Gate, NamesTheClientOfAToken) {
  const Gate gate = GateOf(kText);
  EXPECT_EQ(gate.CallerOf("Bearer 0123456789abcdeg")->client, "batch");
  EXPECT_EQ(gate.CallerOf("Bearer 0123456789abcdee").error().code, Code::kUnauthenticated);
  EXPECT_EQ(gate.CallerOf("").error().code, Code::kUnauthenticated);
}

TEST(Reloaded, KeepsTheOldValueWhenTheNewOneCannotBeRead) {
  std::string text(kText);
  const auto read = [&text] { return Tokens::Parse(text); };
  const auto tokens = *Reloaded<Tokens>::Start("tokens", read, std::chrono::milliseconds(0));
  const auto before = tokens->current();
  text = "broken";
  tokens->Reload();
  EXPECT_EQ(tokens->current(), before);
  text = kText;
  tokens->Reload();
  EXPECT_EQ(tokens->current(), before);
  text = "web 0123456789abcdeh";
  tokens->Reload();
  EXPECT_FALSE(tokens->current()->ClientOf("0123456789abcdef"));
  EXPECT_EQ(tokens->current()->ClientOf("0123456789abcdeh")->client, "web");
}

TEST(Authorization, IsTheFirstTokenOfItsFile) {
  const Path file = std::filesystem::temp_directory_path() / fmt::format("tokens.{}", getpid());
  std::ofstream(file) << kText;
  EXPECT_EQ(*(*OpenAuthorization("--x", file))->current(), "Bearer 0123456789abcdef");
  std::filesystem::remove(file);
  EXPECT_THAT(OpenAuthorization("--x", file).error().message, HasSubstr("--x: cannot open"));
}

}  // namespace
}  // namespace longshore::auth

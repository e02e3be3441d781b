#include "common/auth/tokens.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace longshore::auth {
namespace {

using testing::HasSubstr;

constexpr std::string_view kText = "# who may call\n\nweb  0123456789abcdef\r\n\tbatch 0123456789abcdeg  ";

Gate GateOf(std::string_view text) {
  const auto read = [text = std::string(text)] { return Tokens::Parse(text); };
  return Gate(*Reloaded<Tokens>::Start("tokens", read, std::chrono::milliseconds(0)));
}

TEST(Tokens, EveryLineIsANameAndAToken) {
  const auto tokens = Tokens::Parse(kText);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_TRUE(tokens->Know("0123456789abcdef"));
  EXPECT_TRUE(tokens->Know("0123456789abcdeg"));
  for (const auto* wrong : {"", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef ", "web"}) {
    EXPECT_FALSE(tokens->Know(wrong)) << wrong;
  }
}

TEST(Tokens, WhatIsWrongIsNamedByItsLineAndNeverShown) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "there is no token"},
      {"# nothing\n", "there is no token"},
      {"a 0123456789abcdef\nsecret0123456789", "line 2: not a name and a token"},
      {"a secret", "line 1: a token has 16 to 4096 characters"},
      {"a 0123456789 abcdef", "line 1: a token has no blanks"},
      {"a 0123456789abcdef\na 0123456789abcdeg", "line 2: its name or its token was there before"},
      {"a 0123456789abcdef\nb 0123456789abcdef", "line 2: its name or its token was there before"}};
  for (const auto& [text, said] : cases) {
    const auto tokens = Tokens::Parse(text);
    ASSERT_FALSE(tokens) << text;
    EXPECT_EQ(tokens.error().message, said);
    EXPECT_THAT(tokens.error().message, Not(HasSubstr("secret")));
  }
}

TEST(Gate, AdmitsAKnownBearerAndRefusesAllElseAlike) {
  const Gate gate = GateOf(kText);
  for (const auto* good : {"Bearer 0123456789abcdef", "bearer 0123456789abcdef", "BEARER 0123456789abcdeg"}) {
    EXPECT_TRUE(gate.Admit(good)) << good;
  }
  for (const auto* bad : {"", "Bearer", "Bearer ", "Bearer 0123456789abcdefg", "Basic 0123456789abcdef",
                          "0123456789abcdef", "Bearer\t0123456789abcdef", "Bearer  0123456789abcdef"}) {
    const Status answer = gate.Admit(bad);
    ASSERT_FALSE(answer) << bad;
    EXPECT_EQ(answer.error(), (Error{Code::kUnauthenticated, "a bearer token is needed here"}));
  }
}

TEST(Reloaded, KeepsTheOldValueWhenTheNewOneCannotBeRead) {
  std::string text(kText);
  const auto read = [&text] { return Tokens::Parse(text); };
  const auto tokens = *Reloaded<Tokens>::Start("tokens", read, std::chrono::milliseconds(0));
  const auto before = tokens->current();
  text = "broken";
  tokens->Look();
  EXPECT_EQ(tokens->current(), before);
  text = kText;
  tokens->Look();
  EXPECT_EQ(tokens->current(), before);
  text = "web 0123456789abcdeh";
  tokens->Look();
  EXPECT_FALSE(tokens->current()->Know("0123456789abcdef"));
  EXPECT_TRUE(tokens->current()->Know("0123456789abcdeh"));
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

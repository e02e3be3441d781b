#include "common/net/auth/tokens.h"

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

TEST(Tokens, AreReadFromLinesWithANameAndAToken) {
  const auto tokens = Tokens::Parse(kText);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(tokens->NameOf("0123456789abcdef"), "web");
  EXPECT_EQ(tokens->NameOf("0123456789abcdeg"), "batch");
  for (const auto* wrong : {"", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef ", "web"}) {
    EXPECT_EQ(tokens->NameOf(wrong), "") << wrong;
  }
}

TEST(Tokens, NameAMalformedLineByItsNumberWithoutShowingIt) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "the file has no token"},
      {"# nothing\n", "the file has no token"},
      {"a 0123456789abcdef\nsecret0123456789", "line 2: expected a name and a token"},
      {"a secret", "line 1: a token must have 16 to 4096 characters"},
      {"a 0123456789 abcdef", "line 1: a token must consist of visible ASCII characters, without blanks"},
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
  EXPECT_EQ(tokens->current()->NameOf("0123456789abcdef"), "");
  EXPECT_EQ(tokens->current()->NameOf("0123456789abcdeh"), "web");
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

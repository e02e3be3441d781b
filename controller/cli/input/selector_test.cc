#include "controller/cli/input/selector.h"

#include <gtest/gtest.h>

namespace longshore::cli::input {
namespace {

// Whether the selector matches an object with the labels app=x, tier=web and example.com/team=a.
bool Matches(const char* text) {
  const auto selector = ParseSelector(text);
  EXPECT_TRUE(selector) << selector.error().message;
  return selector && input::Matches(*selector, {{"app", "x"}, {"tier", "web"}, {"example.com/team", "a"}});
}

TEST(Selector, MatchesEachFormOfKubectl) {
  for (const char* text :
       {"", "app=x", "app==x", "app = x", "app!=y", "missing!=x", "app in (x, y)", "app in (x)", "app notin (y,z)",
        "missing notin (x)", "app", "!missing", "example.com/team=a", "app=x,tier in (web, batch),!missing"})
    EXPECT_TRUE(Matches(text)) << text;
  for (const char* text :
       {"app=y", "app=", "app!=x", "missing=x", "app in (y,z)", "app notin (x)", "missing", "!app", "app=x,tier=batch"})
    EXPECT_FALSE(Matches(text)) << text;
}

TEST(Selector, AMistakeIsAnErrorThatShowsIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"app=x,", "\"\" is not"},
      {"=x", "\"\" is not"},
      {"a b", "\"a b\" is not"},
      {"app=x y", "\"x y\" is not"},
      {"app in x)", "\"app in x)\" is not"},
      {"app in (x", "\"app in (x\" is not of the form KEY in (VALUE, VALUE)"},
      {"app of (x)", "is not of the form KEY in (VALUE, VALUE)"},
      {"(x)", "is not of the form"}};
  for (const auto& [text, message] : cases) {
    const auto selector = ParseSelector(text);
    ASSERT_FALSE(selector) << text;
    EXPECT_NE(selector.error().message.find(message), std::string::npos) << text << ": " << selector.error().message;
  }
}

}  // namespace
}  // namespace longshore::cli::input

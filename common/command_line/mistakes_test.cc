#include "common/command_line/mistakes.h"

#include <gtest/gtest.h>

namespace longshore::command_line {
namespace {

std::string Refused(const std::vector<std::string>& words) {
  CLI::App app("", "node");
  int port = 0;
  app.add_option("--rest_api_port", port);
  app.add_option("--port", port);
  CLI::App* show = app.add_subcommand("show");
  show->add_option("--rows", port);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return Explain(error, app);
  }
  return "";
}

TEST(Explain, NamesTheUnknownFlagAndTheNearestOne) {
  EXPECT_EQ(Refused({"--prot=1"}), "unknown argument: --prot=1; did you mean --port?");
  EXPECT_EQ(Refused({"--rest_port=8501"}), "unknown argument: --rest_port=8501; did you mean --rest_api_port?");
  EXPECT_EQ(Refused({"--colour=red"}), "unknown argument: --colour=red");
  EXPECT_EQ(Refused({"show", "--row=1"}), "unknown argument: --row=1; did you mean --rows?");
  EXPECT_EQ(Refused({"--colour=a: b", "more"}), "unknown argument: --colour=a: b");
}

TEST(Explain, OtherMistakesHaveTheirOwnText) { EXPECT_EQ(Refused({"--port", "x"}), "Could not convert: --port = x"); }

}  // namespace
}  // namespace longshore::command_line

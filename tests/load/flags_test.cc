#include "tests/load/flags.h"

#include <gtest/gtest.h>

namespace longshore::load {
namespace {

std::string ErrorOf(std::vector<const char*> words) {
  words.insert(words.begin(), "longshore-load");
  const auto flags = ParseFlags(static_cast<int>(words.size()), const_cast<char**>(words.data()));
  return flags ? "" : flags.error().message;
}

TEST(Flags, NameWhatIsMissing) {
  EXPECT_EQ(ErrorOf({}), "--grpc=HOST:PORT is missing (see longshore-load --help)");
  EXPECT_EQ(ErrorOf({"--grpc=h:1", "--rest_share=0.5"}), "--rest_share needs --rest=HOST:PORT");
  EXPECT_EQ(ErrorOf({"--grpc=h:1"}), "");
}

TEST(Flags, AComparisonNeedsTwoFilesAndNoServer) {
  EXPECT_EQ(ErrorOf({"--compare", "a.json", "b.json"}), "");
  EXPECT_NE(ErrorOf({"--compare", "a.json"}), "");
}

}  // namespace
}  // namespace longshore::load

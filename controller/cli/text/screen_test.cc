#include "controller/cli/text/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::cli::text {
namespace {

using testing::HasSubstr;

TEST(Screen, OverwritesLineByLineAndErasesWhatIsLeft) {
  EXPECT_EQ(Frame("one\ntwo\n", {}), "\x1b[Hone\x1b[K\ntwo\x1b[K\n\x1b[J");
}

TEST(Screen, CutsLongLinesByCharactersAndNotInsideColors) {
  EXPECT_EQ(Frame("████\n", {.columns = 4, .rows = 9}), "\x1b[H████\x1b[K\n\x1b[J");
  EXPECT_EQ(Frame("█████\n", {.columns = 4, .rows = 9}), "\x1b[H███…\x1b[0m\x1b[K\n\x1b[J");
  EXPECT_EQ(Frame("\x1b[31mred\x1b[0mabc\n", {.columns = 3, .rows = 9}), "\x1b[H\x1b[31mre…\x1b[0m\x1b[K\n\x1b[J");
  EXPECT_THAT(Frame("\x1b[31mred\x1b[0m\n", {.columns = 3, .rows = 9}), HasSubstr("\x1b[31mred\x1b[0m\x1b[K"));
}

TEST(Screen, SaysHowManyLinesDoNotFit) {
  EXPECT_EQ(Frame("1\n2\n3\n4\n", {.columns = 60, .rows = 4}),
            "\x1b[H1\x1b[K\n2\x1b[K\n  … 2 more lines: make the window higher\x1b[K\n\x1b[J");
  EXPECT_THAT(Frame("1\n2\n3\n", {.columns = 60, .rows = 4}), HasSubstr("3\x1b[K"));
}

TEST(Screen, WrapsSentencesAndLeavesTablesAndBars) {
  EXPECT_EQ(Wrapped("  Pass: it is not worse\n", 14), "  Pass: it is\n  not worse\n");
  EXPECT_EQ(Wrapped("  short\n\n", 14), "  short\n\n");
  EXPECT_EQ(Wrapped("  a   b   c   d   e\n", 6), "  a   b   c   d   e\n");
  EXPECT_EQ(Wrapped("  x ──── ────\n", 6), "  x ──── ────\n");
  EXPECT_EQ(Wrapped("  unbreakable\n", 6), "  unbreakable\n");
}

TEST(Screen, ColorsTitlesBarsAndVerdicts) {
  EXPECT_EQ(ColoredRollout("✓ done.\n"), "\x1b[32m✓ done.\x1b[0m\n");
  EXPECT_EQ(ColoredRollout("Steps\n"), "\x1b[1mSteps\x1b[0m\n");
  EXPECT_EQ(ColoredRollout("  version 1 stable 75 %  ██\n"), "  version 1 stable 75 %  \x1b[32m██\x1b[0m\n");
  EXPECT_EQ(ColoredRollout("  version 2 candidate 25 %  █\n"), "  version 2 candidate 25 %  \x1b[36m█\x1b[0m\n");
  EXPECT_EQ(ColoredRollout("  Fail (Latency): slow\n"), "\x1b[31m  Fail (Latency): slow\x1b[0m\n");
  EXPECT_EQ(ColoredRollout("  1   5 %   ✓ done   x\n"), "  1   5 %   \x1b[32m✓ done\x1b[0m   x\n");
}

TEST(Screen, HasAnAsciiForm) { EXPECT_EQ(WithAsciiMarks("✓ █─━┃ ●… é"), "+ #-=| *~ é"); }

}  // namespace
}  // namespace longshore::cli::text

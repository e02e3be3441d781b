#include "controller/cli/text/color.h"

#include <gtest/gtest.h>

namespace longshore::cli::text {
namespace {

TEST(Colored, ColoursOnlyCellsThatStateACondition) {
  EXPECT_EQ(Colored("NAME     READY             WHY\n"
                    "True     False (NoNodes)   it failed\n"
                    "Truely   Unknown           under way\n"),
            "NAME     READY             WHY\n"
            "\x1b[32mTrue\x1b[0m     \x1b[31mFalse (NoNodes)\x1b[0m   it failed\n"
            "Truely   \x1b[33mUnknown\x1b[0m           \x1b[33munder way\x1b[0m\n");
}

TEST(Colored, KeepsTextWithoutCells) { EXPECT_EQ(Colored("\n  \nno controller\n"), "\n  \nno controller\n"); }

}  // namespace
}  // namespace longshore::cli::text

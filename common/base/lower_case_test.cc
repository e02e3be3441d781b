#include "common/base/lower_case.h"

#include <gtest/gtest.h>

namespace longshore {
namespace {

TEST(LowerCase, ChangesOnlyLettersOfAscii) {
  EXPECT_EQ(LowerCase("X-Team_09"), "x-team_09");
  EXPECT_EQ(LowerCase("@AZ[`az{"), "@az[`az{");
  EXPECT_EQ(LowerCase("\xc3\x84"), "\xc3\x84") << "bytes of UTF-8 stay";
  EXPECT_EQ(LowerCase(""), "");
}

}  // namespace
}  // namespace longshore

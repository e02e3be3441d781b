#include "common/base/trimmed.h"

#include <gtest/gtest.h>

namespace longshore {
namespace {

TEST(Trimmed, RemovesBlanksAtBothEnds) {
  EXPECT_EQ(Trimmed(" \t a b\t "), "a b");
  EXPECT_EQ(Trimmed("a"), "a");
  EXPECT_EQ(Trimmed(" \t"), "");
  EXPECT_EQ(Trimmed(""), "");
  EXPECT_EQ(Trimmed("\ta ", " "), "\ta");
}

}  // namespace
}  // namespace longshore

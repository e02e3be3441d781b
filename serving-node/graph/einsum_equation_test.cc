#include "serving-node/graph/einsum_equation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::graph {
namespace {

using testing::ElementsAre;

TEST(ParseEinsum, ReturnsTheLabelsOfEachOperandAndOfTheResult) {
  const auto product = ParseEinsum("abc,cD->abD");
  ASSERT_TRUE(product);
  EXPECT_THAT(product->operands, ElementsAre("abc", "cD"));
  EXPECT_EQ(product->result, "abD");
  const auto sum = ParseEinsum("ab->");
  ASSERT_TRUE(sum);
  EXPECT_THAT(sum->operands, ElementsAre("ab"));
  EXPECT_EQ(sum->result, "");
}

TEST(ParseEinsum, KeepsOperandsWithoutLabels) {
  const auto scalars = ParseEinsum(",,a->a");
  ASSERT_TRUE(scalars);
  EXPECT_THAT(scalars->operands, ElementsAre("", "", "a"));
}

TEST(ParseEinsum, RejectsEverythingButLetters) {
  for (const char* equation : {"", "ab", "ab,bc", "a...,...b->ab", "a b->ab", "ab-> a", "ab->a->b", "a1->a", "ab->a,b"})
    EXPECT_FALSE(ParseEinsum(equation)) << equation;
}

}  // namespace
}  // namespace longshore::graph

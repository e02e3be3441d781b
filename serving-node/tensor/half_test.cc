#include "serving-node/tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace longshore::tensor {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Half, KeepsEveryHalfThroughFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = HalfToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value)))) << bits;
    else
      EXPECT_EQ(FloatToHalf(value), bits);
  }
}

TEST(Half, ConvertsOneLargestSmallestAndInfinity) {
  EXPECT_EQ(HalfToFloat(0x3c00), 1.0F);
  EXPECT_EQ(HalfToFloat(0x7bff), 65504.0F);
  EXPECT_EQ(HalfToFloat(0x0001), 0x1p-24F);
  EXPECT_EQ(HalfToFloat(0xfc00), -kInfinity);
}

TEST(Half, RoundsHalfToEven) {
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F), 0x3c00);
  EXPECT_EQ(FloatToHalf(1.0F + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(FloatToHalf(1.0F + 0x1p-11F + 0x1p-20F), 0x3c01);
  EXPECT_EQ(FloatToHalf(0x1p-25F), 0x0000);
  EXPECT_EQ(FloatToHalf(3 * 0x1p-25F), 0x0002);
}

TEST(Half, BecomesInfinityIfTooLarge) {
  EXPECT_EQ(FloatToHalf(65519.0F), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7c00);
  EXPECT_EQ(FloatToHalf(-kInfinity), 0xfc00);
}

TEST(Bfloat16, KeepsTheUpperHalfOfAFloatAndRoundsHalfToEven) {
  EXPECT_EQ(FloatToBfloat16(1.0F), 0x3f80);
  EXPECT_EQ(FloatToBfloat16(1.0F + 0x1p-8F), 0x3f80);
  EXPECT_EQ(FloatToBfloat16(1.0F + 3 * 0x1p-8F), 0x3f82);
  EXPECT_EQ(FloatToBfloat16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(Bfloat16ToFloat(FloatToBfloat16(std::nanf("")))));
  EXPECT_EQ(Bfloat16ToFloat(0xc000), -2.0F);
}

}  // namespace
}  // namespace longshore::tensor

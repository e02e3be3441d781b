#include "serving-node/engine/cpu/steps/windows.h"

#include <gtest/gtest.h>

namespace longshore::engine::cpu {
namespace {

// Returns the window parameters of a convolution with stride 1 over an image of 4 by 4, padded to a result of the same
// size.
std::optional<Windows> OfDilated(int64_t window, int64_t dilation) {
  graph::Node node{.name = "y", .op = "Conv2D"};
  tensorflow::AttrValue padding, dilations;
  padding.set_s("SAME");
  for (const int64_t size : {int64_t{1}, dilation, int64_t{1}, int64_t{1}}) dilations.mutable_list()->add_i(size);
  node.attributes.Set("padding", padding);
  node.attributes.Set("dilations", dilations);
  return WindowsOf(node, {1, 4, 4, 1}, {1, 4, 4, 1}, window, 1);
}

TEST(Windows, PadByTheReachOfTheDilatedWindow) {
  const auto windows = OfDilated(3, 1000);
  ASSERT_TRUE(windows);
  EXPECT_EQ(windows->before[0], 1000);
  EXPECT_EQ(windows->after[0], 1000);
  EXPECT_EQ(windows->dilations[0], 999);
}

TEST(Windows, AreNotSupportedBeyondThe32BitRangeOfOneDnn) { EXPECT_FALSE(OfDilated(1000, 1 << 24)); }

}  // namespace
}  // namespace longshore::engine::cpu

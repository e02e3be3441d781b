// Tests dilations that only TensorFlow's oneDNN kernels support, not its own CPU kernels, so that golden answers do not
// exist. A dilated filter must compute the same as a larger filter with zeros in between.
#include <gtest/gtest.h>

#include "serving-node/engine/interpreter/one_op.h"

namespace longshore::engine::interpreter {
namespace {

using tensor::Shape;

Json Ramp(const Shape& shape) {
  Json values = Json::array();
  for (int64_t i = 0; i < *tensor::ElementCount(shape); ++i) values.push_back(static_cast<double>(i * 7 % 23 - 11) / 4);
  return {{"type", 1}, {"shape", shape}, {"values", values}};
}

Json Sizes(const Shape& sizes) { return {{"type", 3}, {"shape", {sizes.size()}}, {"values", sizes}}; }

// A filter with 2 by 2 (by 2) values; with `is_spread`, the same values with zeros in between, 3 by 3 (by 3).
Json Filter(size_t rank, bool is_spread) {
  Shape shape(rank, is_spread ? 3 : 2);
  shape.insert(shape.end(), {1, 1});
  Json values = Json::array();
  for (int64_t i = 0, next = 1; i < *tensor::ElementCount(shape); ++i) {
    bool is_set = true;
    for (int64_t left = i, axis = 0; is_spread && axis < static_cast<int64_t>(rank); ++axis, left /= 3)
      is_set = is_set && left % 3 != 1;
    values.push_back(is_set ? next++ : 0);
  }
  return {{"type", 1}, {"shape", shape}, {"values", values}};
}

std::string List(size_t rank, int value) {
  std::string text = "list { i: 1 ";
  for (size_t i = 0; i < rank; ++i) text += fmt::format("i: {} ", value);
  return text + "i: 1 }";
}

std::vector<float> Answer(const std::string& op, Json inputs, size_t rank, bool is_dilated) {
  inputs[1] = Filter(rank, !is_dilated);
  const Json json = {{"op", op},
                     {"attributes",
                      {{"T", "type: DT_FLOAT"},
                       {"padding", "s: 'SAME'"},
                       {"strides", List(rank, 1)},
                       {"dilations", List(rank, is_dilated ? 2 : 1)}}},
                     {"inputs", inputs}};
  const OneOp one(json);
  const auto plan = one.MakePlan();
  if (!plan) ADD_FAILURE() << ToString(plan.error());
  kernels::Resources resources;
  const auto outputs = plan->Run(one.fed, {}, resources);
  if (!outputs) ADD_FAILURE() << ToString(outputs.error());
  const auto values = (*outputs)[0].values<float>();
  return {values.begin(), values.end()};
}

TEST(Dilations, ComputeTheSameAsFiltersWithZerosInBetween) {
  const Shape image = {2, 6, 5, 1}, volume = {1, 4, 6, 5, 1};
  const std::vector<std::tuple<std::string, Json, size_t>> cases = {
      {"Conv2D", {Ramp(image), nullptr}, 2},
      {"DepthwiseConv2dNative", {Ramp(image), nullptr}, 2},
      {"Conv2DBackpropInput", {Sizes(image), nullptr, Ramp(image)}, 2},
      {"DepthwiseConv2dNativeBackpropInput", {Sizes(image), nullptr, Ramp(image)}, 2},
      {"Conv3D", {Ramp(volume), nullptr}, 3},
      {"Conv3DBackpropInputV2", {Sizes(volume), nullptr, Ramp(volume)}, 3},
  };
  for (const auto& [op, inputs, rank] : cases)
    EXPECT_EQ(Answer(op, inputs, rank, true), Answer(op, inputs, rank, false)) << op;
}

}  // namespace
}  // namespace longshore::engine::interpreter

#include "serving-node/graph/infer_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving-node/graph/testing.h"

namespace longshore::graph {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using testing::ElementsAre;

// Infers the shape of the elements of two lists: the list of the rows of x, and the same list with `item` appended.
std::vector<std::string> ShapesOfElements(const Shape& x, const Shape& item) {
  Graph lists{.nodes = {{.name = "x", .op = "Placeholder"},
                        {.name = "item", .op = "Placeholder"},
                        {.name = "at", .op = "Placeholder"},
                        {.name = "l", .op = "TensorListFromTensor", .inputs = {{0, 0}, {2, 0}}},
                        {.name = "m", .op = "TensorListPushBack", .inputs = {{3, 0}, {1, 0}}},
                        {.name = "y", .op = "TensorListGetItem", .inputs = {{3, 0}, {2, 0}, {2, 0}}},
                        {.name = "z", .op = "TensorListGetItem", .inputs = {{4, 0}, {2, 0}, {2, 0}}}},
              .fed = {{"x", 0}, {"item", 1}},
              .outputs = {{5, 0}, {6, 0}},
              .arguments = {},
              .bodies = {}};
  const auto nothing = [](const Node&, auto) { return std::optional<std::vector<Tensor>>(); };
  const Types types = InferTypes(
      lists, {}, {{"x", {DType::kFloat, x, std::nullopt}}, {"item", {DType::kFloat, item, std::nullopt}}}, nothing);
  std::vector<std::string> shapes;
  for (const Edge& output : lists.outputs) {
    const auto& shape = types.at(output).shape;
    shapes.push_back(shape ? tensor::ToString(*shape) : "?");
  }
  return shapes;
}

TEST(Types, OfListElementsCoverAllElements) {
  EXPECT_THAT(ShapesOfElements({5, 32, 16}, {32, 16}), ElementsAre("[32,16]", "[32,16]"));
  EXPECT_THAT(ShapesOfElements({5, 32, 16}, {31, 16}), ElementsAre("[32,16]", "?"));
}

std::string ShapeOfLoop(const Shape& x) {
  const Graph loop = LoopOf(1);
  const auto nothing = [](const Node&, auto) { return std::optional<std::vector<Tensor>>(); };
  const Type type = InferTypes(loop, loop.bodies, {{"x", {DType::kFloat, x, std::nullopt}}}, nothing).at({2, 0});
  return type.shape ? tensor::ToString(*type.shape) : "?";
}

TEST(Types, OfALoopCoverEveryStep) {
  EXPECT_EQ(ShapeOfLoop({2, 3}), "[2,3]");
  EXPECT_EQ(ShapeOfLoop({1}), "[-1]") << "3 after the first step";
  EXPECT_EQ(ShapeOfLoop({}), "?");
}

}  // namespace
}  // namespace longshore::graph

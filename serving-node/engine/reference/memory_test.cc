// What a run may hold of memory: an op that makes much of little is refused before it does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving-node/engine/reference/one_op.h"

namespace longshore::engine::reference {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr size_t kRunBytesMax = size_t{1} << 20;

struct Large {
  const char* op;
  const char* json;  // As the cases of tests/golden/engine/ops: what it would make is 4 MiB or far more.
};

// So that gtest prints the op.
void PrintTo(const Large& large, std::ostream* out) { *out << large.op; }

std::string Vector(int type, int count) {
  const std::string values(static_cast<size_t>(count) * 2 - 1, '0');
  std::string text = values;
  for (size_t i = 1; i < text.size(); i += 2) text[i] = ',';
  return fmt::format(R"({{"type": {}, "shape": [{}], "values": [{}]}})", type, count, text);
}

class Memory : public testing::TestWithParam<Large> {};

TEST_P(Memory, OfARunIsNotExceededByAnOp) {
  std::string text = GetParam().json;
  for (size_t at = text.find("VECTOR"); at != text.npos; at = text.find("VECTOR")) text.replace(at, 6, Vector(1, 1024));
  const OneOp one(*ParseJson(text));
  const auto plan = one.MakePlan();
  ASSERT_TRUE(plan) << ToString(plan.error());
  kernels::Resources resources;
  const auto result = plan->Run(one.fed, {}, resources, kRunBytesMax);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
  EXPECT_THAT(result.error().message,
              AllOf(StartsWith(fmt::format("op \"{}\" (node \"op\"): a tensor ", GetParam().op)),
                    HasSubstr("does not fit into the 1048576 bytes that are left of the run's memory")));
}

#define NUMBERS(type, shape, values) "{\"type\": " #type ", \"shape\": " shape ", \"values\": " values "}"
#define CASE(op, attributes, inputs) \
  Large { op, "{\"op\": \"" op "\", \"attributes\": {" attributes "}, \"inputs\": [" inputs "]}" }
#define OF_FLOATS "\"T\": \"type: DT_FLOAT\""
#define IMAGE_STRIDES(s) ", \"padding\": \"s: 'VALID'\", \"strides\": \"list { i: 1 i: " s " i: " s " i: 1 }\""
#define VOLUME_STRIDES(s) ", \"padding\": \"s: 'VALID'\", \"strides\": \"list { i: 1 i: 1 i: " s " i: " s " i: 1 }\""
#define ONE NUMBERS(1, "[]", "[1]")

INSTANTIATE_TEST_SUITE_P(
    Ops, Memory,
    testing::Values(
        CASE("Fill", OF_FLOATS, NUMBERS(3, "[2]", "[100000, 100000]") "," ONE),
        CASE("Range", "\"Tidx\": \"type: DT_INT32\"",
             NUMBERS(3, "[]", "[0]") "," NUMBERS(3, "[]", "[2000000000]") "," NUMBERS(3, "[]", "[1]")),
        CASE("Tile", OF_FLOATS, "VECTOR," NUMBERS(3, "[1]", "[1000000]")),
        CASE("BroadcastTo", OF_FLOATS, ONE "," NUMBERS(3, "[2]", "[100000, 10000]")),
        CASE("OneHot", OF_FLOATS, NUMBERS(3, "[2]", "[0, 1]") "," NUMBERS(3, "[]", "[1000000000]") "," ONE "," ONE),
        CASE("Pad", OF_FLOATS, NUMBERS(1, "[1]", "[1]") "," NUMBERS(3, "[1,2]", "[0, 1000000000]")),
        CASE("PadV2", OF_FLOATS, NUMBERS(1, "[1]", "[1]") "," NUMBERS(3, "[1,2]", "[0, 1000000000]") "," ONE),
        CASE("GatherV2", "\"Tparams\": \"type: DT_FLOAT\"",
             "{\"type\": 1, \"shape\": [1,1024], \"values\": [0]}," NUMBERS(3, "[1024]", "[0]") "," NUMBERS(3, "[]",
                                                                                                            "[0]")),
        CASE("Mul", OF_FLOATS, "{\"type\": 1, \"shape\": [1024,1], \"values\": [1]}, VECTOR"),
        CASE(
            "MatMul", OF_FLOATS,
            "{\"type\": 1, \"shape\": [1024,1], \"values\": [1]}, {\"type\": 1, \"shape\": [1,1024], \"values\": [1]}"),
        CASE("Einsum", OF_FLOATS ", \"equation\": \"s: 'a,b->ab'\"", "VECTOR, VECTOR"),
        CASE("Conv2DBackpropInput", OF_FLOATS IMAGE_STRIDES("100000"),
             NUMBERS(3, "[4]", "[1, 100000, 100000, 1]") "," NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(1, "[1,1,1,1]",
                                                                                                        "[1]")),
        CASE("DepthwiseConv2dNativeBackpropInput", OF_FLOATS IMAGE_STRIDES("100000"),
             NUMBERS(3, "[4]", "[1, 100000, 100000, 1]") "," NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(1, "[1,1,1,1]",
                                                                                                        "[1]")),
        CASE("Conv3DBackpropInputV2", OF_FLOATS VOLUME_STRIDES("100000"),
             NUMBERS(3, "[5]", "[1, 1, 100000, 100000, 1]") "," NUMBERS(1, "[1,1,1,1,1]",
                                                                        "[1]") "," NUMBERS(1, "[1,1,1,1,1]", "[1]")),
        CASE("SpaceToBatchND", OF_FLOATS,
             NUMBERS(1, "[1,1]", "[1]") "," NUMBERS(3, "[1]", "[1]") "," NUMBERS(3, "[1,2]", "[0, 1000000000]")),
        CASE("ResizeBilinear", OF_FLOATS, NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(3, "[2]", "[100000, 100000]")),
        CASE("ResizeNearestNeighbor", OF_FLOATS,
             NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(3, "[2]", "[100000, 100000]")),
        CASE("ResizeBicubic", OF_FLOATS, NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(3, "[2]", "[100000, 100000]")),
        CASE("ResizeArea", OF_FLOATS, NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(3, "[2]", "[100000, 100000]")),
        CASE("CropAndResize", OF_FLOATS,
             NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(1, "[1,4]", "[1]") "," NUMBERS(3, "[1]", "[0]") "," NUMBERS(
                 3, "[2]", "[100000, 100000]")),
        CASE("ScaleAndTranslate", OF_FLOATS,
             NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(3, "[2]", "[100000, 100000]") "," NUMBERS(
                 1, "[2]", "[1, 1]") "," NUMBERS(1, "[2]", "[0, 0]")),
        CASE("NonMaxSuppressionV4", OF_FLOATS ", \"pad_to_max_output_size\": \"b: true\"",
             NUMBERS(1, "[1,4]", "[1]") "," NUMBERS(1, "[1]", "[1]") "," NUMBERS(3, "[]", "[2000000000]") "," ONE
                                                                                                          "," ONE),
        CASE(
            "GatherNd", "\"Tparams\": \"type: DT_FLOAT\"",
            "{\"type\": 1, \"shape\": [1,1024], \"values\": [0]}, {\"type\": 3, \"shape\": [1024,1], \"values\": [0]}"),
        CASE("ScatterNd", OF_FLOATS,
             NUMBERS(3, "[1,1]", "[0]") "," NUMBERS(1, "[1]", "[1]") "," NUMBERS(3, "[1]", "[1000000000]")),
        CASE("MatrixDiag", OF_FLOATS, "VECTOR"), CASE("Diag", OF_FLOATS, "VECTOR"),
        CASE("MatrixDiagV3", OF_FLOATS,
             "VECTOR," NUMBERS(3, "[]", "[0]") "," NUMBERS(3, "[]", "[2000000000]") "," NUMBERS(3, "[]",
                                                                                                "[-1]") "," ONE),
        CASE("LinSpace", OF_FLOATS, ONE "," ONE "," NUMBERS(3, "[]", "[1000000000]")),
        CASE("MatrixTriangularSolve", OF_FLOATS,
             "{\"type\": 1, \"shape\": [1024,1,1], \"values\": [1]}, {\"type\": 1, \"shape\": [1,1024], \"values\": "
             "[1]}"),
        CASE("RandomUniform", "\"dtype\": \"type: DT_FLOAT\"", NUMBERS(3, "[1]", "[1000000000]")),
        CASE("RandomUniformInt", "\"Tout\": \"type: DT_INT32\"",
             NUMBERS(3, "[1]", "[1000000000]") "," NUMBERS(3, "[]", "[0]") "," NUMBERS(3, "[]", "[9]")),
        CASE("Multinomial", OF_FLOATS, NUMBERS(1, "[1,2]", "[1]") "," NUMBERS(3, "[]", "[1000000000]")),
        CASE("StatelessRandomNormal", "\"dtype\": \"type: DT_FLOAT\"",
             NUMBERS(3, "[1]", "[1000000000]") "," NUMBERS(3, "[2]", "[0, 1]")),
        CASE("SelectV2", OF_FLOATS, "{\"type\": 10, \"shape\": [1024,1], \"values\": [true]}, VECTOR, VECTOR")),
    [](const auto& each) { return std::string(each.param.op); });

TEST(Memory, OfARunIsFreeAgainOnceNobodyNeedsAResult) {
  // A chain of copies, of which two are held at a time.
  const std::string vector = Vector(1, 1024);
  OneOp one(
      *ParseJson(fmt::format(R"({{"op": "Neg", "attributes": {{"T": "type: DT_FLOAT"}}, "inputs": [{}]}})", vector)));
  for (int i = 0; i < 100; ++i) {
    auto* next = one.def.add_node();
    *next = one.def.node(one.def.node_size() - 2);
    next->set_input(0, i == 0 ? "op" : fmt::format("op{}", i - 1));
    next->set_name(fmt::format("op{}", i));
  }
  one.wanted.outputs = {"op99:0"};
  const auto plan = one.MakePlan();
  ASSERT_TRUE(plan) << ToString(plan.error());
  kernels::Resources resources;
  EXPECT_TRUE(plan->Run(one.fed, {}, resources, 2 * 4096));
  const auto refused = plan->Run(one.fed, {}, resources, 2 * 4096 - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "op \"Neg\" (node \"op0\"): its outputs need 4096 bytes where 4095 are left of the run's memory");
}

}  // namespace
}  // namespace longshore::engine::reference

// Tests the memory limit of a run: an op that makes a large output from small inputs fails before it allocates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/heap_testing/heap.h"
#include "serving-node/engine/interpreter/one_op.h"

namespace longshore::engine::interpreter {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr size_t kRunBytesMax = size_t{1} << 20;

struct Large {
  const char* op;
  const char* json;  // In the format of tests/golden/engine/ops. The output of the op would have 4 MiB or more.
};

// Makes gtest print the op.
void PrintTo(const Large& large, std::ostream* out) { *out << large.op; }

std::string Vector(int type, int count) {
  const std::string values(static_cast<size_t>(count) * 2 - 1, '0');
  std::string text = values;
  for (size_t i = 1; i < text.size(); i += 2) text[i] = ',';
  return fmt::format(R"({{"type": {}, "shape": [{}], "values": [{}]}})", type, count, text);
}

// The error message of a run of the op; "" if it succeeds.
std::string RefusalOf(const std::string& json) {
  const OneOp one(*ParseJson(json));
  const auto plan = one.MakePlan();
  if (!plan) ADD_FAILURE() << ToString(plan.error());
  if (!plan) return "";
  kernels::Resources resources;
  const auto result = plan->Run(one.fed, {}, resources, kRunBytesMax);
  if (result) return "";
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
  return result.error().message;
}

class Memory : public testing::TestWithParam<Large> {};

TEST_P(Memory, LimitOfARunIsNotExceededByAnOp) {
  std::string text = GetParam().json;
  for (size_t at = text.find("VECTOR"); at != text.npos; at = text.find("VECTOR")) text.replace(at, 6, Vector(1, 1024));
  for (size_t at = text.find("LONG"); at != text.npos; at = text.find("LONG"))
    text.replace(at, 4, std::string(4096, 'x'));
  EXPECT_THAT(RefusalOf(text),
              AllOf(StartsWith(fmt::format("op \"{}\" (node \"op\"): a tensor ", GetParam().op)),
                    HasSubstr("does not fit into the 1048576 bytes that are left of the run's memory")));
}

// Cases where outputs and temporary memory together exceed the limit, but neither does alone.
class TemporaryMemory : public testing::TestWithParam<Large> {};

TEST_P(TemporaryMemory, CountsAgainstTheLimitToo) {
  EXPECT_THAT(RefusalOf(GetParam().json),
              AllOf(StartsWith(fmt::format("op \"{}\" (node \"op\"): a tensor ", GetParam().op)),
                    HasSubstr("bytes that are left of the run's memory"), Not(HasSubstr("1048576 bytes"))));
}

#define NUMBERS(type, shape, values) "{\"type\": " #type ", \"shape\": " shape ", \"values\": " values "}"
#define CASE(op, attributes, inputs) \
  Large { op, "{\"op\": \"" op "\", \"attributes\": {" attributes "}, \"inputs\": [" inputs "]}" }
#define TEXTS(shape, values) "{\"type\": 7, \"shape\": " shape ", \"values\": " values "}"
#define IMAGE(hex) TEXTS("[]", "[{\"hex\": \"" hex "\"}]")
#define OF_FLOATS "\"T\": \"type: DT_FLOAT\""
#define IMAGE_STRIDES(s) ", \"padding\": \"s: 'VALID'\", \"strides\": \"list { i: 1 i: " s " i: " s " i: 1 }\""
#define VOLUME_STRIDES(s) ", \"padding\": \"s: 'VALID'\", \"strides\": \"list { i: 1 i: 1 i: " s " i: " s " i: 1 }\""
#define ONE NUMBERS(1, "[]", "[1]")
#define ONE_ROW NUMBERS(1, "[1]", "[1]")
#define NOTHING NUMBERS(1, "[0]", "[]")
#define HALF_MILLION NUMBERS(1, "[1000,500]", "[1]")

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
        CASE("AddN", OF_FLOATS, HALF_MILLION "," HALF_MILLION),
        CASE("Select", OF_FLOATS, NUMBERS(10, "[1000]", "[true]") "," HALF_MILLION "," HALF_MILLION),
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
        CASE("Dequantize", "\"T\": \"type: DT_QINT8\"", NUMBERS(11, "[1024,1024]", "[1]") "," ONE "," ONE),
        CASE("SelectV2", OF_FLOATS, "{\"type\": 10, \"shape\": [1024,1], \"values\": [true]}, VECTOR, VECTOR")),
    [](const auto& each) { return std::string(each.param.op); });

#define OF_HALVES "\"T\": \"type: DT_HALF\""
#define HALVES(shape) "{\"type\": 19, \"shape\": " shape ", \"values\": [1]}"
#define FLOATS(shape) NUMBERS(1, shape, "[1]")
#define PEEPHOLES(shape) FLOATS(shape) "," FLOATS(shape) "," FLOATS(shape)
#define LSTM(state, weights, cells, bias) \
  FLOATS(state) "," FLOATS(state) "," FLOATS(weights) "," PEEPHOLES(cells) "," FLOATS(bias)
#define GRU(state, gates, candidate, two, one) \
  FLOATS(state) "," FLOATS(gates) "," FLOATS(candidate) "," FLOATS(two) "," FLOATS(one)
#define LENGTH(steps) NUMBERS(9, "[]", "[" steps "]")

INSTANTIATE_TEST_SUITE_P(
    RecurrentOps, Memory,
    testing::Values(CASE("BlockLSTM", OF_FLOATS,
                         LENGTH("0") "," NUMBERS(1, "[1000000,1,0]", "[]") "," LSTM("[1,1]", "[1,4]", "[1]", "[4]")),
                    CASE("BlockLSTMV2", OF_FLOATS,
                         LENGTH("0") "," NUMBERS(1, "[1000000,1,0]", "[]") "," LSTM("[1,1]", "[1,4]", "[1]", "[4]")),
                    CASE("LSTMBlockCell", OF_FLOATS,
                         NUMBERS(1, "[100000,0]", "[]") "," LSTM("[100000,4]", "[4,16]", "[4]", "[16]")),
                    CASE("GRUBlockCell", OF_FLOATS,
                         NUMBERS(1, "[100000,0]", "[]") "," GRU("[100000,4]", "[4,8]", "[4,4]", "[8]", "[4]"))),
    [](const auto& each) { return std::string(each.param.op); });

#define SIZE_400 NUMBERS(3, "[2]", "[400, 400]")

INSTANTIATE_TEST_SUITE_P(
    Ops, TemporaryMemory,
    testing::Values(
        CASE("Dequantize", "\"T\": \"type: DT_QINT8\", \"dtype\": \"type: DT_BFLOAT16\"",
             NUMBERS(11, "[200000]", "[1]") "," ONE "," ONE),
        CASE("ResizeBilinear", OF_HALVES, HALVES("[1,400,400,1]") "," SIZE_400),
        CASE("ResizeBicubic", OF_HALVES, HALVES("[1,400,400,1]") "," SIZE_400),
        CASE("ResizeArea", OF_HALVES, HALVES("[1,400,400,1]") "," SIZE_400),
        CASE("CropAndResize", OF_HALVES,
             HALVES("[1,400,400,1]") "," FLOATS("[1,4]") "," NUMBERS(3, "[1]", "[0]") "," SIZE_400),
        CASE("ScaleAndTranslate", OF_HALVES, HALVES("[1,400,400,1]") "," SIZE_400 "," FLOATS("[2]") "," FLOATS("[2]")),
        CASE("BlockLSTM", OF_FLOATS,
             LENGTH("1") "," FLOATS("[1,10000,5]") "," LSTM("[10000,2]", "[7,8]", "[2]", "[8]")),
        CASE("LSTMBlockCell", OF_FLOATS, FLOATS("[10000,5]") "," LSTM("[10000,2]", "[7,8]", "[2]", "[8]")),
        CASE("GRUBlockCell", OF_FLOATS, FLOATS("[10000,1]") "," GRU("[10000,3]", "[4,6]", "[4,3]", "[6]", "[3]"))),
    [](const auto& each) { return std::string(each.param.op); });

// Images with a size of at least 30000 by 30000 pixels in their headers.
#define LARGE_PNG                                                                                                      \
  "89504e470d0a1a0a0000000d49484452000075300000753008060000006627f8ba0000000849444154789c030000000001480689d200000000" \
  "49454e44ae426082"
#define LARGE_GIF "47494638396106000500f000000000000000002c0000000060ea60ea0008"
#define LARGE_JPEG                                                                                                   \
  "ffd8ffe000104a46494600010101012c012c0000ffdb00430002010101010102010101020202020204030202020205040403040605060606" \
  "05060606070908060709070606080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affc0000b087530753001011100ffc4001f000001050101" \
  "0101010100000000000000000102030405060708090a0bffc400b5100002010303020403050504040000017d010203000411051221314106" \
  "13516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445464748494a535455" \
  "565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9ba" \
  "c2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffda0008010100003f00fbc2bfffd9"

INSTANTIATE_TEST_SUITE_P(
    TextOps, Memory,
    testing::Values(
        CASE("RegexReplace", "", TEXTS("[]", "[\"LONG\"]") "," TEXTS("[]", "[\"x\"]") "," TEXTS("[]", "[\"LONG\"]")),
        CASE("Substr", "\"T\": \"type: DT_INT32\"",
             TEXTS("[]", "[\"LONG\"]") "," NUMBERS(3, "[1024]", "[0]") "," NUMBERS(3, "[1024]", "[5000]")),
        CASE("StringJoin", "\"N\": \"i: 2\"", TEXTS("[]", "[\"LONG\"]") "," TEXTS("[1024]", "[\"\"]")),
        CASE("StringNGrams", "\"ngram_widths\": \"list { i: 1000000 }\", \"pad_width\": \"i: -1\"",
             TEXTS("[1]", "[\"long\"]") "," NUMBERS(9, "[2]", "[0, 1]")),
        CASE("StringFormat", "\"template\": \"s: '%s'\", \"summarize\": \"i: -1\"", TEXTS("[1024]", "[\"LONG\"]")),
        CASE("DecodeCSV", "\"OUT_TYPE\": \"list { type: DT_STRING type: DT_STRING }\"",
             TEXTS("[1024]", "[\",\"]") "," TEXTS("[]", "[\"LONG\"]") "," TEXTS("[]", "[\"\"]")),
        CASE("UnsortedSegmentJoin", "",
             TEXTS("[1]", "[\"a\"]") "," NUMBERS(3, "[1]", "[0]") "," NUMBERS(3, "[]", "[1000000000]")),
        CASE("DecodePaddedRaw", "\"out_type\": \"type: DT_UINT8\"",
             TEXTS("[1]", "[\"a\"]") "," NUMBERS(3, "[]", "[1000000000]")),
        CASE("DecodePng", "\"dtype\": \"type: DT_UINT8\"", IMAGE(LARGE_PNG)), CASE("DecodeGif", "", IMAGE(LARGE_GIF)),
        CASE("DecodeJpeg", "", IMAGE(LARGE_JPEG))),
    [](const auto& each) { return std::string(each.param.op); });

INSTANTIATE_TEST_SUITE_P(
    SparseOps, Memory,
    testing::Values(
        CASE("SegmentSum", OF_FLOATS, ONE_ROW "," NUMBERS(3, "[1]", "[1000000000]")),
        CASE("UnsortedSegmentSum", OF_FLOATS,
             ONE_ROW "," NUMBERS(3, "[1]", "[0]") "," NUMBERS(3, "[]", "[1000000000]")),
        CASE("SparseSegmentSumWithNumSegments", OF_FLOATS,
             ONE_ROW "," NUMBERS(3, "[1]", "[0]") "," NUMBERS(3, "[1]", "[0]") "," NUMBERS(3, "[]", "[1000000000]")),
        CASE("DynamicStitch", OF_FLOATS, NUMBERS(3, "[1]", "[1000000000]") "," ONE_ROW),
        CASE("Bincount", OF_FLOATS, NUMBERS(3, "[1]", "[0]") "," NUMBERS(3, "[]", "[1000000000]") "," NOTHING),
        CASE("DenseBincount", OF_FLOATS, NUMBERS(3, "[1]", "[0]") "," NUMBERS(3, "[]", "[1000000000]") "," NOTHING),
        CASE("SparseToDense", OF_FLOATS,
             NUMBERS(3, "[1,2]", "[0, 0]") "," NUMBERS(3, "[2]", "[100000, 100000]") "," ONE_ROW "," ONE),
        CASE("SparseFillEmptyRows", OF_FLOATS,
             NUMBERS(9, "[1,2]", "[0, 0]") "," ONE_ROW "," NUMBERS(9, "[2]", "[1000000000, 1]") "," ONE),
        CASE("SparseTensorDenseMatMul", OF_FLOATS,
             NUMBERS(9, "[1,2]", "[0, 0]") "," ONE_ROW
                                           "," NUMBERS(9, "[2]", "[1000000000, 1]") "," NUMBERS(1, "[1,1]", "[1]")),
        CASE("RaggedRange", "\"T\": \"type: DT_INT32\"",
             NUMBERS(3, "[]", "[0]") "," NUMBERS(3, "[]", "[2000000000]") "," NUMBERS(3, "[]", "[1]")),
        CASE("RaggedTensorToTensor", "\"row_partition_types\": \"list { s: 'ROW_SPLITS' }\"",
             NUMBERS(9, "[2]", "[100000, 100000]") "," ONE_ROW "," ONE "," NUMBERS(9, "[2]", "[0, 1]"))),
    [](const auto& each) { return std::string(each.param.op); });

// Small inputs whose sizes would make a kernel allocate large tables.
class MemoryOfTables : public testing::TestWithParam<Large> {};

TEST_P(MemoryOfTables, AreRefusedBeforeTheyAreAllocated) {
  const OneOp one(*ParseJson(GetParam().json));
  const auto plan = one.MakePlan();
  ASSERT_TRUE(plan) << ToString(plan.error());
  kernels::Resources resources;
  const heap_testing::PeakBytes peak;
  const auto result = plan->Run(one.fed, {}, resources, kRunBytesMax);
  EXPECT_LT(peak.bytes(), 4 * kRunBytesMax);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kResourceExhausted) << result.error().message;
  EXPECT_THAT(result.error().message, HasSubstr("bytes that are left of the run's memory"));
}

#define RAGGED(indices) NUMBERS(9, "[2]", "[0, 1]") "," ONE_ROW "," NUMBERS(9, indices, "[]")

INSTANTIATE_TEST_SUITE_P(
    EmptyInputs, MemoryOfTables,
    testing::Values(CASE("TopKV2", OF_FLOATS, NUMBERS(1, "[0,2147483648]", "[]") "," NUMBERS(3, "[]", "[1]")),
                    CASE("RaggedGather", "", RAGGED("[1000000000,0]")),
                    CASE("RaggedGather", "", RAGGED("[100000,1,0]")),  // Each row-splits output alone would fit.
                    CASE("RaggedTensorToSparse", "",
                         NUMBERS(9, "[2]", "[0, 1000000000]") "," NUMBERS(1, "[1000000000,0]", "[]")),
                    CASE("ReduceJoin", "", TEXTS("[0,1000000000]", "[]") "," NUMBERS(3, "[1]", "[1]")),
                    CASE("Unpack", OF_FLOATS ", \"num\": \"i: 100000\"", NUMBERS(1, "[100000,0]", "[]")),
                    CASE("TensorListFromTensor", "\"element_dtype\": \"type: DT_FLOAT\"",
                         NUMBERS(1, "[100000,0]", "[]") "," NUMBERS(3, "[1]", "[0]")),
                    CASE("Sum", OF_FLOATS,
                         NUMBERS(1, "[9000000000000000000,0,9000000000000000000]", "[]") "," NUMBERS(3, "[1]", "[1]"))),
    [](const auto& each) { return fmt::format("{}_{}", each.index, each.param.op); });

// Small inputs that ask for a large result.
INSTANTIATE_TEST_SUITE_P(
    SizesOfResults, MemoryOfTables,
    testing::Values(
        CASE("ResizeBilinear", OF_FLOATS, NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(3, "[2]", "[200000, 1]")),
        CASE("ResizeBicubic", OF_FLOATS, NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(3, "[2]", "[200000, 1]")),
        CASE("ResizeArea", OF_FLOATS, NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(3, "[2]", "[200000, 1]")),
        CASE("ScaleAndTranslate", OF_FLOATS,
             NUMBERS(1, "[1,1,1,1]", "[1]") "," NUMBERS(3, "[2]", "[200000, 1]") "," NUMBERS(
                 1, "[2]", "[1, 1]") "," NUMBERS(1, "[2]", "[0, 0]"))),
    [](const auto& each) { return std::string(each.param.op); });

TEST(Memory, DoesNotSortRowsThatDoNotExist) {
  const OneOp one(*ParseJson(R"({"op": "TopKV2", "attributes": {"T": "type: DT_FLOAT"}, "inputs": [
      {"type": 1, "shape": [0, 2147483648], "values": []}, {"type": 3, "shape": [], "values": [3]}]})"));
  const auto plan = one.MakePlan();
  ASSERT_TRUE(plan) << ToString(plan.error());
  kernels::Resources resources;
  const heap_testing::PeakBytes peak;
  const auto result = plan->Run(one.fed, {}, resources, size_t{1} << 40);
  ASSERT_TRUE(result) << ToString(result.error());
  EXPECT_EQ((*result)[0].shape(), (tensor::Shape{0, 3}));
  EXPECT_LT(peak.bytes(), kRunBytesMax);
}

TEST(Memory, AnswersEmptyBatchesOfOrdinarySizes) {
  EXPECT_EQ(RefusalOf(R"({"op": "Neg", "attributes": {"T": "type: DT_FLOAT"}, "inputs": [
      {"type": 1, "shape": [0, 224, 224, 2], "values": []}]})"),
            "");
}

TEST(Memory, LimitsTheLengthOfAString) {
  const std::string text(4 * kRunBytesMax, 'x');
  const std::string refusal = RefusalOf(fmt::format(
      R"({{"op": "StringFormat", "attributes": {{}}, "inputs": [{{"type": 7, "shape": [], "values": ["{}"]}}]}})",
      text));
  EXPECT_THAT(refusal, HasSubstr(fmt::format("a tensor DT_UINT8[{}] does not fit", kRunBytesMax + 2)));
}

TEST(Memory, IsFreedAfterTheLastReaderOfAValue) {
  // A chain of copies, two of which are held at a time.
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
            "op \"Neg\" (node \"op0\"): the outputs need 4096 bytes, but only 4095 bytes are left of the run's memory");
}

}  // namespace
}  // namespace longshore::engine::interpreter

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "common/base/text.h"
#include "serving-node/frontend/oip/codec/classification.h"
#include "serving-node/frontend/oip/codec/datatype.h"
#include "serving-node/frontend/oip/codec/json_request.h"
#include "serving-node/frontend/oip/codec/json_response.h"
#include "serving-node/frontend/oip/codec/message_json.h"
#include "serving-node/frontend/oip/codec/proto.h"
#include "serving-node/frontend/oip/codec/raw.h"

namespace longshore::frontend::oip::codec {
namespace {

using ::inference::ModelInferRequest;
using tensor::DType;
using tensor::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kElementsMax = 1000;
constexpr std::array kTypes = {DType::kBool,  DType::kUint8,  DType::kUint16, DType::kUint32,  DType::kUint64,
                               DType::kInt8,  DType::kInt16,  DType::kInt32,  DType::kInt64,   DType::kHalf,
                               DType::kFloat, DType::kDouble, DType::kString, DType::kBfloat16};

// A tensor of this type and of shape [2, 3], with the extreme values of the type.
Tensor Sample(DType type) {
  Tensor tensor = *Tensor::Make(type, {2, 3});
  if (type == DType::kString) {
    const std::vector<std::string> texts = {"", "a", std::string("\0\n", 2), "\"\\", "ä", std::string(300, 'x')};
    std::ranges::copy(texts, tensor.mutable_values<std::string>().begin());
    return tensor;
  }
  std::minstd_rand random{7};
  for (size_t i = 0; i < tensor.bytes(); ++i) {
    const bool is_bool = type == DType::kBool;
    tensor.mutable_data()[i] = static_cast<std::byte>(is_bool ? random() % 2 : random() % 127);
  }
  return tensor;
}

bool AreSame(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() && ToRaw(a) == ToRaw(b);
}

ModelInferRequest Request(const std::string& datatype, const std::vector<int64_t>& shape) {
  ModelInferRequest request;
  request.set_model_name("m");
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype(datatype);
  input.mutable_shape()->Assign(shape.begin(), shape.end());
  return request;
}

Result<InferRequest> Read(const ModelInferRequest& request) {
  OpenedRequest opened;
  RETURN_IF_ERROR(Open(Pieces(request.SerializeAsString()), &opened));
  return FromProto(std::move(opened), kElementsMax);
}

std::string ErrorOf(const ModelInferRequest& request) {
  const auto read = Read(request);
  return read ? "" : read.error().message;
}

TEST(Datatype, HasANameForEachTypeAndFindsItAgain) {
  for (const DType type : kTypes) {
    EXPECT_EQ(DatatypeOf(DatatypeName(type)), type);
    EXPECT_NE(ConfigTypeOf(type), ::inference::TYPE_INVALID);
  }
  EXPECT_EQ(DatatypeName(DType::kComplex64), "");
  EXPECT_EQ(DatatypeOf("FP8"), std::nullopt);
}

TEST(Raw, ReadsWhatItWritesForAllTypes) {
  for (const DType type : kTypes) {
    const Tensor tensor = Sample(type);
    ElementBudget budget(kElementsMax);
    const auto read = FromRaw({.model = "m", .name = "x", .type = type, .shape = {2, 3}}, ToRaw(tensor), &budget);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(AreSame(*read, tensor)) << DatatypeName(type);
  }
}

TEST(Raw, RefusesBytesThatDoNotFit) {
  const auto error = [](DType type, const tensor::Shape& shape, std::string_view bytes) {
    ElementBudget budget(10);
    const auto read = FromRaw({.model = "m", .name = "x", .type = type, .shape = shape}, bytes, &budget);
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(error(DType::kFloat, {5, 1}, std::string(12, 'x')),
            "input byte size mismatch for input 'x' for model 'm'. Expected 20, got 12");
  EXPECT_EQ(error(DType::kFloat, {11}, ""), "the inputs have more than 10 elements");
  EXPECT_THAT(error(DType::kFloat, {-1}, ""), HasSubstr("input 'x'"));
  EXPECT_EQ(error(DType::kFloat, {10, 0}, ""), "");
  EXPECT_EQ(error(DType::kFloat, {0, 11}, ""), "the inputs have more than 10 elements");
  EXPECT_EQ(error(DType::kFloat, {int64_t{1} << 50, 0, int64_t{1} << 50}, ""), "the inputs have more than 10 elements");
  EXPECT_EQ(error(DType::kBool, {1}, "\x02"), "input 'x' of datatype BOOL has a byte that is neither 0 nor 1");
  EXPECT_THAT(error(DType::kString, {1}, "\x05"), HasSubstr("element 0 is cut off"));
  EXPECT_THAT(error(DType::kString, {1}, std::string("\x05\0\0\0abc", 7)), HasSubstr("element 0 is cut off"));
  EXPECT_EQ(error(DType::kString, {2}, std::string("\0\0\0\0", 4)),
            "expected 2 string elements for inference input 'x' of model 'm', got 1");
}

TEST(Proto, ReadsTypedContentsLikeRawContents) {
  ModelInferRequest typed = Request("INT8", {3});
  typed.mutable_inputs(0)->mutable_contents()->mutable_int_contents()->Add(-128);
  typed.mutable_inputs(0)->mutable_contents()->mutable_int_contents()->Add(0);
  typed.mutable_inputs(0)->mutable_contents()->mutable_int_contents()->Add(127);
  ModelInferRequest raw = Request("INT8", {3});
  raw.add_raw_input_contents(std::string("\x80\x00\x7f", 3));
  const auto a = Read(typed);
  const auto b = Read(raw);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(AreSame(a->inputs.at("x"), b->inputs.at("x")));
}

TEST(Proto, RefusesContentsThatDoNotFit) {
  ModelInferRequest request = Request("UINT8", {1});
  request.mutable_inputs(0)->mutable_contents()->add_uint_contents(256);
  EXPECT_EQ(ErrorOf(request), "input 'x': the value 256 does not fit into UINT8");
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  EXPECT_THAT(ErrorOf(request), HasSubstr("expected only uint_contents"));
  EXPECT_THAT(ErrorOf(Request("FP32", {2})), HasSubstr("fp32_contents has 0 elements, but the shape [2] has 2"));
  EXPECT_THAT(ErrorOf(Request("BF16", {0})), HasSubstr("use raw_input_contents"));
  EXPECT_EQ(ErrorOf(Request("FP8", {0})), "invalid datatype for input 'x': 'FP8'");
  request = Request("FP32", {0});
  *request.add_inputs() = request.inputs(0);
  EXPECT_EQ(ErrorOf(request), "input 'x' already exists in request");
  request.add_raw_input_contents("");
  EXPECT_THAT(ErrorOf(request), HasSubstr("expected tensor data for 2 inputs in raw_input_contents"));
}

TEST(Proto, LimitsTheNumberOfTensors) {
  ModelInferRequest request = Request("FP32", {0});
  for (size_t i = 0; i <= kTensorsMax; ++i) request.add_outputs();
  EXPECT_EQ(ErrorOf(request), "the request has more than 10000 outputs");
  request.clear_outputs();
  for (size_t i = 0; i < kTensorsMax; ++i) {
    *request.add_inputs() = request.inputs(0);
    request.mutable_inputs()->rbegin()->set_name(std::to_string(i));
  }
  EXPECT_EQ(ErrorOf(request), "the request has more than 10000 inputs");
}

TEST(Proto, RefusesSharedMemoryAndSequences) {
  ModelInferRequest request = Request("FP32", {0});
  (*request.mutable_inputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("r");
  EXPECT_THAT(ErrorOf(request), HasSubstr("shared memory is not supported"));
  request = Request("FP32", {0});
  (*request.mutable_parameters())["sequence_id"].set_int64_param(1);
  EXPECT_THAT(ErrorOf(request), HasSubstr("sequences are not supported"));
}

TEST(Proto, ReadsParameters) {
  ModelInferRequest request = Request("FP32", {0});
  auto& parameters = *request.mutable_parameters();
  parameters["priority"].set_uint64_param(2);
  parameters["timeout"].set_int64_param(3000);
  parameters["signature_name"].set_string_param("s");
  parameters["unknown"].set_double_param(1);
  auto& output = *request.add_outputs();
  output.set_name("y");
  (*output.mutable_parameters())["classification"].set_int64_param(3);
  const auto read = Read(request);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->priority, 2u);
  EXPECT_EQ(read->timeout, std::chrono::milliseconds(3));
  EXPECT_EQ(read->signature, "s");
  EXPECT_EQ(read->outputs.at(0).classes, 3);
  parameters["timeout"].set_string_param("soon");
  EXPECT_EQ(ErrorOf(request), "invalid value type for 'timeout' parameter, expected int64_param.");
  parameters.erase("timeout");
  parameters["triton_x"].set_bool_param(true);
  EXPECT_THAT(ErrorOf(request), HasSubstr("reserved"));
}

TEST(Classification, ReturnsTheHighestValuesOfEachRow) {
  const Tensor values = Tensor::Of<float>({2, 3}, {0.5f, 2.0f, 2.0f, -1.0f, std::nanf(""), -3.0f});
  const auto classes = HighestClasses("y", values, 2);
  ASSERT_TRUE(classes);
  EXPECT_EQ(classes->shape(), (tensor::Shape{2, 2}));
  EXPECT_THAT(classes->values<std::string>(), ElementsAre("2.000000:1", "2.000000:2", "-1.000000:0", "-3.000000:2"));
}

TEST(Classification, TakesNoTimeForTheRowsOfAnEmptyTensor) {
  const int64_t rows = int64_t{1} << 50;
  const auto classes = HighestClasses("y", *Tensor::Make(DType::kFloat, {rows, 0}), 3);
  ASSERT_TRUE(classes);
  EXPECT_EQ(classes->shape(), (tensor::Shape{rows, 0}));
}

TEST(Classification, IsRefusedBeforeItTakesMuchMemory) {
  InferRequest request;
  request.outputs = {{.name = "y", .classes = INT64_MAX}};
  const Tensor large = *Tensor::Make(DType::kInt8, {2, kClassesMax / 2 + 1});
  EXPECT_EQ(AnswerTo(request, 1, {{"y", large}}).error(),
            (Error{Code::kResourceExhausted, "the answer would have more than 1048576 classes"}));
  request.outputs = {{.name = "y", .classes = 1}, {.name = "z", .classes = INT64_MAX}};
  EXPECT_FALSE(AnswerTo(request, 1, {{"y", large}, {"z", *Tensor::Make(DType::kInt8, {kClassesMax - 1})}}));
}

TEST(Answer, HasAnOutputOnceEvenIfTheRequestNamesItOften) {
  InferRequest request;
  request.outputs = {{.name = "y"}, {.name = "y", .classes = 1}};
  EXPECT_EQ(AnswerTo(request, 1, {{"y", Tensor::Of<float>({1}, {1})}})->outputs.size(), 1U);
}

TEST(Answer, HasNamesOfValidUtf8) {
  const InferAnswer answer{
      .model = "m\xff", .version = "1", .id = "\xff", .outputs = {{"y\xff", Tensor::Of<float>({1}, {1})}}};
  EXPECT_TRUE(IsUtf8(ToBody(answer)->bytes));
  const auto message = ToProto(answer);
  ::inference::ModelInferResponse read;
  EXPECT_TRUE(read.ParseFromString(message.SerializeAsString()));
  EXPECT_EQ(read.outputs(0).name(), "y\uFFFD");
  ::inference::ModelConfig config;
  config.set_name("m\xff");
  EXPECT_TRUE(IsUtf8(MessageToJson(config)));
}

TEST(RawBody, GivesTheSizeThatThePatternLeavesOpen) {
  const auto read = [](DType type, const tensor::Shape& pattern, std::string_view body) -> Result<tensor::Shape> {
    ElementBudget budget(kElementsMax);
    return FromRawBody({.model = "m", .name = "x", .type = type, .shape = pattern}, body, &budget)
        .map([](const Tensor& tensor) { return tensor.shape(); });
  };
  EXPECT_EQ(read(DType::kFloat, {-1, 2}, std::string(24, 'x')), (tensor::Shape{3, 2}));
  EXPECT_EQ(read(DType::kFloat, {2}, std::string(8, 'x')), (tensor::Shape{2}));
  EXPECT_EQ(read(DType::kFloat, {}, "abcd"), tensor::Shape());
  EXPECT_EQ(read(DType::kInt8, {-1}, ""), (tensor::Shape{0}));
  EXPECT_EQ(read(DType::kString, {-1, 1}, "any bytes"), (tensor::Shape{1, 1}));
  EXPECT_THAT(read(DType::kFloat, {-1, 2}, std::string(25, 'x')).error().message, HasSubstr("Expected 24, got 25"));
  EXPECT_THAT(read(DType::kFloat, {-1, -1}, "abcd").error().message, HasSubstr("cannot have the shape [1,-1]"));
  EXPECT_THAT(read(DType::kString, {2}, "ab").error().message, HasSubstr("cannot have the shape [2]"));
  EXPECT_THAT(read(DType::kFloat, {-1, 0}, "abcd").error().message, HasSubstr("byte size mismatch"));
  EXPECT_EQ(read(DType::kInt8, {-1}, std::string(1001, 'x')).error().code, Code::kResourceExhausted);
}

TEST(Classification, ReturnsAtMostAllValues) {
  const auto classes = HighestClasses("y", Tensor::Of<int32_t>({2}, {1, 7}), 9);
  ASSERT_TRUE(classes);
  EXPECT_THAT(classes->values<std::string>(), ElementsAre("7:1", "1:0"));
  EXPECT_EQ(HighestClasses("y", *Tensor::Make(DType::kFloat, {0, 3}), 1)->shape(), (tensor::Shape{0, 0}));
  EXPECT_EQ(HighestClasses("y", Tensor::Of<std::string>({1}, {"a"}), 1).error().message,
            "class result not available for output 'y' due to unsupported type 'BYTES'");
}

TEST(Answer, HasTheRequestedOutputsInTheirOrder) {
  InferRequest request;
  request.model = "m";
  request.id = "7";
  request.outputs = {{.name = "b"}, {.name = "a"}};
  engine::TensorMap outputs;
  for (const char* name : {"a", "b", "c"}) outputs[name] = Tensor::Of<float>({1}, {1.5f});
  const auto answer = AnswerTo(request, 3, outputs);
  ASSERT_TRUE(answer);
  const auto message = ToProto(*answer);
  EXPECT_EQ(message.model_version(), "3");
  EXPECT_EQ(message.outputs(0).name() + message.outputs(1).name(), "ba");
  EXPECT_EQ(message.outputs_size(), 2);
  EXPECT_EQ(ToBody(*answer)->bytes, R"({"id":"7","model_name":"m","model_version":"3","outputs":[)"
                                    R"({"name":"b","datatype":"FP32","shape":[1],"data":[1.5]},)"
                                    R"({"name":"a","datatype":"FP32","shape":[1],"data":[1.5]}]})");
}

TEST(Answer, RefusesTypesThatTheProtocolDoesNotHave) {
  engine::TensorMap outputs;
  outputs["y"] = *Tensor::Make(DType::kComplex64, {0});
  EXPECT_THAT(AnswerTo({}, 1, outputs).error().message, HasSubstr("DT_COMPLEX64"));
}

// Both forms of the protocol must hold the same bits: reads the JSON form and the binary form of an answer again.
TEST(Answer, IsTheSameInJsonAndInBytesForAllTypes) {
  for (const DType type : kTypes) {
    const Tensor tensor = Sample(type);
    for (const bool binary : {false, true}) {
      const auto body = ToBody({.model = "m", .version = "1", .id = "", .outputs = {{"x", tensor, binary}}});
      if (!binary && (type == DType::kHalf || type == DType::kBfloat16)) {
        EXPECT_THAT(body.error().message, HasSubstr("via JSON is not supported"));
        continue;
      }
      ASSERT_TRUE(body) << body.error().message;
      std::string text = body->bytes;
      text.replace(text.find("\"outputs\""), 9, "\"inputs\" ");
      InferRequest request;
      const Status read = ReadBody(text, body->json_bytes, kElementsMax, &request);
      ASSERT_TRUE(read) << read.error().message << text;
      EXPECT_TRUE(AreSame(request.inputs.at("x"), tensor)) << DatatypeName(type) << text;
    }
  }
}

TEST(Answer, RefusesBytesThatJsonCannotRepresent) {
  const auto body =
      ToBody({.model = "m", .version = "1", .id = "", .outputs = {{"x", Tensor::Of<std::string>({1}, {"\xff"})}}});
  EXPECT_THAT(body.error().message, HasSubstr("not valid UTF-8"));
}

TEST(MessageJson, PrintsNumbersAndNamesAsTritonDoes) {
  ::inference::ModelConfig config;
  config.set_name("m");
  config.mutable_version_policy()->mutable_specific()->add_versions(int64_t{1} << 60);
  config.add_input()->set_data_type(::inference::TYPE_FP32);
  config.mutable_input(0)->add_dims(-1);
  const std::string json = MessageToJson(config);
  EXPECT_THAT(json, HasSubstr(R"("version_policy":{"specific":{"versions":[1152921504606846976]}})"));
  EXPECT_THAT(json, HasSubstr(R"("input":[{"name":"","data_type":"TYPE_FP32","dims":[-1],"optional":false}])"));
  EXPECT_THAT(json, HasSubstr(R"("max_batch_size":0)"));
  EXPECT_EQ(MessageToJson(config.input(0), Unset::kOmit), R"({"data_type":"TYPE_FP32","dims":[-1]})");
}

}  // namespace
}  // namespace longshore::frontend::oip::codec

#include "serving-node/inference/request.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "serving-node/inference/inputs.h"
#include "serving-node/inference/response.h"

namespace longshore::inference {
namespace {

using tensor::Tensor;
using tensorflow::serving::PredictRequest;
using tensorflow::serving::PredictResponse;
using testing::ElementsAre;

constexpr int64_t kElementsMax = 1000;
constexpr size_t kFilledMax = 1000;

PredictRequest Message(const std::string& text) {
  PredictRequest message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

const char* const kText =
    "model_spec { name: 'm' version { value: 3 } signature_name: 's' } output_filter: ['y', 'z']"
    "inputs { key: 'b' value { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: [1, 2] } }"
    "inputs { key: 'a' value { dtype: DT_STRING tensor_shape {} string_val: 'text' } }";

std::string ErrorOfInputs(const Result<Request>& parsed) {
  if (!parsed) return ToString(parsed.error());
  const auto inputs = parsed->ReadInputs(kElementsMax, kFilledMax);
  return inputs ? "no error" : ToString(inputs.error());
}

void ExpectIsOfText(const Request& request) {
  EXPECT_EQ(request.model_spec().ShortDebugString(), Message(kText).model_spec().ShortDebugString());
  EXPECT_THAT(request.outputs(), ElementsAre("y", "z"));
  EXPECT_THAT(request.input_names(), ElementsAre("a", "b"));
  const auto inputs = request.ReadInputs(kElementsMax, kFilledMax);
  ASSERT_TRUE(inputs) << ToString(inputs.error());
  EXPECT_THAT(inputs->at("b").values<float>(), ElementsAre(1, 2));
  EXPECT_THAT(inputs->at("a").values<std::string>(), ElementsAre("text"));
}

TEST(Request, HasWhatThePredictRequestHas) {
  const std::string bytes = Message(kText).SerializeAsString();
  const auto parsed = Request::Parse(Pieces(bytes));
  ASSERT_TRUE(parsed) << ToString(parsed.error());
  ExpectIsOfText(*parsed);
  EXPECT_EQ(parsed->ToPieces().ToString(), bytes);
}

TEST(Request, OfTensorsBecomesAPredictRequest) {
  const Request made(Message(kText).model_spec(),
                     {{"a", Tensor::Of<std::string>({}, {"text"})}, {"b", Tensor::Of<float>({2}, {1, 2})}}, {"y", "z"});
  ExpectIsOfText(made);
  const auto parsed = Request::Parse(made.ToPieces());
  ASSERT_TRUE(parsed) << ToString(parsed.error());
  ExpectIsOfText(*parsed);
}

TEST(Request, AcceptsWhatGeneratedCodeAccepts) {
  const std::string once = Message(kText).SerializeAsString();
  const std::string again =
      Message("inputs { key: 'b' value { dtype: DT_INT32 tensor_shape {} int_val: 7 } }").SerializeAsString();
  const std::string label = Message("model_spec { version_label: 'l' } client_id: 'c'").SerializeAsString();
  const auto parsed = Request::Parse(Pieces(once + again + label));
  ASSERT_TRUE(parsed) << ToString(parsed.error());
  EXPECT_EQ(parsed->model_spec().name(), "m");
  EXPECT_EQ(parsed->model_spec().version_label(), "l");
  EXPECT_THAT(parsed->ReadInputs(kElementsMax, kFilledMax)->at("b").values<int32_t>(), ElementsAre(7));
}

TEST(Request, IsRefusedIfTheBytesAreMalformed) {
  const google::protobuf::LogSilencer silencer;
  const std::string bytes = Message(kText).SerializeAsString();
  EXPECT_EQ(ErrorOfInputs(Request::Parse(Pieces(bytes.substr(0, bytes.size() - 1)))),
            "INVALID_ARGUMENT: malformed PredictRequest (" + std::to_string(bytes.size() - 1) + " bytes)");
  std::string invalid = bytes;
  invalid[invalid.find("m")] = '\xff';
  EXPECT_THAT(ErrorOfInputs(Request::Parse(Pieces(invalid))), testing::HasSubstr("malformed PredictRequest"));
}

TEST(Request, NamesTheTensorThatIsMalformed) {
  PredictRequest message = Message(kText);
  message.mutable_inputs()->at("b").mutable_tensor_shape()->mutable_dim(0)->set_size(1);
  EXPECT_EQ(ErrorOfInputs(Request::Parse(message)), "INVALID_ARGUMENT: tensor parsing error: b");
}

TEST(Request, DetachedSharesNoMemoryWithItsBytes) {
  const auto owner = std::make_shared<const std::string>(Message(kText).SerializeAsString());
  Pieces pieces;
  pieces.Add(*owner, owner);
  const Request detached = Request::Parse(std::move(pieces))->Detached();
  EXPECT_EQ(owner.use_count(), 1);
  ExpectIsOfText(detached);
}

TEST(Request, LimitsTheElementsOfAllInputsTogether) {
  const Request tensors(
      {}, {{"a", *Tensor::Make(tensor::DType::kInt8, {600})}, {"b", *Tensor::Make(tensor::DType::kInt8, {401})}});
  EXPECT_EQ(ErrorOfInputs(tensors), "RESOURCE_EXHAUSTED: the inputs have more than 1000 elements");
  EXPECT_EQ(ErrorOfInputs(Request::Parse(tensors.ToPieces())),
            "RESOURCE_EXHAUSTED: the inputs have more than 1000 elements");
}

TEST(ToRunRequest, ShowsOnlyTheBeginningOfManyOrLongNames) {
  Signatures signatures;
  (*signatures["serving_default"].mutable_inputs())["x"].set_dtype(tensorflow::DT_FLOAT);
  engine::TensorMap inputs = {{std::string(10000, 'a'), {}}};
  for (int i = 0; i < 10000; ++i) inputs[std::to_string(i)] = {};
  const auto run = ToRunRequest(Request({}, inputs), signatures);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, testing::StartsWith("input size does not match signature: 10001!=1 len({0,1,10,"));
  EXPECT_THAT(run.error().message, testing::EndsWith("...}. Missing but required: {x}."));
  EXPECT_LT(run.error().message.size(), 4000U);
}

TEST(Response, HasTheSpecAndTheOutputs) {
  const auto spec = Message(kText).model_spec();
  for (const auto encoding : {tensor::Encoding::kTypedFields, tensor::Encoding::kContent}) {
    const Pieces bytes = ResponseOf(spec, {{"y", Tensor::Of<int64_t>({2}, {-1, 300})}}, encoding);
    PredictResponse generated;
    ASSERT_TRUE(generated.ParseFromString(bytes.ToString()));
    EXPECT_EQ(generated.model_spec().ShortDebugString(), spec.ShortDebugString());
    EXPECT_EQ(generated.outputs().at("y").int64_val_size(), encoding == tensor::Encoding::kTypedFields ? 2 : 0);
    EXPECT_EQ(SpecOf(bytes).ShortDebugString(), spec.ShortDebugString());
    const auto outputs = OutputsOf(bytes);
    ASSERT_TRUE(outputs) << ToString(outputs.error());
    EXPECT_THAT(outputs->at("y").values<int64_t>(), ElementsAre(-1, 300));
    EXPECT_FALSE(OutputsOf(Pieces(bytes.ToString().substr(1))));
  }
}

}  // namespace
}  // namespace longshore::inference

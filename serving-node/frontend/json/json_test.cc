#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include <cmath>
#include <limits>

#include "common/base/base64.h"
#include "serving-node/frontend/json/request.h"
#include "serving-node/frontend/json/response.h"
#include "serving-node/tensor/proto.h"

namespace longshore::frontend::json {
namespace {

using tensor::DType;
using tensor::Tensor;
using testing::HasSubstr;
using testing::IsEmpty;
using Types = std::map<std::string, tensorflow::DataType>;

Result<Prediction> Parse(std::string_view json, const Types& types) {
  tensorflow::SignatureDef signature;
  for (const auto& [name, type] : types) (*signature.mutable_inputs())[name].set_dtype(type);
  return PredictionFromJson(json, [&](const std::string& name) -> Result<const tensorflow::SignatureDef*> {
    if (name != "serving_default" && name != "other") return NotFound("no {}", name);
    return &signature;
  });
}

struct Good {
  std::string about;
  std::string json;
  Types types;
  std::string expect;  // The expected inputs, each as "name type shape: elements".
};

std::string Print(const std::map<std::string, Tensor>& inputs) {
  std::string text;
  for (const auto& [name, tensor] : inputs) {
    auto elements = PredictionsToJson({{name, tensor}}, JsonForm::kColumnar);
    CHECK(elements);
    const size_t begin = elements->find(": ") + 2;
    text += fmt::format("{} {} {}: {};", name, tensor::DTypeName(tensor.type()), tensor::ToString(tensor.shape()),
                        elements->substr(begin, elements->size() - begin - 2));
  }
  return text;
}

class GoodJson : public testing::TestWithParam<Good> {};

TEST_P(GoodJson, BecomesTensors) {
  const auto parsed = Parse(GetParam().json, GetParam().types);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(Print(parsed->inputs), GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    All, GoodJson,
    testing::Values(
        Good{"RowsOfLists",
             R"({"instances": [[1,2],[3,4],[5,6]]})",
             {{"x", tensorflow::DT_INT32}},
             "x DT_INT32 [3,2]: [[1, 2], [3, 4], [5, 6]];"},
        Good{"WholeNumbersAreFloats",
             R"({"instances": [1, 2.5, -3e2]})",
             {{"x", tensorflow::DT_FLOAT}},
             "x DT_FLOAT [3]: [1.0, 2.5, -300.0];"},
        Good{"NanAndInfinity",
             R"({"instances": [NaN, Infinity, -Infinity, 1e39]})",
             {{"x", tensorflow::DT_FLOAT}},
             "x DT_FLOAT [4]: [NaN, Infinity, -Infinity, Infinity];"},
        Good{"NamedRows",
             R"({"instances": [{"a": [1], "b": "s"}, {"b": "t", "a": [2]}]})",
             {{"a", tensorflow::DT_DOUBLE}, {"b", tensorflow::DT_STRING}},
             "a DT_DOUBLE [2,1]: [[1.0], [2.0]];b DT_STRING [2]: [\"s\", \"t\"];"},
        Good{"NamedRowsOfOneInput",
             R"({"instances": [{"a": 1}, {"a": 2}]})",
             {{"a", tensorflow::DT_INT64}},
             "a DT_INT64 [2]: [1, 2];"},
        Good{"Base64Rows",
             R"({"instances": [{"b64": "aGVsbG8="}, {"b64": "d29ybGQ"}]})",
             {{"x", tensorflow::DT_STRING}},
             "x DT_STRING [2]: [\"hello\", \"world\"];"},
        Good{"Base64Lists",
             R"({"instances": [[{"b64": "aGVsbG8="}], ["w"]]})",
             {{"x", tensorflow::DT_STRING}},
             "x DT_STRING [2,1]: [[\"hello\"], [\"w\"]];"},
        Good{"Columns",
             R"({"inputs": {"a": [[1,2]], "b": {"b64": "aGk="}}})",
             {{"a", tensorflow::DT_UINT8}, {"b", tensorflow::DT_STRING}},
             "a DT_UINT8 [1,2]: [[1, 2]];b DT_STRING []: \"hi\";"},
        Good{"ColumnWithoutName",
             R"({"inputs": [[true, false]]})",
             {{"x", tensorflow::DT_BOOL}},
             "x DT_BOOL [1,2]: [[true, false]];"},
        Good{"ScalarColumn", R"({"inputs": 7})", {{"x", tensorflow::DT_INT32}}, "x DT_INT32 []: 7;"},
        Good{"EmptyColumn", R"({"inputs": []})", {{"x", tensorflow::DT_FLOAT}}, "x DT_FLOAT [0]: [];"},
        Good{"SmallIntegersWrap",
             R"({"inputs": [300, -129]})",
             {{"x", tensorflow::DT_INT8}},
             "x DT_INT8 [2]: [44, 127];"},
        Good{"LargeIntegers",
             R"({"inputs": [18446744073709551615]})",
             {{"x", tensorflow::DT_UINT64}},
             "x DT_UINT64 [1]: [18446744073709551615];"},
        Good{"TrailingBytes", "{\"inputs\": 1} and more", {{"x", tensorflow::DT_INT32}}, "x DT_INT32 []: 1;"},
        Good{"MoreColumnsThanInputs",
             R"({"inputs": {"x": 1, "y": 2}})",
             {{"x", tensorflow::DT_INT32}},
             "x DT_INT32 []: 1;"}),
    [](const auto& each) { return each.param.about; });

TEST(JsonRequest, ReadsTheSignatureNameAndTheForm) {
  const auto rows = Parse(R"({"signature_name": "other", "instances": [1]})", {{"x", tensorflow::DT_FLOAT}});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->form, JsonForm::kRow);
  EXPECT_EQ(rows->signature_name, "other");
  EXPECT_EQ(Parse(R"({"inputs": [1]})", {{"x", tensorflow::DT_FLOAT}})->form, JsonForm::kColumnar);
}

struct Bad {
  std::string about;
  std::string json;
  Types types;
  std::string message;
  Code code = Code::kInvalidArgument;
};

class BadJson : public testing::TestWithParam<Bad> {};

TEST_P(BadJson, IsRefusedWithTheKnownText) {
  const auto parsed = Parse(GetParam().json, GetParam().types);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, GetParam().code);
  EXPECT_THAT(parsed.error().message, HasSubstr(GetParam().message));
}

const Types kOne = {{"x", tensorflow::DT_INT32}};
const Types kTwo = {{"a", tensorflow::DT_INT32}, {"b", tensorflow::DT_STRING}};

INSTANTIATE_TEST_SUITE_P(
    All, BadJson,
    testing::Values(
        Bad{"Empty", "", kOne, "JSON Parse error: The document is empty"},
        Bad{"Broken", R"({"instances": [1,})", kOne, "JSON Parse error: Invalid value. at offset: 17"},
        Bad{"NoObject", "[1]", kOne, "Is not object"}, Bad{"NoKey", "{}", kOne, "Missing 'inputs' or 'instances' key"},
        Bad{"BothKeys", R"({"instances": [1], "inputs": [1]})", kOne, "Not formatted correctly expecting only one of"},
        Bad{"SignatureNoString", R"({"signature_name": 5, "instances": [1]})", kOne,
            "'signature_name' key must be a string value."},
        Bad{"UnknownSignature", R"({"signature_name": "none", "instances": [1]})", kOne, "no none", Code::kNotFound},
        Bad{"NoInputs", R"({"instances": [1]})", {}, "Failed to get input map for signature: DEFAULT"},
        Bad{"InstancesNoList", R"({"instances": 1})", kOne, "Expecting 'instances' to be an list/array"},
        Bad{"NoInstances", R"({"instances": []})", kOne, "No values in 'instances' array"},
        Bad{"OtherLength", R"({"instances": [[1,2],[3,4],[5,6,7]]})", kOne, "Expecting tensor size: 2 but got: 3"},
        Bad{"OtherShape", R"({"instances": [[1,2],[3,4],[[5,6]]]})", kOne, "Expecting shape [2] but got: [1,2]"},
        Bad{"ListAfterScalar", R"({"instances": [1, [1]]})", kOne, "Expecting shape [] but got: [1]"},
        Bad{"WrongType", R"({"instances": [[1,2],["a","b"]]})", kOne,
            "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: \"a\" Type: String "
            "is "
            "not of expected type: int32"},
        Bad{"FractionForInteger", R"({"inputs": [1.5]})", kOne, "Type: Number is not of expected type: int32"},
        Bad{"Ragged", R"({"inputs": [[1,2],[3]]})", kOne,
            "Encountered list at unexpected size: 1 at level: 1 expected size: 2"},
        Bad{"ScalarInList", R"({"inputs": [[1],2]})", kOne,
            "found at incorrect level: 2 in the JSON DOM. Expected at level: 2"},
        Bad{"ListInScalars", R"({"inputs": [1,[2]]})", kOne, "Encountered list at unexpected level: 1 expected < 1"},
        Bad{"ObjectThenList", R"({"instances": [{"a": 1, "b": "s"}, [1]]})", kTwo,
            "Expecting object but got list at item 1 of input list"},
        Bad{"ListThenObject", R"({"instances": [[1], {"x": 1}]})", kOne,
            "Expecting value/list but got object at item 1 of input list"},
        Bad{"PlainListForTwo", R"({"instances": [1]})", kTwo,
            "instances is a plain list, but expecting list of objects"},
        Bad{"PlainColumnForTwo", R"({"inputs": [1]})", kTwo, "inputs is a plain value/list, but expecting an object"},
        Bad{"MissingColumn", R"({"inputs": {"a": 1}})", kTwo, "Missing named input: b in 'inputs' object."},
        Bad{"MissingKey", R"({"instances": [{"a": 1}]})", kTwo, "keys must be equal to: a,b"},
        Bad{"UnknownKey", R"({"instances": [{"a": 1, "b": "s", "c": 1}]})", kTwo, "does not have named input: c"},
        Bad{"KeyTwice", R"({"instances": [{"a": 1, "a": 2, "b": "s"}]})", kTwo, "names an input twice"},
        Bad{"BadBase64", R"({"inputs": {"b64": "a*bc"}})", {{"x", tensorflow::DT_STRING}}, "Unable to base64 decode"},
        Bad{"ObjectForString",
            R"({"inputs": [{"b64": 1}]})",
            {{"x", tensorflow::DT_STRING}},
            "not formatted correctly for base64 data"},
        Bad{"Half",
            R"({"inputs": [1]})",
            {{"x", tensorflow::DT_HALF}},
            "Conversion of JSON Value: 1 to type: half",
            Code::kUnimplemented},
        Bad{"TooDeep", "{\"inputs\": " + std::string(300, '[') + std::string(300, ']') + "}", kOne,
            "nested more than 254 levels"}),
    [](const auto& each) { return each.param.about; });

TEST(JsonRequest, ANonFiniteWordWithAnExponentIsAnErrorRatherThanACrash) {
  const Types floats = {{"x", tensorflow::DT_FLOAT}};
  for (const char* number : {"NaNe2", "NaN.5", "-InfinityE1", "Inf.", "1, NaNE+2"}) {
    const auto parsed = Parse(fmt::format("{{\"inputs\": [\"\\\"NaNe2\", {}]}}", number), floats);
    ASSERT_FALSE(parsed) << number;
    EXPECT_THAT(parsed.error().message, HasSubstr("JSON Parse error: Invalid value. at offset: ")) << number;
  }
  EXPECT_TRUE(Parse(R"({"inputs": ["NaNe2"]})", {{"x", tensorflow::DT_STRING}}));
  EXPECT_TRUE(Parse(R"({"inputs": [NaN]} NaNe2)", floats));
}

TEST(JsonRequest, HalfAMillionNestedListsAreAnErrorRatherThanACrash) {
  constexpr int kDepth = 500000;
  const std::string nested = std::string(kDepth, '[') + std::string(kDepth, ']');
  for (const std::string& json : {nested, "{\"inputs\": " + nested + "}", "{\"instances\": [" + nested + "]}",
                                  "{\"signature_name\": " + nested + "}", std::string(kDepth, '[')}) {
    const auto parsed = Parse(json, kOne);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
    EXPECT_LT(parsed.error().message.size(), 1000u);
  }
}

TEST(JsonResponse, WritesRowsAndColumns) {
  const engine::TensorMap one = {{"y", Tensor::Of<float>({2, 2}, {1, 0.1f, -2.5f, 3e-5f})}};
  EXPECT_EQ(*PredictionsToJson(one, JsonForm::kRow), "{\n    \"predictions\": [[1.0, 0.1], [-2.5, 3e-05]\n    ]\n}");
  EXPECT_EQ(*PredictionsToJson(one, JsonForm::kColumnar), "{\n    \"outputs\": [[1.0, 0.1], [-2.5, 3e-05]]\n}");

  const engine::TensorMap two = {{"a", Tensor::Of<int64_t>({2}, {1, -2})},
                                 {"b_bytes", Tensor::Of<std::string>({2}, {"hello", ""})}};
  EXPECT_EQ(
      *PredictionsToJson(two, JsonForm::kRow),
      "{\n    \"predictions\": [{\n            \"a\": 1,\n            \"b_bytes\": {\"b64\": \"aGVsbG8=\"}\n        }, "
      "{\n            \"a\": -2,\n            \"b_bytes\": {\"b64\": \"\"}\n        }\n    ]\n}");
  EXPECT_EQ(*PredictionsToJson(two, JsonForm::kColumnar),
            "{\n    \"outputs\": {\n        \"a\": [1, -2],\n        \"b_bytes\": [{\"b64\": \"aGVsbG8=\"}, {\"b64\": "
            "\"\"}]\n    }\n}");
}

TEST(JsonResponse, WritesFloatsSoThatTheyReadBackTheSame) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto text = PredictionsToJson(
      {{"y", Tensor::Of<float>({7}, {9e6f, 999999, 0.2f, std::nanf(""), inf, -inf, 16777216})}}, JsonForm::kColumnar);
  EXPECT_THAT(*text, HasSubstr("[9e+06, 999999.0, 0.2, NaN, Infinity, -Infinity, 1.6777216e+07]"));
  EXPECT_THAT(*PredictionsToJson({{"y", Tensor::Of<double>({1}, {0.1})}}, JsonForm::kColumnar), HasSubstr("[0.1]"));
}

TEST(JsonResponse, EscapesStrings) {
  const auto text =
      PredictionsToJson({{"y", Tensor::Of<std::string>({}, {"a\"\\\n\x01\xc3\xa9"})}}, JsonForm::kColumnar);
  EXPECT_EQ(*text, "{\n    \"outputs\": \"a\\\"\\\\\\n\\u0001\xc3\xa9\"\n}");
}

TEST(JsonResponse, AnEmptyBatchHasNoPredictions) {
  EXPECT_EQ(*PredictionsToJson({{"y", Tensor::Of<float>({0, 3}, {})}}, JsonForm::kRow),
            "{\n    \"predictions\": [\n    ]\n}");
}

TEST(JsonResponse, RefusesOutputsThatRowsCannotRepresent) {
  const auto scalar = PredictionsToJson({{"y", Tensor::Of<float>({}, {1})}}, JsonForm::kRow);
  EXPECT_THAT(scalar.error().message, HasSubstr("no shape information"));
  const auto uneven =
      PredictionsToJson({{"a", Tensor::Of<float>({1}, {1})}, {"b", Tensor::Of<float>({2}, {1, 2})}}, JsonForm::kRow);
  EXPECT_THAT(uneven.error().message, HasSubstr("inconsistent batch size: 2"));
  EXPECT_THAT(PredictionsToJson({}, JsonForm::kRow).error().message, HasSubstr("empty tensor map"));
  const auto complex = PredictionsToJson({{"c", *Tensor::Make(DType::kComplex64, {1})}}, JsonForm::kRow);
  EXPECT_THAT(complex.error().message, HasSubstr("tensor type: complex64"));
}

TEST(JsonResponse, ErrorsAndMessagesHaveTheirKnownForm) {
  EXPECT_EQ(ErrorToJson("no \"x\""), "{\n    \"error\": \"no \\\"x\\\"\"\n}");

  tensorflow::serving::GetModelStatusResponse status;
  auto* version = status.add_model_version_status();
  version->set_version(3);
  version->set_state(tensorflow::serving::ModelVersionStatus::AVAILABLE);
  version->mutable_status();
  EXPECT_EQ(StatusToJson(status),
            "{\n \"model_version_status\": [\n  {\n   \"version\": \"3\",\n   \"state\": \"AVAILABLE\",\n   "
            "\"status\": {\n    "
            "\"error_code\": \"OK\",\n    \"error_message\": \"\"\n   }\n  }\n ]\n}\n");

  tensorflow::serving::SignatureDefMap signatures;
  (*signatures.mutable_signature_def())["serving_default"].set_method_name("m");
  tensorflow::serving::ModelSpec spec;
  spec.set_name("half");
  spec.mutable_version()->set_value(7);
  EXPECT_EQ(
      MetadataToJson(spec, signatures),
      "{\n\"model_spec\":{\n \"name\": \"half\",\n \"signature_name\": \"\",\n \"version\": \"7\"\n}\n,\n\"metadata\": "
      "{\"signature_def\": {\n \"signature_def\": {\n  \"serving_default\": {\n   \"inputs\": {},\n   \"outputs\": "
      "{},\n   "
      "\"method_name\": \"m\",\n   \"defaults\": {}\n  }\n }\n}\n}\n}\n");
}

TEST(Base64, ReadsWhatItWrote) {
  for (const std::string bytes : {"", "a", "ab", "abc", "abcd", "\xff\xfe\xfd"}) {
    EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes);
  }
  EXPECT_EQ(ToBase64("ab"), "YWI=");
  EXPECT_FALSE(FromBase64("YWI=YWI="));
  EXPECT_FALSE(FromBase64("Y"));
}

}  // namespace
}  // namespace longshore::frontend::json

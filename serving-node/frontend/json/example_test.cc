#include "serving-node/frontend/json/example.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace longshore::frontend::json {
namespace {

using ::testing::HasSubstr;

struct Parsed {
  tensorflow::serving::ModelSpec spec;
  tensorflow::serving::Input input;
};

Result<Parsed> Parse(const std::string& json) {
  Parsed parsed;
  RETURN_IF_ERROR(ExamplesFromJson(json, &parsed.spec, &parsed.input));
  return parsed;
}

// Returns the features of the only example as text, sorted by name.
std::string FeaturesOf(const std::string& example) {
  const auto parsed = Parse("{\"examples\": [" + example + "]}");
  if (!parsed) return ToString(parsed.error());
  std::map<std::string, std::string> features;
  for (const auto& [name, feature] : parsed->input.example_list().examples(0).features().feature()) {
    features[name] = feature.ShortDebugString();
  }
  std::string text;
  for (const auto& [name, feature] : features) text += name + ": " + feature + "; ";
  return text;
}

TEST(JsonExample, TakesAFeaturesKindFromItsValues) {
  EXPECT_EQ(FeaturesOf(R"({"a": 1, "b": 1.5, "c": "x", "d": {"b64": "/w=="}, "e": true})"),
            "a: int64_list { value: 1 }; b: float_list { value: 1.5 }; c: bytes_list { value: \"x\" }; "
            "d: bytes_list { value: \"\\377\" }; e: int64_list { value: 1 }; ");
  EXPECT_EQ(FeaturesOf(R"({"a": [1, 2], "b": [1.0, 2.5], "c": ["x", {"b64": "eQ=="}], "d": []})"),
            "a: int64_list { value: 1 value: 2 }; b: float_list { value: 1 value: 2.5 }; "
            "c: bytes_list { value: \"x\" value: \"y\" }; d: ; ");
}

TEST(JsonExample, NamesTheInvalidFeatureInTensorFlowServingsWords) {
  const auto error_of = [](const std::string& value) { return FeaturesOf("{\"names\": " + value + "}"); };
  const std::string integers = "INVALID_ARGUMENT: Unexpected element type in feature: names expecting type: int64";
  for (const char* value : {"[1, 2.5]", "[1, \"x\"]", "[true, 1.0]", "[1, {\"b64\": \"*\"}]"}) {
    EXPECT_EQ(error_of(value), integers) << value;
  }
  EXPECT_THAT(error_of("[2.5, 1]"), HasSubstr("expecting type: float"));
  EXPECT_THAT(error_of("[\"x\", 18446744073709551615]"), HasSubstr("expecting type: bytes"));
  EXPECT_EQ(error_of("9223372036854775808"),
            "INVALID_ARGUMENT: Feature: names has uint64_t element. Only int64_t is supported.");
  EXPECT_EQ(error_of("[9223372036854775807]"), "names: int64_list { value: 9223372036854775807 }; ");
  EXPECT_EQ(error_of("18446744073709551616"), "names: float_list { value: 1.84467441e+19 }; ") << "a double in JSON";
  const std::string type = "INVALID_ARGUMENT: Feature: names has element with unexpected JSON type: ";
  EXPECT_EQ(error_of("null"), type + "Null");
  EXPECT_EQ(error_of("[1, null]"), type + "Null");
  EXPECT_EQ(error_of("{\"test\": 10}"), type + "Object");
  EXPECT_EQ(error_of("[{}]"), type + "Object");
  EXPECT_EQ(error_of("[[10]]"), type + "Array");
  EXPECT_THAT(error_of("{\"b64\": \"*\"}"), HasSubstr("base64"));
  EXPECT_THAT(FeaturesOf(R"({"a": 1, "a": 2})"), HasSubstr("Feature: a occurs twice"));
}

TEST(JsonExample, ReadsTheContextBeforeTheExamples) {
  const auto error_of = [](const std::string& json) { return ToString(Parse(json).error()); };
  EXPECT_EQ(error_of(R"({"context": [1]})"), "INVALID_ARGUMENT: Example must be JSON object but got JSON Array");
  EXPECT_EQ(error_of(R"({"examples": [3]})"), "INVALID_ARGUMENT: Example must be JSON object but got JSON Number");
  EXPECT_THAT(error_of(R"({"context": {}})"), HasSubstr("key 'examples' is expected and was not found"));
  EXPECT_THAT(error_of(R"({"examples": {}})"), HasSubstr("} Expecting 'examples' value to be an list/array"));
  EXPECT_THAT(error_of(R"({"examples": []})"), HasSubstr("} 'examples' value is an empty array"));
}

TEST(JsonExample, HasASignatureAndAContext) {
  const auto parsed = Parse(R"({"signature_name": "s", "context": {"c": 7}, "examples": [{"x": 1.0}, {}]})");
  ASSERT_TRUE(parsed) << ToString(parsed.error());
  EXPECT_EQ(parsed->spec.signature_name(), "s");
  const auto& list = parsed->input.example_list_with_context();
  EXPECT_EQ(list.examples_size(), 2);
  EXPECT_EQ(list.context().features().feature().at("c").int64_list().value(0), 7);
}

TEST(JsonExample, WritesResultsInTensorFlowServingsForm) {
  tensorflow::serving::ClassificationResult classes;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "classifications { classes { label: 'a\"' score: 0.5 } classes { score: 1 } } classifications {}", &classes));
  EXPECT_EQ(ClassificationsToJson(classes), "{\n    \"results\": [[[\"a\\\"\", 0.5], [\"\", 1.0]], []]\n}");
  tensorflow::serving::RegressionResult values;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString("regressions { value: 2 } regressions { value: nan }", &values));
  EXPECT_EQ(RegressionsToJson(values), "{\n    \"results\": [2.0, NaN]\n}");
}

}  // namespace
}  // namespace longshore::frontend::json

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
  EXPECT_EQ(FeaturesOf(R"({"a": [1, 2], "b": [1, 2.5], "c": ["x", {"b64": "eQ=="}], "d": []})"),
            "a: int64_list { value: 1 value: 2 }; b: float_list { value: 1 value: 2.5 }; "
            "c: bytes_list { value: \"x\" value: \"y\" }; d: ; ");
}

TEST(JsonExample, NamesTheInvalidExampleAndFeature) {
  EXPECT_THAT(FeaturesOf(R"({"a": null})"), HasSubstr("example 0: feature \"a\": JSON Value: null is neither"));
  EXPECT_THAT(FeaturesOf(R"({"a": {"b": 1}})"), HasSubstr("feature \"a\""));
  EXPECT_THAT(FeaturesOf(R"({"a": [1, "x"]})"), HasSubstr("is not of the same kind"));
  EXPECT_THAT(FeaturesOf(R"({"a": [[1]]})"), HasSubstr("neither"));
  EXPECT_THAT(FeaturesOf(R"({"a": {"b64": "*"}})"), HasSubstr("base64"));
  EXPECT_THAT(FeaturesOf(R"({"a": 1, "a": 2})"), HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(FeaturesOf("3"), HasSubstr("not an object of features"));
  for (const char* json : {"{}", R"({"examples": 1})", R"({"examples": []})", R"({"instances": [1]})"}) {
    EXPECT_FALSE(Parse(json)) << json;
  }
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

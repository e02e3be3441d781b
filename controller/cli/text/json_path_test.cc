// Templates as people write them for kubectl.
#include "controller/cli/text/json_path.h"

#include <gtest/gtest.h>

namespace longshore::cli::text {
namespace {

const Json& Document() {
  static const Json document = ParseJson(R"({"kind": "List", "items": [
      {"metadata": {"name": "a", "labels": {"example.com/x": "1"}}, "spec": {"version": 3, "replicas": 2.5}},
      {"metadata": {"name": "b"}, "spec": {"version": 4, "fleet": "cpu", "paused": true, "steps": [{"weight": 5}]}},
      {"metadata": {"name": "c"}, "spec": {"version": 5}, "status": null}]})")
                                   .value();
  return document;
}

std::string Print(const std::string& text) {
  const auto printed = PrintJsonPath(text, Document());
  return printed ? *printed : "error: " + printed.error().message;
}

TEST(JsonPath, PrintsFieldsAndElements) {
  EXPECT_EQ(Print("{.kind}"), "List");
  EXPECT_EQ(Print("{kind}"), "List");
  EXPECT_EQ(Print(".kind"), "List");
  EXPECT_EQ(Print("{$.kind}"), "List");
  EXPECT_EQ(Print("{.items[0].metadata.name}"), "a");
  EXPECT_EQ(Print("{.items[-1].metadata.name}"), "c");
  EXPECT_EQ(Print("{.items[*].metadata.name}"), "a b c");
  EXPECT_EQ(Print("{.items[1:].metadata.name}"), "b c");
  EXPECT_EQ(Print("{.items[0:2].metadata.name}"), "a b");
  EXPECT_EQ(Print("{.items[:-1].metadata.name}"), "a b");
  EXPECT_EQ(Print("{.items[1].spec.*}"), R"(4 cpu true [{"weight":5}])");
  EXPECT_EQ(Print("{..name}"), "a b c");
  EXPECT_EQ(Print("{.items[0].metadata.labels['example.com/x']}"), "1");
  EXPECT_EQ(Print(R"({.items[0].metadata.labels.example\.com/x})"), "1");
  EXPECT_EQ(Print("{.items[0].spec}"), R"({"version":3,"replicas":2.5})");
}

TEST(JsonPath, PrintsNothingForWhatDoesNotExist) {
  for (const char* text :
       {"{.missing}", "{.items[7].spec}", "{.items[-7]}", "{.items[2].status}", "{.kind[0]}", "{.kind.x}"})
    EXPECT_EQ(Print(text), "") << text;
}

TEST(JsonPath, FiltersElements) {
  EXPECT_EQ(Print(R"({.items[?(@.metadata.name=="b")].spec.version})"), "4");
  EXPECT_EQ(Print("{.items[?(@.metadata.name=='b')].spec.version}"), "4");
  EXPECT_EQ(Print(R"({.items[?(@.metadata.name != "b")].spec.version})"), "3 5");
  EXPECT_EQ(Print("{.items[?(@.spec.version>=4)].metadata.name}"), "b c");
  EXPECT_EQ(Print("{.items[?(@.spec.version<4)].metadata.name}"), "a");
  EXPECT_EQ(Print("{.items[?(@.spec.paused==true)].metadata.name}"), "b");
  EXPECT_EQ(Print("{.items[?(@.spec.fleet)].metadata.name}"), "b");
  EXPECT_EQ(Print("{.items[?(@.spec.steps[0].weight==5)].metadata.name}"), "b");
}

TEST(JsonPath, RepeatsATemplateForARange) {
  EXPECT_EQ(Print(R"({range .items[*]}{.metadata.name}={.spec.version}{"\n"}{end}done)"), "a=3\nb=4\nc=5\ndone");
  EXPECT_EQ(Print(R"({range .items[1:]}{@.metadata.name} of {$.kind}{'\t'}{end})"), "b of List\tc of List\t");
  EXPECT_EQ(Print("{range .items[*]}[{range .spec.steps[*]}{.weight}{end}]{end}"), "[][5][]");
}

TEST(JsonPath, AMistakeIsAnErrorThatShowsIt) {
  for (const char* text :
       {"", "{.kind", "{end}", "{range .items[*]}x", "{.items[}", "{.items[x]}", "{.items[]}", "{.a b}",
        "{.items[?(@.a=5)]}", "{.items[?(@.a==x)]}", "{\"a}", "{..}", "{.items[0,1]}", "{.items[0:1:2]}"}) {
    const auto status = CheckJsonPath(text);
    ASSERT_FALSE(status) << text;
    EXPECT_TRUE(status.error().message.starts_with("jsonpath: ")) << status.error().message;
  }
  EXPECT_FALSE(CheckJsonPath(std::string(kJsonPathBytesMax + 1, 'a')));
  std::string deep;
  for (int i = 0; i <= kJsonPathRangesMax; ++i) deep += "{range .items[*]}";
  for (int i = 0; i <= kJsonPathRangesMax; ++i) deep += "{end}";
  EXPECT_FALSE(CheckJsonPath(deep));
}

}  // namespace
}  // namespace longshore::cli::text

// The CRDs and the parser have the same fields with the same meaning, and each field has an effect.
#include "controller/api/crd_test.h"

#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "common/os/file.h"

namespace longshore::api {
namespace {

// Sets defaults as an API server does. Adds the paths of the defaults that were set to `used`.
void FillDefaults(const Json& schema, const std::string& path, Json& value, std::set<std::string>& used) {
  if (value.is_array() && schema.contains("items")) {
    for (Json& item : value) FillDefaults(schema["items"], path + "[0]", item, used);
  }
  if (!value.is_object() || !schema.contains("properties")) return;
  for (const auto& [name, child] : schema["properties"].items()) {
    const std::string below = path + "." + name;
    if (!value.contains(name) && child.contains("default")) {
      value[name] = child["default"];
      used.insert(below);
    }
    if (value.contains(name)) FillDefaults(child, below, value[name], used);
  }
}

TEST(Crd, EachLeafOfTheSchemasHasACase) {
  std::set<std::string> in_schema, in_cases;
  for (const std::string& kind : kKinds) {
    for (const SchemaNode& node : NodesOf(kind, "spec")) {
      if (IsLeaf(node.schema)) in_schema.insert(kind + " " + node.path);
    }
  }
  for (const Leaf& leaf : Leaves()) {
    const std::vector<SchemaNode> nodes = NodesOf(leaf.kind, "spec");
    const Json* schema = SchemaAt(nodes, leaf.path);
    ASSERT_NE(schema, nullptr) << leaf.path;
    if (IsLeaf(*schema)) in_cases.insert(leaf.kind + " " + leaf.path);
  }
  EXPECT_EQ(in_schema, in_cases);
}

TEST(Crd, EachLeafChangesTheParsedSpec) {
  for (const Leaf& leaf : Leaves()) {
    const auto without = Parsed(leaf.kind, leaf.without);
    const auto with = Parsed(leaf.kind, leaf.With(leaf.value));
    ASSERT_TRUE(without) << leaf.path << ": " << without.error().message;
    ASSERT_TRUE(with) << leaf.path << ": " << with.error().message;
    EXPECT_EQ(*without == *with, leaf.same) << leaf.path;
    // Parsing the written spec again gives the same spec.
    EXPECT_EQ(*Parsed(leaf.kind, {{"spec", *with}}), *with) << leaf.path;
  }
}

TEST(Crd, EachLeafHasAnEffectInStandaloneModeOrIsRefusedWithAReason) {
  int refused = 0;
  for (const Leaf& leaf : Leaves()) {
    const auto without = Parsed(leaf.kind, leaf.without, Home::kHost);
    const auto with = Parsed(leaf.kind, leaf.With(leaf.value), Home::kHost);
    if (with) {
      EXPECT_NE(without == with, !leaf.same) << leaf.path;
    } else {
      ++refused;
      EXPECT_THAT(with.error().message, testing::HasSubstr("is for fleets in a cluster only; ")) << leaf.path;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST(Crd, DefaultsAreThoseOfTheParser) {
  std::set<std::string> used, there;
  for (const Leaf& leaf : Leaves()) {
    const Json schema = SchemaOf(leaf.kind)["properties"]["spec"];
    for (const Json& manifest : {leaf.without, leaf.With(leaf.value)}) {
      Json filled = manifest;
      FillDefaults(schema, leaf.kind + " spec", filled["spec"], used);
      const auto parsed = Parsed(leaf.kind, filled);
      ASSERT_TRUE(parsed) << leaf.path << ": " << parsed.error().message;
      EXPECT_EQ(*parsed, *Parsed(leaf.kind, manifest)) << leaf.path;
    }
  }
  for (const std::string& kind : kKinds) {
    for (const SchemaNode& node : NodesOf(kind, "spec")) {
      if (node.schema.contains("default") && node.path != "spec") there.insert(kind + " " + node.path);
    }
  }
  EXPECT_EQ(used, there);
}

// Adds an unknown field to each object of the manifests. The parser's error must list the known fields.
TEST(Crd, ParserHasExactlyTheFieldsOfTheSchema) {
  std::set<std::string> asked, objects;
  for (const Leaf& leaf : Leaves()) {
    const std::vector<SchemaNode> nodes = NodesOf(leaf.kind, "spec");
    const Json manifest = leaf.With(leaf.value);
    for (const SchemaNode& node : nodes) {
      if (!node.schema.contains("properties")) continue;
      objects.insert(leaf.kind + " " + node.path);
      if (!manifest.contains(PointerTo(node.path))) continue;
      asked.insert(leaf.kind + " " + node.path);
      Json wrong = manifest;
      Put(wrong, node.path + ".zzzzzzzzzzzzzzzzzzzz", 1);
      const std::string refusal = RefusalAt(node.path, leaf.kind, wrong);
      const size_t list = refusal.find("known fields: ");
      ASSERT_NE(list, std::string::npos) << node.path << ": " << refusal;
      std::set<std::string> known, in_schema;
      std::istringstream names(refusal.substr(list + 14));
      for (std::string name; std::getline(names >> std::ws, name, ',');) known.insert(name);
      for (const auto& [name, _] : node.schema["properties"].items()) in_schema.insert(name);
      EXPECT_EQ(known, in_schema) << leaf.kind << " " << node.path;
    }
  }
  EXPECT_EQ(asked, objects);
}

TEST(Crd, EachFieldHasADescription) {
  for (const std::string& kind : kKinds) {
    for (const char* const part : {"spec", "status"}) {
      for (const SchemaNode& node : NodesOf(kind, part)) {
        if (node.path.ends_with("[0]") || node.path.ends_with(".key")) continue;
        EXPECT_GT(node.schema.value("description", "").size(), 3u) << kind << " " << node.path;
      }
    }
  }
}

// An API server compares an integer with only the integer part of a bound: `minimum: 0.5` would accept 0. So a schema
// with a fractional bound must also exclude 0, with `not: {maximum: 0}`.
TEST(Crd, FractionalBoundsAreRules) {
  for (const std::string& kind : kKinds) {
    for (const SchemaNode& node : NodesOf(kind, "spec")) {
      for (const char* const bound : {"minimum", "maximum"}) {
        if (!node.schema.contains(bound) || node.schema[bound].is_number_integer()) continue;
        EXPECT_EQ(node.schema["not"]["maximum"], 0)
            << kind << " " << node.path << " takes the whole part of its " << bound;
      }
    }
  }
}

// `known` has CEL functions of Kubernetes 1.30, the oldest supported version. Newer versions have more functions.
TEST(Crd, RulesUseOnlyFunctionsOfTheOldestSupportedKubernetes) {
  const std::set<std::string> known = {"has",      "all",       "exists",     "exists_one", "map",     "isSorted",
                                       "endsWith", "size",      "startsWith", "contains",   "matches", "duration",
                                       "quantity", "compareTo", "string",     "lowerAscii"};
  const std::regex call("([A-Za-z_]+)\\(");
  const std::regex quoted("'[^']*'");
  for (const std::string& kind : kKinds) {
    const std::string all = SchemaOf(kind).dump();
    const std::regex rule("\"rule\":\"((?:[^\"\\\\]|\\\\.)*)\"");
    int rules = 0;
    for (std::sregex_iterator found(all.begin(), all.end(), rule), end; found != end; ++found, ++rules) {
      const std::string text = std::regex_replace((*found)[1].str(), quoted, "''");
      for (std::sregex_iterator name(text.begin(), text.end(), call); name != end; ++name) {
        EXPECT_TRUE(known.contains((*name)[1].str())) << (*name)[1].str() << " in " << text;
      }
    }
    EXPECT_GT(rules, 10);
  }
}

TEST(Crd, TogetherAreSmallerThan100Kilobytes) {
  EXPECT_LT(ReadFile(InSources("crds/models.yaml"))->size() + ReadFile(InSources("crds/servingfleets.yaml"))->size(),
            100'000u);
}

int CountGood(const std::string& folder, Home home) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(InSources(folder))) {
    if (entry.is_directory()) continue;
    const auto objects = ParseManifests(entry.path().string(), *ReadFile(entry.path()), home);
    EXPECT_TRUE(objects) << objects.error().message;
    ++files;
  }
  return files;
}

TEST(Samples, AreValidManifests) {
  EXPECT_GE(CountGood("deploy/samples", Home::kHost), 4);
  EXPECT_GE(CountGood("deploy/samples", Home::kCluster), 4);
  EXPECT_GE(CountGood("deploy/samples/cluster", Home::kCluster), 2);
}

}  // namespace
}  // namespace longshore::api

// The CRDs and the parser accept the same values for each leaf: types, bounds, choices, patterns and sizes.
#include <gmock/gmock.h>

#include <regex>
#include <set>

#include "controller/api/crd_test.h"

namespace longshore::api {
namespace {

const char* const kTexts[] = {"",
                              " ",
                              "a",
                              "A",
                              "a b",
                              "-a",
                              "a-",
                              "a.b",
                              "a..b",
                              "a/b",
                              "a/b/c",
                              "/a",
                              "a/",
                              "/a/../b",
                              "/a//b",
                              "/",
                              "//",
                              "\xC3\x84",
                              "a_b",
                              "a:b",
                              "a\nb",
                              "0",
                              "1",
                              "-1",
                              "1.5",
                              "1e3",
                              "1Ki",
                              "1ki",
                              "1e3s",
                              "5m",
                              "1d",
                              "1m30s",
                              "-5m",
                              ".5s",
                              "5.s",
                              "1.5h",
                              "99%",
                              "100%",
                              "100.1%",
                              "101%",
                              "0.5",
                              "0.001",
                              ".5",
                              "1.0",
                              "1.1",
                              "0.5%",
                              "0%",
                              "-1%",
                              "50 %",
                              "s3://b",
                              "file:///",
                              "file://a",
                              "file:///a b",
                              "http://",
                              "http://h",
                              "https://h/a?b",
                              "https://h/a.tar",
                              "ftp://h",
                              "10.0.0.0/8",
                              "10.0.0.0/33",
                              "10.0.0/8",
                              "::/0",
                              "fd00::/129",
                              "10.0.0.0",
                              "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
                              "x=y",
                              "{}",
                              "\"",
                              "'"};

bool SchemaTakesText(const Json& schema, const std::string& text) {
  if (text.size() > schema.value("maxLength", size_t{1} << 20)) return false;
  if (text.size() < schema.value("minLength", size_t{0})) return false;
  if (schema.contains("enum") && std::ranges::find(schema["enum"], Json(text)) == schema["enum"].end()) return false;
  return !schema.contains("pattern") || std::regex_match(text, std::regex(schema["pattern"].get<std::string>()));
}

// The bounds of a duration, which the schema expresses as a CEL rule.
struct Bounds {
  Duration min, max;
};
std::optional<Bounds> BoundsOf(const Json& schema) {
  static const std::regex kRule(
      "duration\\(self\\) >= duration\\('(.*)'\\) && duration\\(self\\) <= duration\\('(.*)'\\)");
  if (!schema.contains("x-kubernetes-validations")) return std::nullopt;
  const std::string rule = schema["x-kubernetes-validations"][0]["rule"];
  std::smatch bounds;
  if (!std::regex_match(rule, bounds, kRule)) return std::nullopt;
  return Bounds{*ParseDuration(bounds[1].str()), *ParseDuration(bounds[2].str())};
}

void ExpectSameText(const Leaf& leaf, const std::string& path, const Json& schema, const std::string& text) {
  Json manifest = leaf.without;
  Put(manifest, path, text);
  const std::string refusal = RefusalAt(path, leaf.kind, manifest);
  // SchemaTakesText does not check these rules: they are tested below or in tests/crds/invalid.yaml.
  for (const char* const rule : {"is not between", "is not below the source", "is a folder of the system"}) {
    if (schema.contains("x-kubernetes-validations") && refusal.find(rule) != refusal.npos) return;
  }
  if (refusal.find("is too complex: RE2 needs") != refusal.npos) return;  // An API server cannot run RE2.
  EXPECT_EQ(refusal.empty(), SchemaTakesText(schema, text))
      << leaf.kind << " " << path << ": " << Json(text) << refusal;
}

// Returns a text of this size that matches the pattern. Makes `text` longer, or another seed if that does not match.
std::string OfSize(size_t size, const std::string& text, const std::string& pattern) {
  const std::string halves = std::string(size < 317 ? 63 : 253, 'a') + "/" + std::string(63, 'a');
  for (const std::string& seed :
       {text, std::string("1"), std::string("fd00::/8"), std::string("50.5%"), std::string("10%"), halves}) {
    const size_t more = size - std::min(size, seed.size());
    for (const std::string& made :
         {seed + std::string(more, 'a'), std::string(more, '0') + seed, std::string(more, 'f') + seed,
          seed.substr(0, seed.size() - 1) + std::string(more, '0') + seed.back()}) {
      if (made.size() == size && std::regex_match(made, std::regex(pattern))) return made;
    }
  }
  ADD_FAILURE() << "cannot make " << text << " " << size << " characters long";
  return text;
}

void ExpectSameTexts(const Leaf& leaf, const std::string& path, const Json& schema, const Json& value) {
  for (const char* const text : kTexts) ExpectSameText(leaf, path, schema, text);
  if (schema.contains("enum")) {
    Json manifest = leaf.without;
    Put(manifest, path, "none of them");
    std::string choices;
    for (const Json& choice : schema["enum"]) choices += (choices.empty() ? "" : ", ") + choice.get<std::string>();
    EXPECT_TRUE(RefusalAt(path, leaf.kind, manifest).ends_with("is not one of " + choices)) << path << ": " << choices;
  }
  if (!schema.contains("maxLength") || path == "spec.source.sha256") return;
  const std::string text = value.is_string() ? value.get<std::string>() : "a";
  const std::string longest = OfSize(schema["maxLength"], text, schema.value("pattern", "(.|\\s)*"));
  ExpectSameText(leaf, path, schema, longest);
  Json manifest = leaf.without;
  Put(manifest, path, longest.substr(0, 1) + longest);
  EXPECT_NE(RefusalAt(path, leaf.kind, manifest), "") << path << " may be longer";
}

// Returns the schema with the bounds of its CEL rule as `minimum` and `maximum`.
Json WithBounds(const Json& schema) {
  static const std::regex kRule("self >= ([0-9.]+) && self <= ([0-9.]+)");
  Json out = schema;
  if (!schema.contains("x-kubernetes-validations")) return out;
  const std::string rule = schema["x-kubernetes-validations"][0]["rule"];
  std::smatch bounds;
  if (!std::regex_match(rule, bounds, kRule)) return out;
  out["minimum"] = std::stod(bounds[1].str());
  out["maximum"] = std::stod(bounds[2].str());
  return out;
}

void ExpectSameNumbers(const Leaf& leaf, const std::string& path, const Json& schema) {
  const bool whole = schema.value("type", "") == "integer" || schema.contains("x-kubernetes-int-or-string");
  const auto expect = [&](const Json& number, bool taken) {
    Json manifest = leaf.without;
    Put(manifest, path, number);
    const std::string refusal = RefusalAt(path, leaf.kind, manifest);
    EXPECT_EQ(refusal.empty(), taken) << leaf.kind << " " << path << ": " << number << ": " << refusal;
  };
  if (whole) expect(1.5, false);
  for (const auto& [bound, beyond] : {std::pair{"minimum", -1}, std::pair{"maximum", 1}}) {
    if (!schema.contains(bound)) continue;
    expect(schema[bound], true);
    expect(whole ? Json(schema[bound].get<int64_t>() + beyond) : Json(schema[bound].get<double>() + beyond * 1e-6),
           false);
  }
  if (!schema.contains("minimum")) expect(-1, true);
}

void ExpectSameDurations(const Leaf& leaf, const Bounds& bounds) {
  const auto expect = [&](Duration duration, bool taken) {
    const std::string text = fmt::format("{}us", duration.count());
    EXPECT_EQ(RefusalAt(leaf.path, leaf.kind, leaf.With(text)).empty(), taken) << leaf.path << ": " << text;
  };
  expect(bounds.min, true);
  expect(bounds.max, true);
  if (bounds.min > Duration(0)) expect(bounds.min - Duration(1), false);
  expect(bounds.max + Duration(1), false);
}

void ExpectSameSizes(const Leaf& leaf, const std::string& path, const Json& schema) {
  Json full = Json::array();
  if (schema.value("type", "") == "object") full = Json::object();
  const size_t max = schema.value(full.is_array() ? "maxItems" : "maxProperties", size_t{0});
  ASSERT_GT(max, 0u) << path << " has no limit";
  for (size_t i = 0; i <= max; ++i) {
    if (full.is_array()) full.push_back(i);
    if (full.is_object()) full[fmt::format("k{}", i)] = "1";
  }
  Json manifest = leaf.without;
  Put(manifest, path, full);
  EXPECT_THAT(RefusalAt(path, leaf.kind, manifest),
              testing::HasSubstr(fmt::format("has {} entries, but at most {} are allowed", max + 1, max)));
  if (!schema.contains("minItems")) return;
  EXPECT_EQ(schema["minItems"], 1) << path;
  Put(manifest, path, Json::array());
  EXPECT_NE(RefusalAt(path, leaf.kind, manifest), "") << path << " may be empty";
}

// Tries a value of each type. The parser must reject the types that the schema does not accept, with an error at the
// leaf.
void ExpectSameTypes(const Leaf& leaf, const Json& schema) {
  const std::string type = schema.value("type", "");
  const bool open = type.empty();  // Accepts a text or a number.
  const std::pair<const char*, Json> values[] = {
      {"string", "x"}, {"integer", 7}, {"boolean", true}, {"array", {{1}}}, {"object", {{"k", "v"}}}};
  for (const auto& [name, value] : values) {
    if (name == type || (type == "number" && value.is_number()) ||
        (open && !value.is_boolean() && !value.is_structured())) {
      continue;
    }
    EXPECT_NE(RefusalAt(leaf.path, leaf.kind, leaf.With(value)), "") << leaf.path << " takes " << value;
  }
}

TEST(CrdValues, ParserAcceptsTheSameValues) {
  for (const Leaf& leaf : Leaves()) {
    const std::vector<SchemaNode> nodes = NodesOf(leaf.kind, "spec");
    const Json& schema = *SchemaAt(nodes, leaf.path);
    const std::string type = schema.value("type", "");
    ExpectSameTypes(leaf, schema);
    if (type == "string" || type.empty()) ExpectSameTexts(leaf, leaf.path, schema, leaf.value);
    if (type == "integer" || type == "number" || type.empty()) ExpectSameNumbers(leaf, leaf.path, WithBounds(schema));
    if (const auto bounds = BoundsOf(schema)) ExpectSameDurations(leaf, *bounds);
    if (!IsLeaf(schema) || (type != "array" && type != "object")) continue;
    ExpectSameSizes(leaf, leaf.path, schema);
    const std::string inside = leaf.path + (type == "array" ? "[0]" : ".key");
    const Json& each = type == "array" ? schema["items"] : schema["additionalProperties"];
    if (each.value("type", "") != "integer") ExpectSameTexts(leaf, inside, each, "a");
    if (each.contains("minimum")) ExpectSameNumbers(leaf, inside, each);
  }
}

TEST(CrdValues, EachListAndMapOfObjectsHasTheLimitOfTheParser) {
  std::set<std::string> seen;
  for (const Leaf& leaf : Leaves()) {
    for (const SchemaNode& node : NodesOf(leaf.kind, "spec")) {
      const bool many =
          (node.schema.contains("items") || node.schema.contains("additionalProperties")) && !IsLeaf(node.schema);
      if (many && leaf.path.starts_with(node.path) && seen.insert(node.path).second)
        ExpectSameSizes(leaf, node.path, node.schema);
    }
  }
  EXPECT_GE(seen.size(), 10u);
}

}  // namespace
}  // namespace longshore::api

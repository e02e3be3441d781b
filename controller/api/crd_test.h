// The schemas in crds/ and the leaves (fields without subfields) in tests/crds/leaves.yaml, for tests that compare the
// parser with them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/os/file.h"
#include "controller/api/document.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::api {

inline const std::string kKinds[] = {kModelKind, kServingFleetKind};

inline Path InSources(const std::string& relative) { return source_tree::Root() / relative; }

inline Json LoadOne(const std::string& file) {
  const auto text = ReadFile(InSources(file));
  EXPECT_TRUE(text) << text.error().message;
  const auto documents = LoadYaml(file, *text, 1);
  EXPECT_TRUE(documents) << documents.error().message;
  return documents->at(0).root;
}

// The schema of the whole object, with the properties `spec` and `status`.
inline const Json& SchemaOf(const std::string& kind) {
  static const auto load = [](const char* file) -> Json {
    return LoadOne(file)["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
  };
  static const Json model = load("crds/models.yaml"), fleet = load("crds/servingfleets.yaml");
  return kind == kModelKind ? model : fleet;
}

// A node of a schema with its path, for example "spec.rollout.steps[0].hold"; item 0 stands for all items, and "key"
// for all names that users choose.
struct SchemaNode {
  std::string path;
  Json schema;
};
inline bool IsLeaf(const Json& schema) {
  const auto has_fields = [&schema](const char* of) {
    return schema.contains(of) && schema[of].contains("properties");
  };
  return !schema.contains("properties") && !has_fields("items") && !has_fields("additionalProperties");
}
inline void Collect(const Json& schema, const std::string& path, std::vector<SchemaNode>& nodes) {
  nodes.push_back({path, schema});
  const bool list = schema.contains("items") && !IsLeaf(schema);
  if (list) Collect(schema["items"], path + "[0]", nodes);
  const bool map = schema.contains("additionalProperties") && !IsLeaf(schema);
  if (map) Collect(schema["additionalProperties"], path + ".key", nodes);
  if (!schema.contains("properties")) return;
  for (const auto& [name, child] : schema["properties"].items()) Collect(child, path + "." + name, nodes);
}
inline std::vector<SchemaNode> NodesOf(const std::string& kind, const std::string& part) {
  std::vector<SchemaNode> nodes;
  Collect(SchemaOf(kind)["properties"][part], part, nodes);
  return nodes;
}

inline const Json* SchemaAt(const std::vector<SchemaNode>& nodes, const std::string& path) {
  const auto node = std::ranges::find(nodes, path, &SchemaNode::path);
  return node == nodes.end() ? nullptr : &node->schema;
}

// Returns the JSON pointer for a path: "/spec/steps/0/hold" for "spec.steps[0].hold".
inline Json::json_pointer PointerTo(const std::string& path) {
  std::string pointer = "/";
  for (const char c : path) {
    if (c != ']') pointer += c == '.' || c == '[' ? '/' : c;
  }
  return Json::json_pointer(pointer);
}
inline void Put(Json& root, const std::string& path, const Json& value) { root[PointerTo(path)] = value; }

struct Leaf {
  std::string kind;
  std::string path;
  Json without;  // A manifest, {"spec": ...}, in which the leaf is absent or differs from `value`.
  Json value;
  bool same = false;

  Json With(const Json& other) const {
    Json manifest = without;
    Put(manifest, path, other);
    return manifest;
  }
};

inline Json Base(const std::string& kind) {
  if (kind == kServingFleetKind) return {{"spec", Json::object()}};
  return {{"spec", {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/m"}}}}}};
}

inline const std::vector<Leaf>& Leaves() {
  static const std::vector<Leaf> leaves = [] {
    std::vector<Leaf> all;
    for (const Json& entry : LoadOne("tests/crds/leaves.yaml")) {
      Leaf leaf{entry["kind"], entry["leaf"], Base(entry["kind"]), entry["value"], entry.contains("same")};
      const Json with = entry.value("with", Json::object());
      for (const auto& [path, value] : with.items()) Put(leaf.without, path, value);
      if (entry.contains("from")) Put(leaf.without, leaf.path, entry["from"]);
      all.push_back(std::move(leaf));
    }
    return all;
  }();
  return leaves;
}

// Parses a manifest and writes the parsed spec as JSON.
inline Result<Json> Parsed(const std::string& kind, const Json& manifest, Home home = Home::kCluster) {
  if (kind == kModelKind) {
    ASSIGN_OR_RETURN(const ModelSpec spec, ModelSpecFromJson(manifest["spec"], "m", home));
    return ToJson(spec);
  }
  ASSIGN_OR_RETURN(const ServingFleetSpec spec, ServingFleetSpecFromJson(manifest["spec"], home));
  return ToJson(spec);
}

// Returns the error that the parser reports at this field or within it; "" if it reports none.
inline std::string RefusalAt(const std::string& path, const std::string& kind, const Json& manifest) {
  const auto parsed = Parsed(kind, manifest);
  if (parsed) return "";
  const std::string& message = parsed.error().message;
  const bool there =
      message.starts_with(path) && std::string_view(":.[").find(message[path.size()]) != std::string::npos;
  return there ? message : "";
}

}  // namespace longshore::api

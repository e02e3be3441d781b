// The CRDs and the parser say the same fields, and the samples are good.
#include <gtest/gtest.h>

#include <set>

#include "common/file.h"
#include "controller/api/document.h"
#include "controller/api/format.h"
#include "controller/api/parse.h"

namespace longshore::api {
namespace {

Path Source(const std::string& relative) { return Path(LONGSHORE_SOURCE_DIR) / relative; }

void CollectSchema(const Json& schema, const std::string& path, std::set<std::string>& leaves) {
  if (schema.contains("properties")) {
    for (const auto& [name, child] : schema["properties"].items()) CollectSchema(child, path + "." + name, leaves);
  } else if (schema.contains("items")) {
    CollectSchema(schema["items"], path, leaves);
  } else {
    leaves.insert(path);
  }
}

std::set<std::string> SchemaLeaves(const std::string& file) {
  const auto text = ReadFile(Source(file));
  EXPECT_TRUE(text);
  const auto documents = LoadYaml(file, *text, 1);
  EXPECT_TRUE(documents) << documents.error().message;
  std::set<std::string> leaves;
  const Json& schema = documents->at(0).root["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
  CollectSchema(schema, "spec", leaves);
  return leaves;
}

// Whether the parser knows a field: one that it does not know is named in the error.
bool IsKnown(const std::string& path, bool model) {
  Json root;
  Json* at = &root;
  size_t begin = path.find('.') + 1;
  for (size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = path.find('.', begin);
    const std::string name = path.substr(begin, end - begin);
    if (name == "weight" || name == "hold" || name == "pause") {
      const bool in_steps = path.find(".steps.") != std::string::npos;
      if (in_steps) at = &(*at)[0];
    }
    at = &(*at)[name];
  }
  // A value no field takes, so that a known one is refused for its value and an unknown one for its name.
  *at = Json{{"no such field", 1}};
  if (model && !root.contains("fleet")) root["fleet"] = "cpu";
  if (model && !root.contains("source")) root["source"] = {{"uri", "file:///m"}};
  const auto parsed_model = ModelSpecFromJson(root, "m");
  const auto parsed_fleet = ServingFleetSpecFromJson(root);
  if (model ? parsed_model.has_value() : parsed_fleet.has_value()) return true;
  const std::string& message = model ? parsed_model.error().message : parsed_fleet.error().message;
  return message.find(path + ": is not a field") == std::string::npos;
}

TEST(Crd, HasOnlyFieldsThatTheParserKnows) {
  for (const std::string& leaf : SchemaLeaves("crds/models.yaml")) EXPECT_TRUE(IsKnown(leaf, true)) << leaf;
  for (const std::string& leaf : SchemaLeaves("crds/servingfleets.yaml")) EXPECT_TRUE(IsKnown(leaf, false)) << leaf;
  EXPECT_FALSE(IsKnown("spec.rollout.nothing", true));
}

void CollectJson(const Json& json, const std::string& path, std::set<std::string>& leaves) {
  if (json.is_object() && !json.empty()) {
    for (const auto& [name, child] : json.items()) CollectJson(child, path + "." + name, leaves);
  } else if (json.is_array() && !json.empty() && json[0].is_object()) {
    for (const Json& child : json) CollectJson(child, path, leaves);
  } else if (!json.is_object()) {
    leaves.insert(path);
  }
}

TEST(Crd, HasEveryFieldThatIsWritten) {
  ModelSpec model;
  model.version = 1;
  model.slo = {0.99, std::chrono::milliseconds(1), 0.1};
  model.batching.allowed_batch_sizes = {1};
  model.validation.golden_set = "g";
  model.rollout.assignment_key = "k";
  model.rollout.steps = {{5, Duration(1), true}};
  model.rollout.drift.max = 1;
  model.replicas = 1;
  std::set<std::string> written;
  CollectJson(ToJson(model), "spec", written);
  const auto schema = SchemaLeaves("crds/models.yaml");
  for (const std::string& leaf : written) EXPECT_TRUE(schema.contains(leaf)) << leaf;
  ServingFleetSpec fleet;
  fleet.autoscaling.emplace().prometheus_url = "http://x";
  written.clear();
  CollectJson(ToJson(fleet), "spec", written);
  const auto fleet_schema = SchemaLeaves("crds/servingfleets.yaml");
  for (const std::string& leaf : written) EXPECT_TRUE(fleet_schema.contains(leaf)) << leaf;
}

TEST(Samples, AreGoodManifests) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Source("deploy/samples"))) {
    const auto objects = ParseManifests(entry.path().string(), *ReadFile(entry.path()));
    EXPECT_TRUE(objects) << objects.error().message;
    ++files;
  }
  EXPECT_GE(files, 4);
}

}  // namespace
}  // namespace longshore::api

// Compares the manifests that `longshore import` writes with the files of tests/golden/cli/import. In these files, the
// notes that the command prints for the user are YAML comments.
// LONGSHORE_GOLDEN_WRITE=1 rewrites these files after an intended change. tests/cluster/cli_test.py applies them to a
// real API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "common/os/file.h"
#include "controller/api/document.h"
#include "controller/api/parse.h"
#include "controller/cli/imports/kserve.h"
#include "controller/cli/imports/tfserving.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::cli::imports {
namespace {

using ::testing::HasSubstr;

const Path kFolder = source_tree::Root() / "tests/golden/cli/import";

ImportFile Golden(const std::string& name) { return {name, ReadFile(kFolder / name).value()}; }

void ExpectGolden(const std::string& name, const Result<Imported>& imported) {
  ASSERT_TRUE(imported) << imported.error().message;
  const std::string text = ManifestText(*imported);
  if (std::getenv("LONGSHORE_GOLDEN_WRITE") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(kFolder / name, text));
  }
  EXPECT_EQ(text, ReadFile(kFolder / name).value()) << "differs from " << name;
  EXPECT_TRUE(api::ParseManifests(name, text, api::Home::kCluster));
}

TfServingFiles TfServing(const std::string& models) { return {{{"m.config", models}}, {}, {}}; }

Result<Imported> AllOfTfServing(const ImportTarget& target) {
  return ImportTfServing({{Golden("models.config")}, Golden("batching.config"), Golden("monitoring.config")}, target);
}

TEST(TfServing, BecomesAFleetAndModelsWithNotesForSettingsWithoutACounterpart) {
  ExpectGolden("tfserving.yaml", AllOfTfServing({}));
  const auto plain = ImportTfServing(
      TfServing("model_config_list { config { name: 'm' base_path: '/m' model_platform: 'tensorflow' } }"),
      {.fleet = "cpu", .namespace_ = "vision"});
  EXPECT_EQ(NotesText(*plain), "");
  EXPECT_TRUE(api::ParseManifests("m.yaml", ManifestText(*plain), api::Home::kHost)) << "also on a host";
  EXPECT_THAT(ManifestText(*plain), HasSubstr("namespace: vision"));
  EXPECT_THAT(ManifestText(*plain), HasSubstr("fleet: cpu"));
}

struct Wrong {
  std::string text;
  std::string says;
};

std::string Config(const std::string& more) {
  return "model_config_list {\n config { name: 'm'\n base_path: '/m'\n model_platform: 'tensorflow'\n" + more + " } }";
}

TEST(TfServing, ErrorsNameFileLineAndField) {
  const Wrong wrong[] = {
      {"model_config_list {\n colour: 1 }", "m.config:2:8: "},
      {"custom_model_config { }", "m.config:1: custom_model_config is not supported"},
      {"", "m.config: it contains no model"},
      {"model_config_list {\n config { base_path: '/m' } }",
       "m.config:2: base_path \"/m\" belongs to a model without a name"},
      {"model_config_list { config { name: 'm' base_path: '/m' } }", "model_platform of model m is missing"},
      {"model_config_list { config { name: 'm'\n base_path: '/m'\n model_platform: 'onnx' } }",
       "m.config:3: model_platform \"onnx\" of model m is not supported"},
      {"model_config_list { config { name: 'm' model_type: OTHER } }", "model_type OTHER of model m"},
      {"model_config_list { config { name: 'm' model_platform: 'tensorflow' } }", "base_path of model m is missing"},
      {"model_config_list { config { name: 'm' base_path: 'm' model_platform: 'tensorflow' } }",
       "is not an absolute path"},
      {Config("model_version_policy { specific {} }"), "m.config:5: model_version_policy specific of model m"},
      {Config("version_labels { key: 'a' value: 0 }"), "m.config:2: name: the manifest:"},
      {Config("version_labels { key: 'a' value: 0 }"), "spec.labels.a: 0 is less than 1"},
      {"model_config_list { config { name: 'a/b' base_path: '/m' model_platform: 'tensorflow' } }", "spec.servedName"},
      {Config("} config { name: 'm' base_path: '/m' model_platform: 'tensorflow'"), "\"m\" is defined twice"},
  };
  for (const Wrong& one : wrong) {
    const auto imported = ImportTfServing(TfServing(one.text), {});
    ASSERT_FALSE(imported) << one.text;
    EXPECT_THAT(imported.error().message, HasSubstr(one.says));
    EXPECT_EQ(imported.error().code, Code::kInvalidArgument);
  }
}

TEST(TfServing, ABatchingFileThatIsInvalidForAModelIsAnError) {
  TfServingFiles files = TfServing(Config(""));
  files.batching = ImportFile{"b.config", "max_batch_size { value: 32 }\nallowed_batch_sizes: 8"};
  EXPECT_THAT(ImportTfServing(files, {}).error().message, HasSubstr("b.config: as fields of a Model: spec.batching"));
  files.batching->text = "max_size: 3";
  EXPECT_THAT(ImportTfServing(files, {}).error().message, HasSubstr("b.config:1:9: "));
}

TEST(Kserve, EachServiceBecomesAFleetAndAModel) {
  ExpectGolden("kserve.yaml", ImportKserve({Golden("services.yaml")}, {}));
}

TEST(Kserve, ServicesShareTheFleetThatTheTargetNames) {
  ExpectGolden("kserve_one_fleet.yaml",
               ImportKserve({Golden("services.yaml")}, {.fleet = "main", .namespace_ = "vision"}));
}

constexpr const char* kService = R"(apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: digits}
spec:
  predictor:
    tensorflow: {storageUri: "pvc://models/digits"}
)";

TEST(Kserve, ErrorsNameFileLineAndField) {
  const std::string service = kService;
  const std::string head = service.substr(0, service.find("    tensorflow"));
  const Wrong wrong[] = {
      {service + "    tiemout: 3\n", "s.yaml:7: spec.predictor.tiemout: is not a field; did you mean timeout?"},
      {service + "  colour: red\n", "s.yaml:7: spec.colour: "},
      {"apiVersion: v1\nkind: Secret\n", "s.yaml:2: kind: \"Secret\" is not one of InferenceService"},
      {head + "    sklearn: {}\n", "s.yaml:6: spec.predictor.sklearn: is not supported"},
      {head + "    model: {modelFormat: {name: onnx}}\n",
       "spec.predictor.model.modelFormat.name: onnx is not supported"},
      {head + "    minReplicas: 1\n", "exactly one of model and tensorflow is required"},
      {head + "    tensorflow: {}\n", "spec.predictor.tensorflow.storageUri: is required"},
      {service + "    canaryTrafficPercent: 101\n", "canaryTrafficPercent: 101 is not between 0 and 100"},
      {service + "    nodeSelector: {a: [1]}\n", "s.yaml:3: InferenceService digits: the manifest:"},
      {service + "---\n" + service, "s.yaml:10: InferenceService digits: it is defined twice"},
      {"", "s.yaml: it contains no InferenceService"},
      {"a: [", "s.yaml:1: not YAML"},
  };
  for (const Wrong& one : wrong) {
    const auto imported = ImportKserve({{"s.yaml", one.text}}, {});
    ASSERT_FALSE(imported) << one.text;
    EXPECT_THAT(imported.error().message, HasSubstr(one.says));
  }
  std::string long_name = kService;
  long_name.replace(long_name.find("digits"), 6, std::string(50, 'd'));
  EXPECT_THAT(ImportKserve({{"s.yaml", long_name}}, {}).error().message, HasSubstr("use --fleet"));
  EXPECT_TRUE(ImportKserve({{"s.yaml", long_name}}, {.fleet = "main", .namespace_ = {}}));
}

// The manifests without the line numbers in their notes, which change when a line of the input is removed.
std::string TextWithoutLines(const Result<Imported>& imported) {
  if (!imported) return "error";
  return std::regex_replace(ManifestText(*imported), std::regex(":[0-9]+: "), ": ");
}

void CollectLeaves(const Json& value, const Json::json_pointer& at, std::vector<Json::json_pointer>& leaves) {
  if (!value.is_structured() || value.empty()) return leaves.push_back(at);
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) CollectLeaves(item, at / key, leaves);
  } else {
    for (size_t i = 0; i < value.size(); ++i) CollectLeaves(value[i], at / i, leaves);
  }
}

// Whether the leaf belongs to an object for which the import writes a single note.
bool IsInOneNote(const std::string& at) {
  for (const char* whole : {"/logger/", "/transformer/", "/labelSelector/", "/env/", "/storage/", "/affinity/"}) {
    if (at.find(whole) != std::string::npos) return true;
  }
  return false;
}

// Whether the leaf has no effect on the import, because the API server writes it or its value is the default.
bool HasNoEffect(const std::string& at) {
  if (at == "/apiVersion") return true;                                   // The version of the List object.
  if (at == "/items/1/spec/predictor/canaryTrafficPercent") return true;  // 100, the default.
  for (const char* nothing : {"/uid", "/resourceVersion", "last-applied-configuration", "/status/"}) {
    if (at.find(nothing) != std::string::npos) return true;
  }
  return false;
}

TEST(Kserve, DropsNoSettingSilently) {
  const ImportFile golden = Golden("services.yaml");
  const auto documents = api::LoadYaml(golden.name, golden.text, 10).value();
  size_t leaves_seen = 0;
  for (const api::YamlDocument& document : documents) {
    const std::string before = TextWithoutLines(ImportKserve({{"s.yaml", api::EmitYaml(document.root)}}, {}));
    ASSERT_NE(before, "error");
    std::vector<Json::json_pointer> leaves;
    CollectLeaves(document.root, Json::json_pointer(), leaves);
    for (const Json::json_pointer& leaf : leaves) {
      if (IsInOneNote(leaf.to_string()) || HasNoEffect(leaf.to_string())) continue;
      Json without = document.root;
      without = without.patch(Json::array({{{"op", "remove"}, {"path", leaf.to_string()}}}));
      EXPECT_TRUE(TextWithoutLines(ImportKserve({{"s.yaml", api::EmitYaml(without)}}, {})) != before)
          << leaf.to_string();
      ++leaves_seen;
    }
  }
  EXPECT_GT(leaves_seen, 50u);
}

TEST(TfServing, DropsNoSettingSilently) {
  const std::string before = TextWithoutLines(AllOfTfServing({}));
  const auto without = [](const ImportFile& file, size_t line) {
    std::istringstream in(file.text);
    std::string text;
    std::string next;
    for (size_t i = 0; std::getline(in, next); ++i) text += i == line ? "" : next + "\n";
    return ImportFile{file.name, text};
  };
  const ImportFile models = Golden("models.config");
  const ImportFile batching = Golden("batching.config");
  const ImportFile monitoring = Golden("monitoring.config");
  for (size_t line = 0; line < 10; ++line) {
    const auto imported = ImportTfServing({{models}, without(batching, line), monitoring}, {});
    EXPECT_TRUE(TextWithoutLines(imported) != before) << "line " << line << " of the batching";
  }
  const auto lines = static_cast<size_t>(std::count(models.text.begin(), models.text.end(), '\n'));
  for (size_t line = 0; line < lines; ++line) {
    if (line == 7) continue;   // Names a version that a label keeps loaded anyway.
    if (line == 17) continue;  // Is inside logging_config, which gets a single note.
    const auto imported = ImportTfServing({{without(models, line)}, batching, monitoring}, {});
    EXPECT_TRUE(TextWithoutLines(imported) != before) << "line " << line << " of the models";
  }
}

TEST(Imported, ANoteIsAlwaysOneComment) {
  ImportedDocument document = NewDocument("Model", "m", "", Json::object());
  document.notes = {"a\nspec: {evil: true}\rb"};
  EXPECT_EQ(NotesText({document}), "a spec: {evil: true} b\n");
  EXPECT_THAT(ManifestText({document}), HasSubstr("# a spec: {evil: true} b\napiVersion"));
}

TEST(Imported, ObjectNamesAreTheMostSimilarValidNames) {
  EXPECT_EQ(ObjectName("My_Model.v2", kModelNameMax), "my-model-v2");
  EXPECT_EQ(ObjectName("__", kModelNameMax), "model");
  EXPECT_EQ(ObjectName("abc-def", 4), "abc");
}

}  // namespace
}  // namespace longshore::cli::imports

// The status that the controller writes must match the schema. An API server drops unknown fields, and rejects the
// whole status if a value has another type.
#include <regex>
#include <set>

#include "controller/api/crd_test.h"

namespace longshore::api {
namespace {

const TimePoint kThen = FromUnixMillis(1700000000123);

ModelStatus FullModelStatus() {
  ModelStatus status;
  status.conditions.push_back({"Ready", "True", "Serving", "because", 7, kThen});
  status.rollout.analysis = Json{{"x", 1}};
  status.rollout.verdict.numbers["e"] = 2.5;
  status.failed.push_back({3, "d", 7, "GoldenSet", "m", kThen});
  status.history.push_back({kThen, 3, "Started", "m"});
  status.digests[3] = "abc";
  status.sources[3] = {"https://h/m.tar", "0123"};
  status.command = Command{"promote", 7, 1};
  status.commands.push_back({"undo", 7, 1, "a-1", kThen, 2, 4, 3, "anna"});
  status.answers.push_back({"a-0", "retry", CommandResult::kRefused, "m", kThen});
  status.accepted_commands = {"pause", "abort"};
  status.observed_fleet = {"u-1", 7, 3};
  status.traffic = {kThen, std::chrono::hours(1), 12.5, 0.01};
  status.golden_set = {.version = 3, .settings = "0123456789abcdef", .last_run = kThen};
  status.golden_set.failures.push_back({"n", kThen, true, "m", kThen});
  status.golden_set.request = {"a-0", kThen, true, 1, 2, 3, {{"n", GoldenRunState::kFailed, "m"}}};
  status.rollout.undo_generation = 7;
  status.rollout.shadow_done = true;
  status.nodes.push_back({"n", "1:Ready"});
  return status;
}

ServingFleetStatus FullFleetStatus() {
  ServingFleetStatus status;
  status.conditions.push_back({"Ready", "True", "AllNodesReady", "because", 7, kThen});
  status.selector = "longshore.dev/fleet=cpu";
  status.controller_lease = "longshore/longshore-controller";
  status.image = "longshore/node";
  status.image_from_spec = true;
  status.autoscale.reason = "Latency";
  status.autoscale.recommendations.push_back({kThen, 2});
  status.autoscale.asked.push_back({kThen, 3});
  status.autoscale.start_seconds.push_back(41.5);
  status.autoscale.waiting_since = status.autoscale.checked_at = kThen;
  status.autoscale.utilization_limit = {0.5, kThen, "Latency of digits", 0.05};
  status.nodes.push_back({"n", 12, "Ready", "127.0.0.1:2"});
  return status;
}

bool IsOf(const Json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  return type == (value.is_number() ? "number" : value.type_name());
}

void ExpectWithinLimits(const Json& value, const Json& schema, const std::string& path) {
  if (value.is_array()) {
    EXPECT_LE(value.size(), schema.value("maxItems", value.size())) << path;
  }
  if (!value.is_string()) return;
  const std::string& text = value.get_ref<const std::string&>();
  // `maxLength` counts characters; a text has at least as many bytes as characters.
  EXPECT_LE(text.size(), schema.value("maxLength", text.size())) << path;
  EXPECT_GE(text.size(), schema.value("minLength", size_t{0})) << path;
  if (!schema.contains("pattern")) return;
  EXPECT_TRUE(std::regex_search(text, std::regex(schema["pattern"].get<std::string>()))) << path << " is " << value;
}

// Expects that the value matches the schema. Adds the paths that occur in the value to `written`.
void ExpectFits(const Json& value, const Json& schema, const std::string& path, std::set<std::string>& written) {
  written.insert(path);
  EXPECT_TRUE(IsOf(value, schema["type"])) << path << " is " << value;
  ExpectWithinLimits(value, schema, path);
  if (value.is_array()) {
    for (const Json& item : value) ExpectFits(item, schema["items"], path + "[0]", written);
  }
  if (!value.is_object() || schema.contains("x-kubernetes-preserve-unknown-fields")) return;
  for (const auto& [name, child] : value.items()) {
    const bool map = schema.contains("additionalProperties");
    ASSERT_TRUE(map || schema["properties"].contains(name)) << path << "." << name << " is not in the schema";
    if (map) ExpectFits(child, schema["additionalProperties"], path + ".key", written);
    if (!map) ExpectFits(child, schema["properties"][name], path + "." + name, written);
  }
}

void ExpectWritesTheSchema(const std::string& kind, const Json& status) {
  std::set<std::string> written, there;
  ExpectFits(status, SchemaOf(kind)["properties"]["status"], "status", written);
  for (const SchemaNode& node : NodesOf(kind, "status")) there.insert(node.path);
  for (const std::string& path : there)
    EXPECT_TRUE(written.contains(path)) << kind << " " << path << " is never written";
}

TEST(CrdStatus, SchemaHasTheFieldsThatTheControllerWrites) {
  ExpectWritesTheSchema(kModelKind, ToJson(FullModelStatus()));
  ExpectWritesTheSchema(kServingFleetKind, ToJson(FullFleetStatus()));
}

TEST(CrdStatus, WrittenStatusReadsBack) {
  const Json model = ToJson(FullModelStatus());
  EXPECT_EQ(ToJson(*ModelStatusFromJson(model)), model);
  const Json fleet = ToJson(FullFleetStatus());
  EXPECT_EQ(ToJson(*ServingFleetStatusFromJson(fleet)), fleet);
}

TEST(CrdStatus, TextIsCutToTheLengthOfTheSchema) {
  for (const char* character : {"a", "ж", "模"}) {
    std::string text;
    while (text.size() < 100'000) text += character;
    ModelStatus status = FullModelStatus();
    SetCondition(status.conditions, {"Ready", "False", "NoNodes", text, 7, kThen});
    ExpectWritesTheSchema(kModelKind, ToJson(status));
    EXPECT_GT(status.conditions[0].message.size(), kConditionMessageBytesMax - 10);
    EXPECT_TRUE(text.starts_with(status.conditions[0].message.substr(0, 30'000)));
  }
}

// tests/crds writes the examples in status.yaml to a real API server.
TEST(CrdStatus, ExamplesAreWhatTheControllerWrites) {
  for (const Json& example : LoadOne("tests/crds/status.yaml")) {
    const Json written = example["kind"] == kModelKind ? ToJson(FullModelStatus()) : ToJson(FullFleetStatus());
    EXPECT_EQ(example["status"], written) << Json{{"kind", example["kind"]}, {"status", written}}.dump();
  }
}

}  // namespace
}  // namespace longshore::api

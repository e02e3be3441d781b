#include "controller/api/parse.h"

#include <gmock/gmock.h>

#include "common/base/text.h"
#include "controller/api/format.h"

namespace longshore::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kFull = R"(apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: digits, namespace: vision, labels: {team: a}}
spec:
  fleet: cpu
  servedName: my_digits
  source: {uri: "file:///models/digits"}
  version: 3
  labels: {canary: 3, "stable": 2}
  slo: {latency: {quantile: 0.99, target: 50ms}, errorRate: "0.1%"}
  batching: {maxBatchSize: 8, maxDelay: 2ms, allowedBatchSizes: [1, 4, 8], maxQueue: 64}
  warmup: {source: None}
  validation:
    goldenSet: {path: golden, metric: top1, minimum: 0.95, tolerance: {relative: 1e-3}}
    nonFinite: Allow
    deterministic: true
  rollout:
    strategy: Canary
    assignment: {by: Header, key: x-user-id}
    hold: 5m
    requestsMin: 250
    steps:
    - weight: 5
    - weight: 25
      hold: 500ms
    - {weight: 50, pause: Manual, proof: None}
    analysis:
      errorRate: {tolerance: 0.01, relativeTolerance: 0.25}
      latency: {tolerance: 0.2}
      drift: {max: 0.01}
      pairs: {share: 0.5, budget: 0.2}
      patience: 2h
    onInconclusive: Rollback
    controllerSilenceMax: 20m
    maxUnavailable: 2
    onFailure: Pause
    progressDeadline: 1h
    paused: true
  replicas: 2
)";

ModelSpec ParseModel(const std::string& text) {
  const auto objects = ParseManifests("m.yaml", text);
  EXPECT_TRUE(objects) << objects.error().message;
  return objects ? std::get<ModelSpec>(objects->at(0).spec) : ModelSpec{};
}

std::string MessageOf(const std::string& text) {
  const auto objects = ParseManifests("m.yaml", text);
  EXPECT_FALSE(objects) << "accepted: " << text;
  return objects ? "" : objects.error().message;
}

// Returns the manifest of a Model with these lines after the required lines of its spec. The first of `lines` is line 5
// of the manifest.
std::string WithSpec(const std::string& lines) {
  return "apiVersion: longshore.dev/v1alpha1\nkind: Model\nmetadata: {name: digits}\n"
         "spec: \n" +
         lines + "\n  fleet: cpu\n  source: {uri: \"file:///m\"}\n";
}
std::string WithFleetSpec(const std::string& lines) {
  return "apiVersion: longshore.dev/v1alpha1\nkind: ServingFleet\nmetadata: {name: cpu}\nspec:\n" + lines + "\n";
}

// The messages about fields without value: the line and the path below spec of each.
std::string WithoutValue(const std::vector<std::pair<int, std::string>>& fields) {
  std::string text;
  for (const auto& [line, path] : fields)
    text += fmt::format("{}m.yaml:{}: spec.{}: has no value: write one, or leave out the line",
                        text.empty() ? "" : "\n", line, path);
  return text;
}

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(Parse, ReadsEachFieldOfAModel) {
  const ModelSpec spec = ParseModel(kFull);
  EXPECT_EQ(spec.served_name, "my_digits");
  EXPECT_EQ(spec.version, 3);
  EXPECT_EQ(spec.version_labels.at("stable"), 2);
  EXPECT_EQ(spec.slo.latency_target, std::chrono::milliseconds(50));
  EXPECT_DOUBLE_EQ(*spec.slo.error_rate, 0.001);
  EXPECT_THAT(spec.batching.allowed_batch_sizes, testing::ElementsAre(1, 4, 8));
  EXPECT_FALSE(spec.warm_up);
  EXPECT_DOUBLE_EQ(spec.validation.relative_tolerance, 1e-3);
  EXPECT_FALSE(spec.validation.non_finite_reject);
  EXPECT_EQ(spec.rollout.assignment_by, AssignmentBy::kHeader);
  EXPECT_EQ(spec.rollout.hold, std::chrono::minutes(5));
  EXPECT_EQ(spec.rollout.steps.at(1).hold, std::chrono::milliseconds(500));
  EXPECT_TRUE(spec.rollout.steps.at(2).manual_pause);
  EXPECT_EQ(spec.rollout.steps.at(2).proof, Proof::kNone);
  EXPECT_TRUE(spec.rollout.error_rate.enabled);
  EXPECT_DOUBLE_EQ(spec.rollout.error_rate.tolerance, 0.01);
  EXPECT_DOUBLE_EQ(spec.rollout.error_rate.relative_tolerance, 0.25);
  EXPECT_DOUBLE_EQ(*spec.rollout.drift.max, 0.01);
  EXPECT_DOUBLE_EQ(spec.rollout.pairs.share, 0.5);
  EXPECT_DOUBLE_EQ(spec.rollout.pairs.budget, 0.2);
  EXPECT_EQ(spec.rollout.patience, std::chrono::hours(2));
  EXPECT_EQ(spec.rollout.on_inconclusive, OnInconclusive::kRollback);
  EXPECT_EQ(spec.rollout.controller_silence_max, std::chrono::minutes(20));
  EXPECT_EQ(spec.rollout.max_unavailable, (MaxUnavailable{.value = 2, .is_percent = false}));
  EXPECT_EQ(spec.rollout.on_failure, OnFailure::kPause);
  EXPECT_TRUE(spec.rollout.paused);
  EXPECT_EQ(spec.replicas, 2);
}

TEST(MaxUnavailable, IsANumberOfNodesOrAShareThatIsRoundedDown) {
  const auto of = [](const std::string& value, int nodes) {
    return ParseModel(WithSpec("  rollout: {maxUnavailable: " + value + "}")).rollout.max_unavailable.Of(nodes);
  };
  const MaxUnavailable by_default = ParseModel(WithSpec("")).rollout.max_unavailable;
  EXPECT_EQ(by_default.Of(9), 0) << "10 % is the default";
  EXPECT_EQ(by_default.Of(10), 1);
  EXPECT_EQ(by_default.Of(100000), 10000);
  EXPECT_EQ(of("\"0%\"", 100), 0);
  EXPECT_EQ(of("50%", 3), 1);
  EXPECT_EQ(of("2", 3), 2);
  EXPECT_EQ(of("0", 100), 0);
}

TEST(Proof, TheLastStepRequiresOneUnlessAToleranceIsZero) {
  const auto proof_of = [](const std::string& rollout, size_t step) {
    return ProofOf(ParseModel(WithSpec("  rollout: " + rollout)).rollout, step);
  };
  EXPECT_EQ(proof_of("{}", 1), Proof::kSampled);
  EXPECT_EQ(proof_of("{}", 2), Proof::kRequired);
  EXPECT_EQ(proof_of("{analysis: {latency: {tolerance: 0}}}", 2), Proof::kSampled);
  EXPECT_EQ(proof_of("{analysis: {latency: {tolerance: 0, enabled: false}}}", 2), Proof::kRequired);
  EXPECT_EQ(proof_of("{analysis: {errorRate: {tolerance: 0}}}", 2), Proof::kRequired) << "half of stable's is left";
  EXPECT_EQ(proof_of("{analysis: {errorRate: {tolerance: 0, relativeTolerance: 0}}}", 2), Proof::kSampled);
  EXPECT_EQ(proof_of("{steps: [{weight: 5, proof: Required}, {weight: 50, proof: None}]}", 0), Proof::kRequired);
  EXPECT_EQ(proof_of("{steps: [{weight: 5, proof: Required}, {weight: 50, proof: None}]}", 1), Proof::kNone);
}

TEST(Parse, ArchiveSourceIsAllowedInStandaloneMode) {
  const std::string sha256(64, 'a');
  const ModelSpec spec =
      ParseModel(Replaced(WithSpec(""), "uri: \"file:///m\"", "uri: \"https://h/m.tar\", sha256: " + sha256));
  EXPECT_EQ(spec.source_uri, "https://h/m.tar");
  EXPECT_EQ(spec.source_sha256, sha256);
}

TEST(Parse, SetsDefaultsForAbsentFields) {
  const ModelSpec spec = ParseModel(WithSpec(""));
  EXPECT_EQ(spec.served_name, "digits");
  EXPECT_EQ(spec.version, std::nullopt);
  EXPECT_EQ(spec.rollout.steps.size(), 3u);
  EXPECT_EQ(spec.batching.max_batch_size, 1);
}

TEST(Parse, ModelReadsBackAsItWasWritten) {
  for (const std::string& text :
       {std::string(kFull), WithSpec(""), WithSpec("  rollout: {strategy: Immediate}\n  batching: {mode: Auto}")}) {
    const Json written = ToJson(ParseModel(text));
    const auto again = ModelSpecFromJson(written, "digits");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(ToJson(*again), written);
  }
}

TEST(Parse, YamlDocumentReadsBack) {
  const auto objects = ParseManifests("m.yaml", kFull);
  ASSERT_TRUE(objects);
  const std::string yaml = ToYaml(Document(kModelKind, objects->at(0).metadata, SpecToJson(objects->at(0)), nullptr));
  EXPECT_EQ(ToJson(ParseModel(yaml)), SpecToJson(objects->at(0))) << yaml;
}

TEST(Parse, ErrorNamesFileLineFieldAndAllowedValues) {
  EXPECT_EQ(MessageOf(Replaced(kFull, "    - weight: 25", "    - weight: 120")),
            "m.yaml:24: spec.rollout.steps[1].weight: 120 is not between 0.01 and 100");
}

TEST(Parse, RefusesEachMistakeWithItsReason) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {WithSpec("  flet: cpu"), "m.yaml:5: spec.flet: is not a field; did you mean fleet?"},
      {Replaced(kFull, "  source:", "  sorce:"), "m.yaml:7: spec.sorce: is not a field; did you mean source?"},
      {Replaced(kFull, "metadata:", "metdata:"), "m.yaml:3: metdata: is not a field; did you mean metadata?"},
      {Replaced(kFull, "apiVersion:", "apiVerson:"), "m.yaml:1: apiVerson: is not a field; did you mean apiVersion?"},
      {Replaced(kFull, "  fleet: cpu\n", "  flete: cpu\n"), "spec.flete: is not a field; did you mean fleet?"},
      {WithSpec("  rollout: {step: []}"), "m.yaml:5: spec.rollout.step: is not a field; did you mean steps?"},
      {WithSpec("  rollout: {hold: 30}"), "m.yaml:5: spec.rollout.hold: 30 has no unit"},
      {WithSpec("  rollout: {hold: 30parsecs}"), "\"30parsecs\" is not a duration"},
      {WithSpec("  rollout: {strategy: Shadow, steps: [{weight: 5}]}"), "has no effect with `strategy: Shadow`"},
      {WithSpec("  rollout: {strategy: Shadow, onInconclusive: Promote}"), "Promote is impossible with"},
      {WithSpec("  rollout: {strategy: Immediate, shadow: {}}"), "shadow: has no effect with `strategy: Immediate`"},
      {WithSpec("  rollout: {shadow: {share: 0}}"), "shadow.share: 0 leaves no pairs"},
      {WithSpec("  rollout: {shadow: {proof: Required}, analysis: {latency: {tolerance: 0}}}"),
       "shadow.proof: Required is impossible with a tolerance of 0 or with rows: 1"},
      {WithSpec("  rollout: {shadow: {proof: Required, compare: [{output: o, measure: Top1, rows: 1}]}}"),
       "shadow.proof: Required is impossible with a tolerance of 0 or with rows: 1"},
      {WithSpec(
           "  rollout: {steps: [{weight: 5, proof: Required}], shadow: {compare: [{output: o, measure: Top1, rows: "
           "1}]}}"),
       "steps[0].proof: Required is impossible with a tolerance of 0 or with rows: 1"},
      {WithSpec("  rollout: {shadow: {compare: [{output: o, measure: TopK}]}}"), "compare[0].k: is required"},
      {WithSpec("  rollout: {shadow: {compare: [{output: o, measure: Cosine, k: 5}]}}"),
       "compare[0].k: has no effect with measure Cosine: it belongs to TopK"},
      {WithSpec("  rollout: {shadow: {compare: [{output: o, measure: Top1}, {output: o, measure: Top1}]}}"),
       "compare[1].output: \"o\" is compared by Top1 already"},
      {WithSpec("  rollout: {preview: {}}"), "preview.header: preview has no effect without `strategy: BlueGreen`"},
      {WithSpec("  rollout: {strategy: BlueGreen, assignment: {by: Header, key: X-Longshore-Preview}}"),
       "preview.header: \"x-longshore-preview\" is assignment.key, too"},
      {WithSpec("  rollout: {strategy: BlueGreen, preview: {header: Authorization}}"),
       "preview.header: \"authorization\" is not sent to other nodes"},
      {WithSpec("  rollout: {strategy: BlueGreen, preview: {header: cookie}}"),
       "preview.header: \"cookie\" holds all cookies of a request: use a match rule with cookies"},
      {WithSpec("  rollout: {routes: [{name: r, match: {headers: {Cookie: {regex: a}}}, to: Stable}]}"),
       "routes[0].match.headers.Cookie: holds all cookies of a request"},
      {WithSpec("  rollout: {routes: [{name: r, match: {headers: {x: {regex: '[ab]*a[ab]{100}'}}}, to: Stable}]}"),
       "routes[0].match.headers.x.regex: \"[ab]*a[ab]{100}\" is too complex: RE2 needs 108 instructions for it, and at "
       "most 100 are allowed"},
      {WithSpec("  rollout: {strategy: BlueGreen}\n  labels: {preview: 2}"),
       "labels: with `strategy: BlueGreen` the label preview names the candidate"},
      {WithSpec("  rollout: {strategy: Canarry}"), "\"Canarry\" is not one of Canary, Immediate, Shadow, BlueGreen"},
      {WithSpec("  rollout: {analysis: {queries: []}}"), "spec.rollout.analysis.queries: is planned but not supported"},
      {WithSpec("  rollout: {steps: []}"), "spec.rollout.steps: is empty"},
      {WithSpec("  rollout: {steps: [{weight: 5}, {weight: 5}]}"),
       "steps[1].weight: 5 is not above the previous weight 5"},
      {WithSpec("  rollout: {steps: [{weight: 5, pause: 30s}]}"), "\"30s\" is not one of Manual"},
      {WithSpec("  rollout: {strategy: Immediate, steps: [{weight: 5}]}"), "has no effect with `strategy: Immediate`"},
      {WithSpec("  rollout: {steps: [{weight: 5, proof: Full}]}"), "\"Full\" is not one of Required, Sampled, None"},
      {WithSpec("  rollout: {steps: [{weight: 5, proof: Required}], analysis: {latency: {tolerance: 0}}}"),
       "spec.rollout.steps[0].proof: Required is impossible with a tolerance of 0"},
      {WithSpec("  rollout: {steps: [{weight: 5, proof: Required}], analysis: {errorRate: {tolerance: 0, "
                "relativeTolerance: 0}}}"),
       "spec.rollout.steps[0].proof: Required is impossible with a tolerance of 0"},
      {WithSpec("  rollout: {analysis: {errorRate: {tolerance: 5}}}"), "errorRate.tolerance: 5 is not between 0 and 1"},
      {WithSpec("  rollout: {analysis: {patience: 1d}}"), "\"1d\" is not a duration"},
      {WithSpec("  rollout: {maxUnavailable: 51%}"),
       "maxUnavailable: \"51%\" is not a number of nodes, as in 1, or a whole percentage from \"0%\" to \"50%\""},
      {WithSpec("  rollout: {maxUnavailable: -1}"), "maxUnavailable: -1 is not between 0 and 100000"},
      {WithSpec("  rollout: {maxUnavailable: 0.5}"), "maxUnavailable: 0.5 is not a number of nodes"},
      {WithSpec("  rollout: {analysis: {pairs: {share: 2}}}"), "pairs.share: 2 is not between 0 and 1"},
      {WithSpec("  rollout: {onInconclusive: Abort}"), "\"Abort\" is not one of Pause, Promote, Rollback"},
      {WithSpec("  rollout: {controllerSilenceMax: 10}"), "controllerSilenceMax: 10 has no unit"},
      {WithSpec("  rollout: {assignment: {by: Header}}"), "spec.rollout.assignment.key: is required"},
      {WithSpec("  rollout: {assignment: {key: a}}"), "has no effect without"},
      {WithSpec("  version: 1\n  versionPolicy: Latest"), "m.yaml:6: spec.versionPolicy: version is set, too"},
      {WithSpec("  versionPolicy: All"), "\"All\" is not one of Latest"},
      {WithSpec("  version: 0"), "spec.version: 0 is less than 1"},
      {WithSpec("  version: \"3\""), "spec.version: \"3\" is not a whole number"},
      {WithSpec("  replicas: 0"), "is loaded on its first request"},
      {WithSpec("  slo: {errorRate: \"120%\"}"), "\"120%\" is not a share"},
      {WithSpec("  slo: {latency: {quantile: 0.9}}"), "spec.slo.latency.target: is required"},
      {WithSpec("  batching: {mode: Auto, maxBatchSize: 4}"), "mode sets this field"},
      {WithSpec("  batching: {maxBatchSize: 4, allowedBatchSizes: [2, 8]}"),
       "allowedBatchSizes[1]: 8 is above maxBatchSize, 4"},
      {WithSpec("  batching: {maxBatchSize: 4, allowedBatchSizes: [2, 2, 4]}"),
       "[1]: 2 is not above the previous size, 2"},
      {WithSpec("  batching: {maxBatchSize: 4, allowedBatchSizes: [0, 4]}"), "allowedBatchSizes[0]: 0 is below 1"},
      {WithSpec("  validation: {goldenSet: {path: /etc/passwd}}"), "is not below the source"},
      {WithSpec("  servedName: a/b"), "\"a/b\" is not a name of letters, digits, _ - ."},
      {WithSpec("  labels: {a: x}"), "m.yaml:5: spec.labels.a: \"x\" is not a whole number"},
      {WithSpec("  fleet: gpu"), "m.yaml:6: spec.fleet: written twice"},
      {Replaced(kFull, "file:///models/digits", "s3://bucket/digits"),
       "\"s3://bucket/digits\" is not file:///FOLDER or https://HOST/ARCHIVE"},
      {Replaced(kFull, "  fleet: cpu\n", ""), "spec.fleet: is required"},
      {Replaced(kFull, "kind: Model", "kind: Modell"), "m.yaml:2: kind: \"Modell\" is not one of Model, ServingFleet"},
      {Replaced(kFull, "name: digits", "name: Digits"), "m.yaml:3: metadata.name: \"Digits\" is not a name"},
      {Replaced(kFull, "name: digits", "name: digits, uid: x"), "is set when the object is stored"},
      {std::string(kFull) + "status: {a: 1}\n", "status: is written by the controller"},
      {std::string(kFull) + "---\n" + kFull, "Model vision/digits is in this file twice"},
      {"a: [1", "m.yaml:"},
      {WithFleetSpec("  replicas: {min: 3, max: 2}"), "spec.replicas.max: 2 is below min 3"},
      {WithFleetSpec("  replicas: 2"), "m.yaml:5: spec.replicas: 2 is not a mapping of fields: write {min: 2}"},
      {WithFleetSpec("  engine: yes"), "spec.engine: \"yes\" is not a mapping of fields"},
      {WithSpec("  rollout: Immediate"), "\"Immediate\" is not a mapping of fields: write {strategy: \"Immediate\"}"},
      {WithSpec("  batching: Auto"), "\"Auto\" is not a mapping of fields: write {mode: \"Auto\"}"},
      {WithSpec("  slo: {latency: 50ms}"), "\"50ms\" is not a mapping of fields: write {target: \"50ms\"}"},
      {WithSpec("  rollout: {analysis: {errorRate: 0.01}}"),
       "0.01 is not a mapping of fields: write {tolerance: 0.01}"},
      {WithSpec("  rollout: {steps: [10]}"), "steps[0]: 10 is not a mapping of fields: write {weight: 10}"},
      {Replaced(kFull, "{uri: \"file:///models/digits\"}", "file:///models/digits"),
       "m.yaml:7: spec.source: \"file:///models/digits\" is not a mapping of fields: write {uri: "},
      {WithFleetSpec("  replicas: {min: 1, max: 2}"), "2 has no effect without autoscaling"},
      {WithFleetSpec("  image: x"), "spec.image: is for fleets in a cluster only; here nodes are processes"},
      {Replaced(kFull, "file:///models/digits", "https://h/digits.tar"),
       "is required for an https:// source, and not allowed for a file:// source"},
      {WithFleetSpec("  ports: {grpc: 80000}"), "spec.ports.grpc: 80000 is not between 0 and 65535"},
      {WithFleetSpec("  autoscaling: {prometheus: {}}"), "spec.autoscaling.prometheus.url: is required"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(MessageOf(text), HasSubstr(message)) << text;
    EXPECT_THAT(MessageOf(text), Not(HasSubstr("\n"))) << text;
  }
}

// Whoever forgot the value of `version:` does not ask for the newest version.
TEST(Parse, RefusesAFieldOfOneValueWithoutValue) {
  EXPECT_EQ(MessageOf(WithSpec("  version:")), WithoutValue({{5, "version"}}));
  EXPECT_EQ(
      MessageOf(WithSpec("  version: null\n  replicas: ~\n  rollout:\n    hold:\n    strategy:\n    steps: [{weight: "
                         "5, hold: }]\n    maxUnavailable:\n    analysis: {errorRate: {enabled: }}\n"
                         "  slo: {errorRate: , latency: {target: }}\n  labels: {live: }")),
      WithoutValue({{5, "version"},
                    {6, "replicas"},
                    {8, "rollout.hold"},
                    {9, "rollout.strategy"},
                    {10, "rollout.steps[0].hold"},
                    {11, "rollout.maxUnavailable"},
                    {12, "rollout.analysis.errorRate.enabled"},
                    {13, "slo.latency.target"},
                    {13, "slo.errorRate"},
                    {14, "labels.live"}}));
  EXPECT_THAT(MessageOf(Replaced(kFull, "fleet: cpu", "fleet:")), HasSubstr("m.yaml:5: spec.fleet: has no value"));
  EXPECT_THAT(MessageOf(WithSpec("  rollout: {steps: [~]}")), HasSubstr("spec.rollout.steps[0]: has no value"));
}

// People comment out all fields of a mapping. In an object of the API server null is the same as no field.
TEST(Parse, NullIsNoFieldInAMappingAndInAStoredObject) {
  const ModelSpec empty =
      ParseModel(WithSpec("  slo:\n  labels:\n  rollout:\n    analysis: {errorRate: }\n    steps:"));
  EXPECT_EQ(empty.rollout.error_rate, AnalysisErrorRate{});
  EXPECT_EQ(empty.rollout.steps.size(), 3u);
  const auto spec = ModelSpecFromJson(
      {{"fleet", "cpu"}, {"source", {{"uri", "file:///m"}}}, {"version", nullptr}, {"replicas", nullptr}}, "digits");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->version, std::nullopt);
  EXPECT_EQ(spec->replicas, std::nullopt);
}

TEST(Parse, NamesAllUnknownFieldsInTheOrderOfTheirLines) {
  EXPECT_EQ(MessageOf(WithSpec("  versoin: 3\n  rolout: {}\n  validation:\n    goldenSet: {pth: g}")),
            "m.yaml:5: spec.versoin: is not a field; did you mean version?\n"
            "m.yaml:6: spec.rolout: is not a field; did you mean rollout?\n"
            "m.yaml:8: spec.validation.goldenSet.pth: is not a field; did you mean path?");
}

TEST(Parse, NamesAllMistakesOfAFileAtOnce) {
  const std::string model = WithSpec(
      "  versoin: 3\n  rollout:\n    strategy: Canery\n    stps: []\n    hold: 5\n  validation:\n    goldenSet: {pth: "
      "g, "
      "minimum: 2}\n    metric: top1");
  EXPECT_EQ(MessageOf(model + "\n---\n" + WithFleetSpec("  prots: {}\n  replicas: {min: 0}")),
            "m.yaml:5: spec.versoin: is not a field; did you mean version?\n"
            "m.yaml:7: spec.rollout.strategy: \"Canery\" is not one of Canary, Immediate, Shadow, BlueGreen\n"
            "m.yaml:8: spec.rollout.stps: is not a field; did you mean steps?\n"
            "m.yaml:9: spec.rollout.hold: 5 has no unit: write \"30s\", \"500ms\" or \"5m\"\n"
            "m.yaml:11: spec.validation.goldenSet.pth: is not a field; did you mean path?\n"
            "m.yaml:11: spec.validation.goldenSet.minimum: 2 is not between 0 and 1\n"
            "m.yaml:12: spec.validation.metric: is not a field; known fields: goldenSet, nonFinite, deterministic\n"
            "m.yaml:21: spec.prots: is not a field; did you mean ports?\n"
            "m.yaml:22: spec.replicas.min: 0 is not between 1 and 1000");
}

// After a wrong value, the field has its default. If other fields do not fit this default, the person made no second
// mistake.
TEST(Parse, DoesNotBlameOtherFieldsForAWrongValue) {
  for (const char* spec :
       {"  rollout: {strategy: Immediat, steps: [{weight: 5}]}", "  rollout: {steps: [{weight: x}, {weight: 5}]}",
        "  rollout: {strategy: BlueGren, preview: {}}",
        "  rollout: {strategy: Shadw, shadow: {proof: Required}, analysis: {latency: {tolerance: 0}}}",
        "  rollout: {shadow: {compare: [{output: o, measure: TopKK, k: 3}]}}",
        "  rollout: {assignment: {by: Headr, key: x}}", "  slo: {latency: {targt: 5ms}}",
        "  batching: {maxBatchSize: x, allowedBatchSizes: [4, 8]}"}) {
    EXPECT_THAT(MessageOf(WithSpec(spec)), Not(HasSubstr("\n"))) << spec;
  }
}

TEST(Parse, DocumentThatIsNotAMappingIsRefusedWithItsLine) {
  EXPECT_THAT(MessageOf("- 1\n"), HasSubstr("m.yaml:1: a list is not a mapping of fields"));
}

TEST(Parse, ReadsSeveralDocumentsAndSkipsEmptyOnes) {
  const auto objects =
      ParseManifests("m.yaml", std::string("---\n") + kFull + "---\n---\n" + WithFleetSpec("  replicas: {min: 2}"));
  ASSERT_TRUE(objects) << objects.error().message;
  ASSERT_EQ(objects->size(), 2u);
  EXPECT_EQ(objects->at(1).kind, kServingFleetKind);
  EXPECT_EQ(std::get<ServingFleetSpec>(objects->at(1).spec).replicas_max, 2);
}

TEST(Parse, FleetReadsBackAsItWasWritten) {
  const auto objects =
      ParseManifests("f.yaml", WithFleetSpec("  replicas: {min: 2, max: 5}\n  ports: {grpc: 0, rest: 0}\n  engine: "
                                             "{concurrentRuns: 2, simulatedRun: 20ms}\n"
                                             "  connectionAgeMax: 5s\n  autoscaling: {queueDelay: 5ms, utilization: "
                                             "\"80%\", prometheus: {url: \"http://127.0.0.1:9090\"}}"));
  ASSERT_TRUE(objects) << objects.error().message;
  const Json written = SpecToJson(objects->at(0));
  EXPECT_EQ(written["autoscaling"]["utilization"], 0.8);
  const auto again = ServingFleetSpecFromJson(written);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ToJson(*again), written);
}

TEST(Parse, AMaximumThatEqualsTheMinimumIsNotWritten) {
  const auto written = [](const std::string& replicas) {
    const auto objects = ParseManifests("f.yaml", WithFleetSpec("  autoscaling: {}\n  replicas: " + replicas));
    return objects ? SpecToJson(objects->at(0)).at("replicas") : Json(objects.error().message);
  };
  EXPECT_EQ(written("{min: 2}"), Json({{"min", 2}}));
  EXPECT_EQ(written("{min: 2, max: 2}"), Json({{"min", 2}}));
  EXPECT_EQ(written("{min: 2, max: 3}"), Json({{"min", 2}, {"max", 3}}));
}

TEST(Parse, RefusesAliasesThatExpandTooFar) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += fmt::format("a{}: &a{} [", i, i);
    for (int k = 0; k < 10; ++k) bomb += fmt::format("*a{}{}", i - 1, k < 9 ? ", " : "]\n");
  }
  EXPECT_THAT(MessageOf(bomb), HasSubstr("more than"));
}

TEST(Parse, ShowsALongValueCutBetweenCharacters) {
  for (const char* character : {"ж", "模", "😀"}) {
    // In some of the texts, byte 80 is within a character.
    for (std::string value = "a"; value.size() < 5; value += "a") {
      std::string text = value;
      while (text.size() < 100) text += character;
      const std::string message = MessageOf(WithSpec("  version: \"" + text + "\""));
      EXPECT_EQ(ValidUtf8(message), message) << value;
      EXPECT_THAT(message, HasSubstr("spec.version: \"" + text.substr(0, 60)));
      EXPECT_THAT(message, HasSubstr("... is not a whole number"));
    }
  }
}

TEST(Units, DurationsRoundTripExactly) {
  for (const char* text : {"0s", "30s", "1500ms", "250us", "90s"})
    EXPECT_EQ(FormatDuration(*ParseDuration(text)), text);
  EXPECT_EQ(*ParseDuration("1.5h"), std::chrono::minutes(90));
  for (const char* text : {"", "5", "s", "-1s", "1m30s", "1e300s", "nans"}) EXPECT_FALSE(ParseDuration(text)) << text;
}

TEST(Status, ReadsBackAsItWasWritten) {
  ModelStatus status;
  status.epoch = 4;
  status.stable_version = 2;
  status.conditions.push_back({"Ready", "True", "Serving", "because", 7, FromUnixMillis(1700000000123)});
  status.rollout = {.id = "u/3/1",
                    .phase = RolloutPhase::kPaused,
                    .stable = 2,
                    .candidate = 3,
                    .attempt = 1,
                    .step_index = 1,
                    .weight_percent = 25,
                    .paused_reason = "Manual",
                    .started_at = FromUnixMillis(5),
                    .step_started_at = {},
                    .step_candidate_requests = 12,
                    .paused_by_command = true,
                    .promoted_by_command = true,
                    .evidence_used_at = FromUnixMillis(9),
                    .held_since = FromUnixMillis(10),
                    .analysis = Json{{"x", 1}},
                    .verdict = {"Fail", "Latency", "m", {{"e", 2.5}}}};
  status.failed.push_back({3, "d", 7, "GoldenSet", "m", FromUnixMillis(6)});
  status.history.push_back({FromUnixMillis(8), 3, "Started", "m"});
  status.digests[3] = "abc";
  status.sources[3] = {"https://h/m.tar", "0123"};
  status.command = Command{"promote", 7, 1};
  status.nodes.push_back({"n", "1:Ready"});
  const Json written = ToJson(status);
  const auto again = ModelStatusFromJson(written);
  ASSERT_TRUE(again);
  EXPECT_EQ(ToJson(*again), written);
  EXPECT_EQ(written["conditions"][0]["lastTransitionTime"], "2023-11-14T22:13:20.123Z");
}

TEST(Status, OfAFleetReadsBackAsItWasWritten) {
  ServingFleetStatus status;
  status.grpc_address = "127.0.0.1:1";
  status.autoscale = {.desired = 3,
                      .reason = "QueueDelay",
                      .message = "m",
                      .value = 0.5,
                      .target = 0.1,
                      .evidence_at = FromUnixMillis(4),
                      .last_scale_up = FromUnixMillis(5),
                      .recommendations = {{FromUnixMillis(6), 2}, {FromUnixMillis(7), 1}},
                      .waiting_since = FromUnixMillis(8),
                      .checked_at = FromUnixMillis(9),
                      .asked = {{FromUnixMillis(10), 2}},
                      .start_seconds = {12.25, 40},
                      .utilization_limit = {0.3, FromUnixMillis(11), "Latency of m", 0.05}};
  status.nodes.push_back({"n", 12, "Ready", "127.0.0.1:2"});
  const auto again = ServingFleetStatusFromJson(ToJson(status));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->autoscale, status.autoscale);
  EXPECT_EQ(ToJson(*again), ToJson(status));
}

TEST(Status, NullIsEmptyAndANonMappingIsAnError) {
  EXPECT_EQ(ModelStatusFromJson(nullptr)->stable_version, 0);
  EXPECT_FALSE(ModelStatusFromJson(Json::array()));
}

}  // namespace
}  // namespace longshore::api

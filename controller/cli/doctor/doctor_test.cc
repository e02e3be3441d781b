// The checks of `longshore doctor`, each with the cases of tests/golden/doctor, and the text of a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>

#include "common/os/file.h"
#include "controller/api/units.h"
#include "controller/cli/doctor/clocks.h"
#include "controller/cli/doctor/controller.h"
#include "controller/cli/doctor/crds.h"
#include "controller/cli/doctor/host.h"
#include "controller/cli/doctor/objects.h"
#include "controller/cli/doctor/prometheus.h"
#include "controller/cli/doctor/report.h"
#include "controller/cli/doctor/rights.h"
#include "controller/cli/doctor/workloads.h"
#include "tests/golden/golden.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::cli::doctor {
namespace {

using golden::Get;

std::optional<Error> ErrorIn(const Json& json) {
  if (!json.is_object() || !json.contains("error")) return std::nullopt;
  for (int code = 1; code <= 16; ++code) {
    if (CodeName(static_cast<Code>(code)) == json.at("error").get<std::string>())
      return Error{static_cast<Code>(code), json.at("message").get<std::string>()};
  }
  throw std::runtime_error("no such code: " + json.dump());
}

// A document, or the error {error: CODE, message: TEXT}.
Result<Json> Answer(const Json& json) {
  if (const auto error = ErrorIn(json)) return tl::make_unexpected(*error);
  return json;
}

TimePoint TimeAt(const Json& json, const char* key) {
  return json.contains(key) ? api::ParseTime(json.at(key).get<std::string>()).value() : TimePoint{};
}

LeaseLife LeaseIn(const Json& json) {
  LeaseLife life{.name = Get<std::string>(json, "name", ""),
                 .is_held = Get(json, "held", false),
                 .holder = Get<std::string>(json, "holder", ""),
                 .renewed_at = TimeAt(json, "renewedAt")};
  if (const auto error = ErrorIn(golden::Child(json, "pods"))) life.pods = tl::make_unexpected(*error);
  if (const auto error = ErrorIn(golden::Child(json, "read"))) life.read = tl::make_unexpected(*error);
  return life;
}

HostLife HostLifeIn(const Json& json) {
  HostLife life{.manifests = "/m",
                .is_running = Get(json, "running", false),
                .pid = Get(json, "pid", 0),
                .last_active_at = TimeAt(json, "lastActiveAt")};
  if (const auto error = ErrorIn(golden::Child(json, "answer"))) life.answer = tl::make_unexpected(*error);
  return life;
}

Findings Versions(const Json& json) {
  std::vector<ProgramVersion> programs;
  for (const auto& [program, version] : json.at("programs").items()) {
    const auto error = ErrorIn(version);
    programs.push_back(
        {program, error ? Result<std::string>(tl::make_unexpected(*error)) : version.get<std::string>()});
  }
  return CheckVersions(json.at("own"), programs);
}

std::vector<AskedRight> Asked(const Json& json, const std::vector<Right>& rights) {
  std::vector<AskedRight> asked;
  for (const Right& right : rights) {
    const auto error = ErrorIn(json);
    const Json refused = Get(json, "refused", Json::array());
    const bool is_refused = std::ranges::any_of(refused, [&](const Json& one) { return one == ToString(right); });
    asked.push_back({right, error ? Result<bool>(tl::make_unexpected(*error)) : !is_refused});
  }
  return asked;
}

std::vector<Right> ChartRights() {
  const auto text = ReadFile(source_tree::Root() / "helm/longshore/templates/rbac.yaml");
  return RightsInChart(text.value()).value();
}

Finding OfServerClock(const Json& json, TimePoint now) {
  const auto error = ErrorIn(json);
  return CheckServerClock(error ? Result<TimePoint>(tl::make_unexpected(*error)) : TimeAt(json, "at"), now);
}

Finding OfCertificate(const Json& json, TimePoint now) {
  const auto error = ErrorIn(json);
  const auto time = [&](const char* key) {
    return error ? Result<TimePoint>(tl::make_unexpected(*error)) : TimeAt(json, key);
  };
  return CheckCertificate({"x", time("from"), time("until"), "renew it"}, now);
}

Finding OfPort(const Json& json) {
  Port port{.what = "gRPC of fleet default/main",
            .number = json.at("number"),
            .is_needed = Get(json, "needed", true),
            .is_certain = Get(json, "certain", true),
            .setting = "spec.ports.grpc of the fleet"};
  for (const Json& owner : golden::Child(json, "owners")) port.owners.insert(owner.get<int64_t>());
  const Json holders = Get(json, "holders", Json::object());
  for (const auto& [pid, program] : holders.items()) port.holders.insert({std::stoll(pid), program.get<std::string>()});
  return CheckPort(port);
}

Finding OfFolder(const Json& json) {
  Folder folder{.what = "source of model default/digits",
                .path = "/models",
                .available_bytes = Get<uint64_t>(json, "available", 0),
                .capacity_bytes = Get<uint64_t>(json, "capacity", 0)};
  if (const auto error = ErrorIn(golden::Child(json, "read"))) folder.read = tl::make_unexpected(*error);
  return CheckFolder(folder);
}

Findings OfManifests(const Json& json) {
  std::vector<Manifest> manifests;
  for (const Json& one : json) {
    manifests.push_back({one.at("file"), Get<std::string>(one, "mistake", ""),
                         Get(one, "refused", std::vector<std::string>()), Get<std::string>(one, "definedTwice", ""),
                         Get<std::string>(one, "differs", ""), Get(one, "taken", true)});
  }
  return CheckManifests("/m", manifests, " --manifests /m");
}

api::ServingFleet ScalingFleet() {
  api::ServingFleet fleet;
  fleet.metadata.name = "cpu";
  fleet.spec.autoscaling.emplace().prometheus_url = "http://p:9090";
  return fleet;
}

Findings OfPrometheus(const Json& json, TimePoint now) {
  api::ServingFleet fleet = ScalingFleet();
  fleet.status.autoscale.evidence_at = TimeAt(json, "evidenceAt");
  const Reach reach = json.contains("reach") ? Reach::kOther : Reach::kLikeController;
  return CheckPrometheus(fleet, {Answer(golden::Child(json, "names")), Answer(golden::Child(json, "oldest"))}, reach,
                         now);
}

Findings FindingsOf(const std::string& check, const Json& given, TimePoint now) {
  using Check = std::function<Findings()>;
  const std::map<std::string, Check> checks = {
      {"hostLife", [&] { return Findings{CheckHostLife(HostLifeIn(given), now)}; }},
      {"leaseLife", [&] { return Findings{CheckLeaseLife(LeaseIn(given), now)}; }},
      {"versions", [&] { return Versions(given); }},
      {"crd", [&] { return Findings{CheckCrd(given.at("ours"), Answer(given.at("theirs")))}; }},
      {"server", [&] { return Findings{CheckServer("https://a", Answer(given))}; }},
      {"admission", [&] { return Findings{CheckAdmission(Answer(given), HelmCommand("ops"))}; }},
      {"userRights", [&] { return CheckUserRights("vision", Asked(given, RightsOfUsers())); }},
      {"controllerRights",
       [&] {
         return Findings{CheckControllerRights("system:serviceaccount:ops:longshore-controller", "vision",
                                               Asked(given, ChartRights()), HelmCommand("ops"))};
       }},
      {"serverClock", [&] { return Findings{OfServerClock(given, now)}; }},
      {"leaseClock", [&] { return CheckLeaseClock(LeaseIn(given), std::chrono::seconds(15), now); }},
      {"certificate", [&] { return Findings{OfCertificate(given, now)}; }},
      {"port", [&] { return Findings{OfPort(given)}; }},
      {"folder", [&] { return Findings{OfFolder(given)}; }},
      {"manifests", [&] { return OfManifests(given); }},
      {"prometheus", [&] { return OfPrometheus(given, now); }},
      {"monitors", [&] { return CheckMonitors({ScalingFleet()}, Answer(given), HelmCommand("")); }},
      {"pods", [&] { return CheckPods("vision", Answer(given)); }},
      {"services", [&] { return CheckServices("vision", Answer(given.at("services")), Answer(given.at("slices"))); }},
      {"policies", [&] {
         return CheckNetworkPolicies("vision", "Egress", {{"app.kubernetes.io/name", "longshore-node"}}, Answer(given));
       }}};
  return checks.at(check)();
}

TEST(Doctor, EveryCheckJudgesItsCases) {
  const auto cases = golden::LoadCases("doctor");
  ASSERT_TRUE(cases) << cases.error().message;
  for (const golden::Case& one : *cases) {
    SCOPED_TRACE(one.where);
    const Json& given = golden::Child(one.json, "given");
    const Json found = ToJson(FindingsOf(one.json.at("check"), given, golden::TimeOf(one.json, "now"))).at("findings");
    const Json& expected = one.json.at("expect");
    ASSERT_EQ(found.size(), expected.size()) << found.dump(2);
    for (size_t i = 0; i < found.size(); ++i) {
      Json wanted = expected[i];
      if (wanted.value("verdict", "") == "not known") wanted["verdict"] = "notKnown";
      EXPECT_THAT(golden::Differences(wanted, found[i]), testing::IsEmpty());
      EXPECT_EQ(found[i].at("verdict") == "ok", found[i].at("cure") == "") << found[i].dump(2);
    }
  }
}

TEST(Doctor, AFleetWithoutAReadyNodeFailsWithItsReason) {
  api::ServingFleet fleet;
  fleet.metadata.name = "cpu";
  fleet.metadata.generation = fleet.status.observed_generation = 1;
  fleet.status.conditions = {{"Ready", "False", "NoNodes", "node cpu-0: port 8500 is in use", 1, {}}};
  const Findings findings = CheckFleets({fleet}, {}, " --manifests /m");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], (Finding{kObjects, "fleet default/cpu", Verdict::kFailure,
                                  "no node is ready: node cpu-0: port 8500 is in use.",
                                  "longshore describe fleet cpu -n default --manifests /m"}));
  fleet.status.conditions = {{"Ready", "True", "Ready", "all nodes are ready", 1, {}}};
  fleet.status.ready_replicas = 1;
  EXPECT_EQ(CheckFleets({fleet}, {}, "")[0].verdict, Verdict::kOk);
}

TEST(Doctor, AStalledModelFailsAndARolloutUnderWayDoesNot) {
  api::Model model;
  model.metadata.name = "digits";
  model.metadata.generation = model.status.observed_generation = 1;
  model.status.stable_version = 1;
  model.spec.version = 2;
  model.status.rollout.phase = api::RolloutPhase::kStep;
  model.status.conditions = {{"Ready", "True", "Serving", "version 1 is ready", 1, {}}};
  EXPECT_EQ(CheckModels({model}, {}, "")[0].verdict, Verdict::kOk);
  model.status.conditions.push_back({"Stalled", "True", "LoadFailed", "no saved_model.pb", 1, {}});
  const Finding stalled = CheckModels({model}, {}, "")[0];
  EXPECT_EQ(stalled.verdict, Verdict::kFailure);
  EXPECT_EQ(stalled.cause, "LoadFailed: no saved_model.pb.");
  EXPECT_EQ(stalled.cure, "longshore explain digits -n default");
}

TEST(Doctor, AVersionThatServesAndFailsItsGoldenSetIsAWarning) {
  api::Model model;
  model.metadata.name = "digits";
  model.metadata.generation = model.status.observed_generation = 1;
  model.spec.version = model.status.stable_version = 2;
  model.status.conditions = {{"Ready", "True", "Serving", "version 2 is ready", 1, {}},
                             {"GoldenSetPasses", "True", "Passed", "version 2 passed on all nodes", 1, {}}};
  EXPECT_EQ(CheckModels({model}, {}, "")[0].verdict, Verdict::kOk);
  model.status.conditions.back().status = "False";
  model.status.conditions.back().message = "version 2 fails its golden set on 2 of 2 nodes";
  const Finding failing = CheckModels({model}, {}, "")[0];
  EXPECT_EQ(failing.verdict, Verdict::kWarning);
  EXPECT_EQ(failing.cause, "GoldenSetPasses: version 2 fails its golden set on 2 of 2 nodes.");
  EXPECT_EQ(failing.cure, "longshore explain digits -n default");
}

TEST(Doctor, AModelWithoutOneOfItsNodesIsAWarning) {
  api::Model model;
  model.metadata.name = "digits";
  model.metadata.generation = model.status.observed_generation = 1;
  model.spec.version = model.status.stable_version = 2;
  model.status.conditions = {{"Ready", "True", "Serving", "version 2 is ready on 1 of 2 nodes", 1, {}},
                             {"NodesAvailable", "False", "BadNodes", "node b: bad disk", 1, {}}};
  const Finding lacking = CheckModels({model}, {}, "")[0];
  EXPECT_EQ(lacking.verdict, Verdict::kWarning);
  EXPECT_EQ(lacking.cause, "NodesAvailable: node b: bad disk.");
  EXPECT_EQ(lacking.cure, "longshore explain digits -n default");
}

TEST(Doctor, UnreadableObjectsAndKindsAreNamed) {
  EXPECT_EQ(CheckUnreadable({api::kModelKind, "default", "x"}, "/m/x.json is damaged").verdict, Verdict::kFailure);
  EXPECT_EQ(CheckUnlisted("Model", {Code::kPermissionDenied, "forbidden"}).verdict, Verdict::kNotKnown);
}

TEST(Doctor, TheChartGrantsWhatTheTemplateSays) {
  const std::vector<Right> rights = ChartRights();
  EXPECT_THAT(rights, testing::Contains(Right{"update", "longshore.dev", "models/status"}));
  EXPECT_THAT(rights, testing::Contains(Right{"patch", "", "pods"}));
  EXPECT_EQ(RightsInChart("no rules").error().code, Code::kNotFound);
}

Findings Example() {
  return {{kController, "Sign of life", Verdict::kFailure, "no controller is running.", "longshore-controller"},
          {kPorts, "8500, gRPC of fleet default/cpu", Verdict::kOk, "it is free.", ""},
          {kController, "Version of controller", Verdict::kWarning, "it is older.", "upgrade it"},
          {kRights, "The controller's", Verdict::kNotKnown, "forbidden.", "ask an administrator"}};
}

void ExpectGolden(const std::string& name, const std::string& text) {
  const Path path = source_tree::Root() / "tests/golden/cli" / (name + ".txt");
  if (std::getenv("LONGSHORE_GOLDEN_WRITE") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, text));
  }
  EXPECT_EQ(text, ReadFile(path).value_or("")) << "differs from " << path;
}

TEST(Report, GroupsTheFindingsAndCountsThem) {
  ExpectGolden("doctor", Text(Example(), {.unicode = true}));
  ExpectGolden("doctor_ascii", Text(Example(), {}));
  EXPECT_TRUE(HasFailed(Example()));
  EXPECT_FALSE(HasFailed({Example()[1], Example()[2], Example()[3]}));
}

TEST(Report, ColorsOnlyTheMarksAndTheHeadings) {
  const std::string text = Text({Example()[0]}, {.colors = true, .unicode = true});
  EXPECT_THAT(text, testing::HasSubstr("\x1b[1mController\x1b[0m\n  \x1b[31m✗\x1b[0m Sign of life: no"));
}

TEST(Report, IsAlsoJson) {
  const Json json = ToJson(Example());
  EXPECT_EQ(json.at("summary"), Json({{"ok", 1}, {"warning", 1}, {"failure", 1}, {"notKnown", 1}}));
  EXPECT_EQ(json.at("findings")[3].at("verdict"), "notKnown");
}

}  // namespace
}  // namespace longshore::cli::doctor

// Runs the commands against the real local store.
#include "controller/cli/commands.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <thread>

#include "common/os/file.h"
#include "controller/api/format.h"
#include "controller/cli/parse_options.h"
#include "controller/cli/program.h"
#include "controller/cli/select.h"
#include "controller/cli/testing.h"
#include "controller/cli/testing_cluster.h"

namespace longshore::cli {
namespace {

constexpr const char* kManifest = R"(apiVersion: longshore.dev/v1alpha1
kind: Model
metadata: {name: digits}
spec:
  fleet: cpu
  source: {uri: "file:///models/digits"}
  version: 1
)";

class Commands : public StoreTest {
 protected:
  Result<std::vector<cli::Applied>> Apply(const std::string& text, ApplyMode mode = ApplyMode::kWrite) {
    ASSIGN_OR_RETURN(const std::vector<api::ParsedObject> objects, api::ParseManifests("m.yaml", text));
    return ApplyObjects(*store_, objects, mode);
  }
  std::string Applied(const std::string& text, ApplyMode mode = ApplyMode::kWrite) {
    return OutcomeOf(Apply(text, mode).value().at(0));
  }

  const api::Key key_{api::kModelKind, "default", "digits"};
};

TEST_F(Commands, ApplySaysWhetherEachObjectWasCreatedChangedOrUnchanged) {
  EXPECT_EQ(Applied(kManifest), "created");
  EXPECT_EQ(Applied(kManifest), "unchanged");
  std::string other = kManifest;
  other.replace(other.find("version: 1"), 10, "version: 2");
  EXPECT_EQ(Applied(other), "changed");
}

TEST_F(Commands, AnotherFormOfAValueOrAWrittenDefaultIsNoDifference) {
  store::Object kubectls;
  kubectls.kind = api::kModelKind;
  kubectls.metadata.name = "digits";
  kubectls.spec = {{"fleet", "cpu"},
                   {"source", {{"uri", "file:///models/digits"}}},
                   {"version", 1},
                   {"rollout", {{"progressDeadline", "10m"}}}};
  ASSERT_TRUE(store_->Apply(kubectls));
  EXPECT_EQ(Applied(kManifest, ApplyMode::kDryRun), "unchanged");
  EXPECT_EQ(Applied(std::string(kManifest) + "  rollout: {progressDeadline: 11m}\n", ApplyMode::kDryRun), "changed");
}

TEST_F(Commands, ADryRunPredictsEachResultAndRefusesWhatApplyRefuses) {
  EXPECT_EQ(Applied(kManifest, ApplyMode::kDryRun), "created");
  EXPECT_TRUE(store_->List(api::kModelKind)->objects.empty());
  ASSERT_TRUE(Apply(kManifest));
  EXPECT_EQ(Applied(kManifest, ApplyMode::kDryRun), "unchanged");
  EXPECT_FALSE(Apply(std::string(kManifest) + "  color: red\n", ApplyMode::kDryRun));
}

TEST_F(Commands, DiffExitsWithOneForADifferenceAndWithAnotherCodeForAnError) {
  const Path file = dir_ / "m.txt";
  ASSERT_TRUE(WriteFileAtomically(file, kManifest));
  Options options;
  options.verb = Verb::kDiff;
  options.files = {file.string()};
  Place place;
  place.store = std::move(store_);
  std::ostringstream out;
  EXPECT_EQ(cli::Run(options, place, SystemClock(), out).value(), kExitDiffers);
  EXPECT_NE(out.str().find("Model default/digits would be created\n  + spec.fleet: \"cpu\"\n"), std::string::npos)
      << out.str();
  options.verb = Verb::kApply;
  ASSERT_TRUE(cli::Run(options, place, SystemClock(), out));
  options.verb = Verb::kDiff;
  EXPECT_EQ(cli::Run(options, place, SystemClock(), out).value(), kExitOk);
  EXPECT_EQ(ExitCodeOf({Code::kUnavailable, ""}, Verb::kDiff), kExitNoDiff);
  EXPECT_EQ(ExitCodeOf({Code::kUnavailable, ""}), kExitFailed);
}

TEST_F(Commands, ADryRunShowsTheRolloutThatWouldBegin) {
  const Path file = dir_ / "m.txt";
  const auto write = [&](const std::string& text) { ASSERT_TRUE(WriteFileAtomically(file, text)); };
  Options options;
  options.verb = Verb::kApply;
  options.files = {file.string()};
  options.dry_run = true;
  Place place;
  place.store = std::move(store_);
  const auto shown = [&] {
    std::ostringstream out;
    EXPECT_EQ(cli::Run(options, place, SystemClock(), out).value(), kExitOk);
    return out.str();
  };
  write(kManifest);
  EXPECT_NE(shown().find("no rollout: ServingFleet default/cpu does not exist"), std::string::npos) << shown();
  const std::string fleet = "\n---\napiVersion: longshore.dev/v1alpha1\nkind: ServingFleet\nmetadata: {name: cpu";
  write(kManifest + fleet + "}\nspec: {replicas: {min: 2}}\n");
  EXPECT_NE(shown().find("no version yet -> version 1, on 2 nodes of fleet cpu"), std::string::npos) << shown();
  std::string elsewhere = kManifest;
  elsewhere.replace(elsewhere.find("fleet: cpu"), 10, "fleet: a/cpu");
  write(elsewhere + fleet + ", namespace: a}\n");
  EXPECT_NE(shown().find("fleet a/cpu does not serve Models of namespace default"), std::string::npos) << shown();
}

// A thread simulates the controller and reports after a short time.
TEST_F(Commands, StatusWaitsUntilAllObjectsAreAsWantedOrOneHasFailed) {
  ASSERT_TRUE(Apply(kManifest));
  Options options;
  options.verb = Verb::kStatus;
  options.wait = true;
  options.timeout = std::chrono::milliseconds(50);
  Place place;
  place.store = std::move(store_);
  std::ostringstream out;
  EXPECT_EQ(cli::Run(options, place, SystemClock(), out).value(), kExitTimeout);
  EXPECT_NE(out.str().find("waiting for model default/digits: no controller has processed"), std::string::npos);
  const auto report = [&](const char* stalled) {
    const store::Object object = place.store->Get(key_).value();
    api::ModelStatus status;
    status.observed_generation = 1;
    status.stable_version = 1;
    status.conditions = {{"Ready", "True", "Serving", "it serves", 1, {}}, {"Stalled", stalled, "Why", "so", 1, {}}};
    ASSERT_TRUE(
        place.store->PutStatus(key_, object.metadata.uid, object.metadata.resource_version, api::ToJson(status)));
  };
  options.timeout = std::chrono::seconds(60);
  std::thread controller([&] { report("False"); });
  EXPECT_EQ(cli::Run(options, place, SystemClock(), out).value(), kExitOk);
  controller.join();
  report("True");
  options.name = "digits";
  EXPECT_EQ(cli::Run(options, place, SystemClock(), out).value(), kExitFailed);
  EXPECT_NE(out.str().find("Model default/digits: failed\n  why       Why: so\n"), std::string::npos) << out.str();
}

TEST_F(Commands, AMalformedManifestNamesFileAndLineAndChangesNothing) {
  const auto applied = Apply(std::string(kManifest) + "  color: red\n");
  ASSERT_FALSE(applied);
  EXPECT_NE(applied.error().message.find("m.yaml:8"), std::string::npos) << applied.error().message;
  EXPECT_TRUE(store_->List(api::kModelKind)->objects.empty());
}

TEST_F(Commands, DeletingAMissingObjectListsTheExistingOnes) {
  ASSERT_TRUE(Apply(kManifest));
  const Status deleted = DeleteObject(*store_, {api::kModelKind, "default", "digit"});
  ASSERT_FALSE(deleted);
  EXPECT_EQ(ExitCodeOf(deleted.error()), kExitNotFound);
  EXPECT_NE(deleted.error().message.find("digits -n default"), std::string::npos) << deleted.error().message;
  EXPECT_TRUE(DeleteObject(*store_, key_));
  EXPECT_TRUE(store_->List(api::kModelKind)->objects.empty());
}

TEST_F(Commands, GetShowsReadableObjectsAndThenFailsNamingTheUnreadableOnes) {
  ASSERT_TRUE(Apply(kManifest));
  const Path damaged = dir_ / ".longshore/objects/Model/default/zebra.json";
  ASSERT_TRUE(WriteFileAtomically(damaged, "{"));
  Options options;
  options.targets = {{api::kModelKind, ""}};
  std::ostringstream out;
  const Result<int> got = cli::Run(options, {.store = std::move(store_)}, SystemClock(), out);
  EXPECT_NE(out.str().find("digits"), std::string::npos) << out.str();
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find(damaged.string()), std::string::npos) << got.error().message;
}

// The manager of a field is found although its key contains dots.
TEST(KeptFields, AreNamedWithTheirManagersAlsoIfTheirKeysContainDots) {
  const FakeCluster cluster([](const http::Request&) {
    return http::Response{.body = R"({"metadata": {"managedFields": [
      {"manager": "vendor", "fieldsV1": {"f:spec": {"f:resources": {"f:limits": {"f:nvidia.com/gpu": {}}}}}},
      {"manager": "other", "fieldsV1": {"f:spec": {"f:resources": {"f:limits": {"f:nvidia": {}}}}}}]}})"};
  });
  Place place;
  place.cluster = cluster.cluster();
  Applied applied;
  applied.after.kind = api::kServingFleetKind;
  applied.after.metadata.name = "gpu";
  applied.wanted_spec = Json::object();
  applied.after.spec = {{"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}};
  applied.before = applied.after;
  EXPECT_NE(KeptText(place, applied).find(R"(limits["nvidia.com/gpu"]: "1", set by vendor)"), std::string::npos)
      << KeptText(place, applied);
}

TEST(Place, LinesToCopyHaveTheArgumentsThatFindThePlaceAgain) {
  ::unsetenv("LONGSHORE_MANIFESTS");
  Options host;
  host.manifests = "/m";
  EXPECT_EQ(ArgumentsFor(host, {}), " --manifests /m");
  host.manifests = "/my manifests/it's";
  EXPECT_EQ(ArgumentsFor(host, {}), R"( --manifests '/my manifests/it'\''s')");
  host.manifests = "/m";
  ::setenv("LONGSHORE_MANIFESTS", "/m", 1);
  EXPECT_EQ(ArgumentsFor(host, {}), "");
  ::setenv("LONGSHORE_MANIFESTS", "/other", 1);
  EXPECT_EQ(ArgumentsFor(host, {}), " --manifests /m");
  ::unsetenv("LONGSHORE_MANIFESTS");
  Options cluster;
  cluster.kubeconfig = "/k";
  cluster.context = "c";
  cluster.namespace_ = "default";
  Place place;
  EXPECT_EQ(ArgumentsFor(cluster, place), " --kubeconfig /k --context c");
  place.namespace_ = "vision";
  EXPECT_EQ(ArgumentsFor(cluster, place), " -n default --kubeconfig /k --context c");
}

}  // namespace
}  // namespace longshore::cli

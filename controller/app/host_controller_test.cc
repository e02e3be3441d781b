#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "common/json/json.h"
#include "common/os/file.h"
#include "controller/api/format.h"
#include "controller/app/controller.h"
#include "controller/app/state_dir.h"
#include "controller/app/stop_fleets.h"
#include "controller/store/document.h"
#include "controller/store/forwarding_store.h"
#include "controller/store/local/local_store.h"

namespace longshore::app {
namespace {

class HostControllerTest : public ::testing::Test {
 protected:
  HostControllerTest() {
    char name[] = "/tmp/longshore_app_XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~HostControllerTest() override { std::filesystem::remove_all(dir_); }

  Path dir_;
};

TEST_F(HostControllerTest, StartsDespiteAStatusWhoseEpochIsNotANumber) {
  const Path records = dir_ / ".longshore/objects/Model/default";
  std::filesystem::create_directories(records);
  for (const auto& [name, epoch] : std::vector<std::pair<std::string, Json>>{{"a", "seven"}, {"b", 7}, {"c", {1}}}) {
    const Json record{{"kind", "Model"},
                      {"metadata", {{"name", name}, {"uid", name}, {"resourceVersion", "1"}}},
                      {"spec", Json::object()},
                      {"status", {{"epoch", epoch}}}};
    ASSERT_TRUE(WriteFileAtomically(records / (name + ".json"), record.dump()));
  }
  const auto started = StartOnHost({.state_dir = dir_ / "state",
                                    .manifests = dir_,
                                    .node_binary = "/bin/true",
                                    .admin = {.address = "127.0.0.1:0"},
                                    .console = {.address = ""}});
  EXPECT_TRUE(started) << started.error().message;
  EXPECT_EQ(ReadFile(dir_ / "state/epoch").value(), "8\n") << "it is above the epoch of b";
}

TEST_F(HostControllerTest, CreatesTheFolderOfManifestsOnlyIfItsParentExists) {
  HostOptions options{.state_dir = dir_ / "state",
                      .manifests = dir_ / "tpyo/manifests",
                      .node_binary = "/bin/true",
                      .admin = {.address = "127.0.0.1:0"},
                      .console = {.address = ""}};
  const auto refused = StartOnHost(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "--manifests: " + (dir_ / "tpyo/manifests").string() +
                                         " does not exist, and neither does the folder " + (dir_ / "tpyo").string());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "state")) << "nothing was created";
  options.manifests = dir_ / "manifests/";
  EXPECT_TRUE(StartOnHost(options));
  EXPECT_TRUE(std::filesystem::is_directory(dir_ / "manifests"));
}

TEST_F(HostControllerTest, AControllerThatIsRefusedDoesNotChangeWhichManifestsAreThoseOfTheStateDirectory) {
  const auto options = [&](const char* state, const char* manifests) -> HostOptions {
    return {.state_dir = dir_ / state,
            .manifests = dir_ / manifests,
            .node_binary = "/bin/true",
            .admin = {.address = "127.0.0.1:0"},
            .console = {.address = ""}};
  };
  EXPECT_TRUE(StartOnHost(options("state", "mine")));
  const auto other = StartOnHost(options("other", "theirs"));
  ASSERT_TRUE(other);
  EXPECT_FALSE(StartOnHost(options("state", "theirs"))) << "the other controller uses them";
  EXPECT_EQ(RecordedManifests(dir_ / "state"), dir_ / "mine");
}

// A host on which a controller has run, with a fleet and a Model that its status shows as served.
class StopFleetsTest : public HostControllerTest {
 protected:
  StopFleetsTest() {
    std::filesystem::create_directories(manifests_);
    EXPECT_TRUE(StartOnHost({.state_dir = state_dir_,
                             .manifests = manifests_,
                             .node_binary = "/bin/true",
                             .admin = {.address = "127.0.0.1:0"},
                             .console = {.address = ""}}));
    store_ = *store::local::LocalStore::Open({.dir = manifests_});
    api::ServingFleetStatus fleet;
    fleet.replicas = fleet.ready_replicas = 1;
    fleet.nodes = {{"default.cpu-0", 7, "Ready", ""}};
    fleet.conditions = {{"Ready", "True", "AllNodesReady", "1 of 1 nodes are ready", 1, {}}};
    Store(api::kServingFleetKind, {{"replicas", {{"min", 1}}}}, api::ToJson(fleet));
    api::ModelStatus model;
    model.stable_version = 2;
    model.nodes = {{"default.cpu-0", "2:Ready"}};
    model.conditions = {{"Ready", "True", "Serving", "version 2 is ready on 1 of 1 nodes", 1, {}}};
    Store(api::kModelKind, {{"fleet", "cpu"}, {"source", {{"uri", "file:///m"}}}, {"version", 2}}, api::ToJson(model));
  }

  void Store(const char* kind, const Json& spec, const Json& status) {
    api::Metadata metadata;
    metadata.name = "cpu";
    const auto object = store_->Apply({metadata, kind, spec, {}});
    ASSERT_TRUE(object) << object.error().message;
    ASSERT_TRUE(
        store_->PutStatus(store::KeyOf(*object), object->metadata.uid, object->metadata.resource_version, status));
  }
  api::ServingFleet Fleet() { return *store::ToFleet(*store_->Get({api::kServingFleetKind, "default", "cpu"})); }
  api::Model Model() { return *store::ToModel(*store_->Get({api::kModelKind, "default", "cpu"})); }

  const Path state_dir_ = dir_ / "state";
  const Path manifests_ = dir_ / "manifests";
  const SystemClock clock_;
  std::unique_ptr<store::local::LocalStore> store_;
};

std::string ReadyOf(const std::vector<api::Condition>& conditions) {
  const auto ready = std::ranges::find(conditions, "Ready", &api::Condition::type);
  return ready->status + " " + ready->reason + ": " + ready->message;
}

TEST_F(StopFleetsTest, TheObjectsOfTheStateDirectorySayThatNothingServes) {
  const auto done = StopFleets(state_dir_, "", clock_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(*done, "no node was running");
  const std::string why = ": longshore-controller --stop-fleets has ended the nodes; they start with the controller";
  const api::ServingFleetStatus fleet = Fleet().status;
  EXPECT_EQ(ReadyOf(fleet.conditions), "False Stopped" + why);
  EXPECT_EQ(fleet.replicas + fleet.ready_replicas, 0);
  EXPECT_TRUE(fleet.nodes.empty());
  const api::ModelStatus model = Model().status;
  EXPECT_EQ(ReadyOf(model.conditions), "False FleetStopped" + why);
  EXPECT_TRUE(model.nodes.empty());
  EXPECT_EQ(model.stable_version, 2) << "it serves again when the nodes start";
}

TEST_F(StopFleetsTest, WhileTheNodesEndTheObjectsSaySoAndListThem) {
  const auto end = [&]() -> Result<fleet::processes::StoppedNodes> {
    EXPECT_EQ(ReadyOf(Fleet().status.conditions), "False Stopping: it is ending the nodes");
    EXPECT_EQ(ReadyOf(Model().status.conditions), "False FleetStopping: it is ending the nodes");
    EXPECT_EQ(Fleet().status.nodes.size() + Model().status.nodes.size(), 2U);
    return DeadlineExceeded("a node goes on");
  };
  EXPECT_FALSE(EndNodes(*store_, "it", clock_, end));
  EXPECT_EQ(ReadyOf(Fleet().status.conditions), "False Stopping: it is ending the nodes") << "a node has not ended";
}

// A store in which somebody else writes the status of each object just before its first two status writes.
class BusyStore final : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<store::Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& version,
                                  const Json& status) override {
    if (writes_[key]++ < 2) {
      store::Object object = *Get(key);
      object.status["epoch"] = writes_[key];
      EXPECT_TRUE(ForwardingStore::PutStatus(key, uid, object.metadata.resource_version, object.status));
    }
    return ForwardingStore::PutStatus(key, uid, version, status);
  }

 private:
  std::map<api::Key, int> writes_;
};

TEST_F(StopFleetsTest, AChangeByOthersDoesNotPreventTheStatus) {
  BusyStore busy(*store_);
  const auto ended = EndNodes(busy, "it", clock_, [] { return fleet::processes::StoppedNodes{}; });
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ReadyOf(Fleet().status.conditions),
            "False Stopped: it has ended the nodes; they start with the controller");
  EXPECT_TRUE(Model().status.nodes.empty());
  EXPECT_EQ(Model().status.epoch, 2) << "the changes are kept";
}

TEST_F(StopFleetsTest, AMistypedDirectoryIsRefusedAndNothingIsCreated) {
  const auto error = [&](const Path& state_dir, const Path& manifests) {
    const auto done = StopFleets(state_dir, manifests, clock_);
    return done ? "done: " + *done : done.error().message;
  };
  const Path missing = dir_ / "sate";
  EXPECT_EQ(error(missing, ""), "--state_dir: " + missing.string() + " does not exist");
  EXPECT_EQ(error(dir_, ""), "--state_dir: no controller has used " + dir_.string());
  EXPECT_EQ(error(state_dir_, missing), "--manifests: " + missing.string() + " does not exist");
  EXPECT_EQ(error(state_dir_, dir_), "--manifests: the controller of " + dir_.string() +
                                         " does not use the state directory " + state_dir_.string());
  EXPECT_FALSE(std::filesystem::exists(missing));
  EXPECT_EQ(ReadyOf(Fleet().status.conditions).substr(0, 4), "True");
}

TEST_F(StopFleetsTest, TheSentenceSaysIfTheObjectsAreNotKnown) {
  std::filesystem::remove(state_dir_ / "manifests");  // As after a controller of an earlier release.
  EXPECT_THAT(StopFleets(state_dir_, "", clock_).value(), testing::EndsWith("is not known: add --manifests"));
  EXPECT_EQ(ReadyOf(Model().status.conditions).substr(0, 4), "True");
  EXPECT_EQ(StopFleets(state_dir_, manifests_, clock_).value(), "no node was running");
  EXPECT_EQ(ReadyOf(Model().status.conditions).substr(0, 5), "False");
}

}  // namespace
}  // namespace longshore::app

// Tests of ReconcileLoop with a store whose answers a test controls, and fleets without nodes.
#include "controller/app/reconcile_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "controller/store/forwarding_store.h"
#include "controller/store/local/local_store.h"

namespace longshore::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

api::Key KeyOfModel(const std::string& name) { return {api::kModelKind, "default", name}; }

class NoNodes final : public nodes::Registry {
 public:
  int port() const override { return 0; }
  int64_t epoch() const override { return 7; }
  void Close() override {}
  std::vector<nodes::ViewPtr> Nodes(const std::string&) const override { return {}; }
  nodes::ViewPtr Node(const std::string&, const std::string&) const override { return nullptr; }
  Status Send(const std::string&, const std::string&, control::FromController,
              std::shared_ptr<const nodes::FleetPart>) override {
    return NotFound("no node");
  }
  void Forget(const std::string&, const std::string&) override {}
};

class NoFleets final : public fleet::Fleet {
 public:
  Result<fleet::Addresses> Ensure(const api::ServingFleet&) override { return fleet::Addresses{}; }
  Status Scale(const std::string&, int, const std::vector<std::string>&) override { return {}; }
  Status Restart(const std::string&, const std::string&) override { return {}; }
  int Wanted(const std::string&) const override { return 0; }
  std::vector<fleet::NodeInfo> Nodes(const std::string&) const override { return {}; }
  fleet::Progress ProgressOf(const std::string&) const override { return {}; }
  std::vector<std::string> Fleets() const override { return {}; }
  Status Remove(const std::string&) override { return {}; }
  Status StopListening(const std::string&) override { return {}; }
};

// A store that calls `answer` before each status write; if `answer` returns an error, the write fails with it.
class ScriptedStore final : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<store::Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& version,
                                  const Json& status) override {
    RETURN_IF_ERROR(answer(key));
    return ForwardingStore::PutStatus(key, uid, version, status);
  }

  std::function<Status(const api::Key&)> answer = [](const api::Key&) { return Status(); };
};

class ReconcileLoopTest : public ::testing::Test {
 protected:
  ReconcileLoopTest() {
    char name[] = "/tmp/longshore_reconcile_loop_XXXXXX";
    dir_ = mkdtemp(name);
    local_ = store::local::LocalStore::Open({.dir = dir_}).value();
    store_.emplace(*local_);
  }
  ~ReconcileLoopTest() override {
    if (running_.joinable()) {
      queue_->Stop();
      running_.join();
    }
    std::filesystem::remove_all(dir_);
  }

  // Creates the loop. Its queue waits for `backoff` after a failure.
  void Start(milliseconds backoff, size_t writes_max = 1) {
    queue_.emplace(runtime::QueueOptions{backoff, backoff});
    loop_.emplace(ReconcileLoopContext{.store = *store_,
                                       .nodes = nodes_,
                                       .fleet = fleet_,
                                       .queue = *queue_,
                                       .failpoint = failpoint_,
                                       .metrics = metrics_,
                                       .problem_of = [](const api::Key&) { return std::nullopt; },
                                       .writes_max = writes_max,
                                       .is_alive = [this] { CountTurn(); }});
  }
  void Run() {
    running_ = std::thread([this] { loop_->Run(); });
  }
  // Creates a Model whose fleet does not exist, so that its status changes to report this.
  void Apply(const std::string& name) {
    store::Object object;
    object.kind = api::kModelKind;
    object.metadata.name = name;
    object.spec = {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/m"}}}};
    ASSERT_TRUE(store_->Apply(object));
    queue_->Add(KeyOfModel(name));
  }
  int64_t EpochOf(const std::string& name) const {
    const auto object = local_->Get(KeyOfModel(name));
    return object->status.is_object() ? object->status.value("epoch", int64_t{0}) : 0;
  }
  // Counts an attempt to write the status of the object.
  void Count(const api::Key& key) {
    const std::lock_guard lock(mutex_);
    ++attempts_[key.name];
    changed_.notify_all();
  }
  bool WaitForAttempts(const std::string& name, int attempts) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), [&] { return attempts_[name] >= attempts; });
  }
  void CountTurn() {
    const std::lock_guard lock(mutex_);
    ++turns_;
    changed_.notify_all();
  }
  int attempts(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return attempts_[name];
  }
  void Stop() {
    queue_->Stop();
    running_.join();
  }

  Path dir_;
  std::unique_ptr<store::local::LocalStore> local_;
  std::optional<ScriptedStore> store_;
  NoNodes nodes_;
  NoFleets fleet_;
  runtime::Failpoint failpoint_{std::nullopt, {}};
  metrics::Registry registry_;
  ReconcileMetrics metrics_{registry_};
  std::optional<runtime::WorkQueue> queue_;
  std::optional<ReconcileLoop> loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> attempts_;
  int turns_ = 0;
  std::thread running_;
};

TEST_F(ReconcileLoopTest, WritesTheStatusesOfSeveralObjectsConcurrently) {
  std::set<std::string> inside;
  store_->answer = [&](const api::Key& key) -> Status {
    std::unique_lock lock(mutex_);
    inside.insert(key.name);
    changed_.notify_all();
    if (changed_.wait_for(lock, seconds(20), [&] { return inside.size() == 3; })) return {};
    return Internal("{} is not written concurrently with the others", key.name);
  };
  Start(seconds(3600), 3);
  for (const char* name : {"a", "b", "c"}) Apply(name);
  Run();
  {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, seconds(20), [&] { return inside.size() == 3; }));
  }
  Stop();
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(EpochOf(name), 7) << name;
}

TEST_F(ReconcileLoopTest, ReconcilesAgainImmediatelyAfterAConflictingWrite) {
  store_->answer = [&](const api::Key& key) -> Status {
    Count(key);
    if (attempts(key.name) == 1) return Aborted("another client wrote");
    return {};
  };
  Start(seconds(3600));
  Apply("a");
  Run();
  EXPECT_TRUE(WaitForAttempts("a", 2));
  Stop();
  EXPECT_EQ(EpochOf("a"), 7);
}

TEST_F(ReconcileLoopTest, AFailedWriteIsRetriedAndDoesNotDelayOtherObjects) {
  store_->answer = [&](const api::Key& key) -> Status {
    Count(key);
    if (key.name == "a" && attempts("a") < 3) return Unavailable("the disk is unavailable");
    return {};
  };
  Start(milliseconds(1));
  Apply("a");
  Apply("b");
  Run();
  EXPECT_TRUE(WaitForAttempts("a", 3));
  EXPECT_TRUE(WaitForAttempts("b", 1));
  Stop();
  EXPECT_EQ(EpochOf("a"), 7);
  EXPECT_EQ(EpochOf("b"), 7);
  EXPECT_THAT(registry_.Text(), AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("OK")));
}

TEST_F(ReconcileLoopTest, AWriteThatAStopCancelledIsNotRetried) {
  store_->answer = [&](const api::Key& key) -> Status {
    Count(key);
    if (key.name == "a") return Cancelled("the controller stops");
    return {};
  };
  Start(milliseconds(0));
  Apply("a");
  Run();
  EXPECT_TRUE(WaitForAttempts("a", 1));
  Apply("b");
  EXPECT_TRUE(WaitForAttempts("b", 1)) << "due objects are reconciled in order";
  Stop();
  EXPECT_EQ(attempts("a"), 1);
}

TEST_F(ReconcileLoopTest, ReportsThatItIsAliveWithoutWork) {
  Start(milliseconds(1));
  Run();
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, seconds(20), [&] { return turns_ >= 3; }));
}

TEST_F(ReconcileLoopTest, FindsTheHighestEpochOfAllStatuses) {
  EXPECT_EQ(EpochOfStatuses(*store_).value(), 0);
  Start(milliseconds(1));
  for (const auto& [name, status] : std::map<std::string, Json>{
           {"a", {{"epoch", 3}}}, {"b", {{"epoch", 12}}}, {"c", {{"epoch", "99"}}}, {"d", Json::object()}}) {
    Apply(name);
    const auto object = store_->Get(KeyOfModel(name)).value();
    ASSERT_TRUE(store_->PutStatus(KeyOfModel(name), object.metadata.uid, object.metadata.resource_version, status));
  }
  EXPECT_EQ(EpochOfStatuses(*store_).value(), 12);
}

}  // namespace
}  // namespace longshore::app

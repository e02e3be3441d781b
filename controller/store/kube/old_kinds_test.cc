#include "controller/store/kube/old_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longshore::store::kube {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class TestTimer final : public MonotonicClock {
 public:
  MonotonicPoint Now() const override { return now; }
  MonotonicPoint now{};
};

// Behaves as an API server that knows only some fields: a write that changes nothing keeps the resource version.
class OldServer final : public Store {
 public:
  Result<Object> Get(const api::Key&) override {
    if (is_deleted) return NotFound("it was deleted");
    return object;
  }
  Result<std::vector<api::Key>> Keys(const std::string&) override { return std::vector<api::Key>(); }
  Result<Listing> List(const std::string&) override { return Listing(); }
  Result<Object> Apply(const Object& wanted) override { return wanted; }
  Result<Object> DryApply(const Object& wanted) override { return wanted; }
  Result<Object> PutStatus(const api::Key&, const std::string&, const std::string&, const Json& status) override {
    ++writes;
    Json kept = status;
    if (drops) kept.erase("acceptedCommands");
    if (kept != object.status) object.metadata.resource_version = std::to_string(++version);
    object.status = kept;
    return object;
  }
  Result<Object> PatchStatus(const api::Key&, const std::string&, const std::string&, const Json&) override {
    return object;
  }
  Status Delete(const api::Key&, const std::string&) override { return {}; }
  Result<std::unique_ptr<Watch>> WatchAll(OnChange) override { return std::unique_ptr<Watch>(); }

  Object object;
  int version = 0;
  int writes = 0;
  bool drops = true;
  bool is_deleted = false;
};

class OldKindsTest : public testing::Test {
 protected:
  // Writes the status over the stored object, as a reconciliation does.
  void Reconcile(const Json& status) {
    const std::string version = server_.object.metadata.resource_version;
    ASSERT_TRUE(store_.PutStatus(key_, "uid", version, status));
  }

  const api::Key key_{api::kModelKind, "default", "digits"};
  const Json status_ = {{"stableVersion", 1}, {"acceptedCommands", {"promote"}}};
  TestTimer timer_;
  OldServer server_;
  OldKinds store_{server_, timer_};
};

TEST_F(OldKindsTest, NamesTheFieldsThatTheServerDrops) {
  EXPECT_EQ(store_.problem(), "");
  Reconcile(status_);
  EXPECT_THAT(store_.problem(), HasSubstr("the CRDs are older than the controller"));
  EXPECT_THAT(store_.problem(), HasSubstr("(Model status.acceptedCommands): helm show crds CHART | kubectl apply"));
}

TEST_F(OldKindsTest, DoesNotWriteTheSameStatusAgain) {
  for (int i = 0; i < 5; ++i) Reconcile(status_);
  EXPECT_EQ(server_.writes, 1);
  Reconcile({{"stableVersion", 2}, {"acceptedCommands", {"promote"}}});
  EXPECT_EQ(server_.writes, 2) << "another status";
  server_.object.metadata.resource_version = "77";
  Reconcile({{"stableVersion", 2}, {"acceptedCommands", {"promote"}}});
  EXPECT_EQ(server_.writes, 3) << "another client has changed the object";
}

TEST_F(OldKindsTest, WritesAllFieldsSoonAfterTheKindsWereUpgraded) {
  Reconcile(status_);
  server_.drops = false;
  timer_.now += OldKinds::kPause;
  Reconcile(status_);
  EXPECT_EQ(server_.object.status, status_);
  EXPECT_EQ(store_.problem(), "");
}

TEST_F(OldKindsTest, ForgetsADeletedObject) {
  Reconcile(status_);
  server_.is_deleted = true;
  EXPECT_FALSE(store_.Get(key_));
  EXPECT_EQ(store_.problem(), "");
}

TEST_F(OldKindsTest, WritesEachTimeIfTheServerKeepsAllFields) {
  server_.drops = false;
  for (int i = 0; i < 3; ++i) Reconcile(status_);
  EXPECT_EQ(server_.writes, 3);
  EXPECT_EQ(store_.problem(), "");
}

}  // namespace
}  // namespace longshore::store::kube

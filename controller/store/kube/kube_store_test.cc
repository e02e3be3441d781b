// Runs against a real API server: tests/cluster/control_plane.py starts it and provides its kubeconfig.
#include "controller/store/kube/kube_store.h"

#include <atomic>
#include <thread>

#include "controller/kube/testing.h"
#include "controller/store/store_contract_test.h"

namespace longshore::store::kube {
namespace {

const SteadyClock kClock;

std::unique_ptr<KubeStore> OpenStore() {
  return KubeStore::Open(longshore::kube::ClusterForTests(), {}, kClock).value();
}

class KubeBackend final : public StoreBackend {
 public:
  KubeBackend() {
    const auto api = longshore::kube::ConnectForTests(kClock);
    const Json alone = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "alone"}}}};
    const auto made = api->Send({.method = "POST", .target = "/api/v1/namespaces", .body = alone.dump()});
    CHECK(made || made.error().code == Code::kAlreadyExists);
    const auto store = OpenStore();
    for (const char* kind : {api::kModelKind, api::kServingFleetKind}) {
      const auto listing = store->List(kind);
      CHECK(listing);
      for (const Object& object : listing->objects) CHECK(store->Delete(KeyOf(object), object.metadata.uid));
    }
  }
  std::unique_ptr<Store> Open() override { return OpenStore(); }
  bool Damage(const api::Key&) override { return false; }  // The API server rejects objects that violate the schema.
  bool RunConcurrently(const std::function<int()>& work) override {
    // Each run opens its own client, so two threads share only the server.
    int second = 1;
    std::thread other([&] { second = work(); });
    const int first = work();
    other.join();
    return first == 0 && second == 0;
  }
};

INSTANTIATE_TEST_SUITE_P(Kube, StoreContract, ::testing::Values([]() -> std::unique_ptr<StoreBackend> {
                           return std::make_unique<KubeBackend>();
                         }));

class KubeStoreTest : public ::testing::Test {
 protected:
  KubeBackend backend_;
  std::unique_ptr<KubeStore> store_ = OpenStore();
};

TEST_F(KubeStoreTest, WithAWatchAReadReturnsEarlierWritesImmediately) {
  const auto watch = store_->WatchAll([](const api::Key&) {}).value();
  Object last = store_->Apply(Model("digits", 1)).value();
  for (int i = 1; i <= 50; ++i) {
    last = store_->PutStatus(KeyOf(last), last.metadata.uid, last.metadata.resource_version, {{"stableVersion", i}})
               .value();
    ASSERT_EQ(store_->Get(KeyOf(last))->status.at("stableVersion"), i);
  }
}

TEST_F(KubeStoreTest, ALateWatchDoesNotRestoreAnOlderVersion) {
  std::atomic<int64_t> newest = 0;
  std::atomic<int> went_back = 0;
  const api::Key key{api::kModelKind, "default", "digits"};
  const auto check = [&](const api::Key& changed) {
    const auto object = store_->Get(changed);
    if (!object || object->status.is_null()) return;
    const auto seen = object->status.at("stableVersion").get<int64_t>();
    if (seen < newest) ++went_back;
    newest = std::max(newest.load(), seen);
  };
  Object last = store_->Apply(Model("digits", 1)).value();
  {
    const auto watch = store_->WatchAll(check).value();
    for (int i = 1; i <= 100; ++i) {
      last = store_->PutStatus(key, last.metadata.uid, last.metadata.resource_version, {{"stableVersion", i}}).value();
    }
  }
  EXPECT_EQ(went_back, 0);
  EXPECT_EQ(newest, 100);
}

TEST_F(KubeStoreTest, ListsEachKindOnceHoweverManyObjectsChange) {
  SeenKeys seen;
  const auto watch = store_->WatchAll(seen.Receiver()).value();
  const auto other = OpenStore();
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(other->Apply(Model("m" + std::to_string(i), 1)));
  EXPECT_TRUE(seen.WaitFor({api::kModelKind, "default", "m29"}, 1));
  EXPECT_EQ(store_->lists(), 2) << "one for each kind";
}

TEST_F(KubeStoreTest, NamesTheFieldThatTheSchemaRejects) {
  Object bad = Model("digits", 1);
  bad.spec["version"] = "one";
  const auto applied = store_->Apply(bad);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Code::kInvalidArgument);
  EXPECT_THAT(applied.error().message, ::testing::HasSubstr("spec.version"));
  bad = Model("digits", 1);
  bad.spec["vesion"] = 1;
  EXPECT_THAT(store_->Apply(bad).error().message, ::testing::HasSubstr("vesion"));
}

TEST_F(KubeStoreTest, ErrorsNameAServerThatDoesNotAnswer) {
  longshore::kube::Cluster nowhere = longshore::kube::ClusterForTests();
  nowhere.server = "https://127.0.0.1:1";
  const auto store = KubeStore::Open(nowhere, {.first_list_max = std::chrono::milliseconds(300)}, kClock).value();
  const auto object = store->Get({api::kModelKind, "default", "digits"});
  EXPECT_EQ(object.error().code, Code::kUnavailable);
  EXPECT_THAT(object.error().message, ::testing::HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(store->WatchAll([](const api::Key&) {}).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace longshore::store::kube

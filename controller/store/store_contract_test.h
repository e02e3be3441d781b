// Tests of the contract in store.h, which every implementation must pass. An implementation instantiates them with
//
//   INSTANTIATE_TEST_SUITE_P(Local, StoreContract, ::testing::Values([] { return std::make_unique<LocalBackend>(); }));
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "controller/store/document.h"
#include "controller/store/store.h"

namespace longshore::store {

// An empty store; each Open returns a separate client of it.
class StoreBackend {
 public:
  virtual ~StoreBackend() = default;
  virtual std::unique_ptr<Store> Open() = 0;
  // Makes an existing object unreadable. Returns false if this backend cannot do that.
  virtual bool Damage(const api::Key& key) = 0;
  // Runs `work` twice at the same time, on two clients that share only the backend. `work` returns 0 on success.
  virtual bool RunConcurrently(const std::function<int()>& work) = 0;
};

// A Model in the default namespace that every backend accepts.
inline Object Model(const std::string& name, int version) {
  Object object;
  object.kind = api::kModelKind;
  object.metadata.name = name;
  object.spec = {{"fleet", "cpu"}, {"source", {{"uri", "file:///models/digits"}}}, {"version", version}};
  return object;
}

class StoreContract : public ::testing::TestWithParam<std::function<std::unique_ptr<StoreBackend>()>> {
 protected:
  static Object Fleet(const std::string& name) {
    Object object;
    object.kind = api::kServingFleetKind;
    object.metadata.name = name;
    object.spec = Json::object();
    return object;
  }
  static Json Stable(int64_t version) { return {{"stableVersion", version}}; }

  // Adds 1 to status.stableVersion; retries as long as other clients write in between.
  static Status Increment(Store& store, const api::Key& key) {
    constexpr int kTriesMax = 10000;
    for (int i = 0; i < kTriesMax; ++i) {
      ASSIGN_OR_RETURN(const Object seen, store.Get(key));
      const int count = seen.status.is_null() ? 0 : seen.status.at("stableVersion").get<int>();
      const auto put = store.PutStatus(key, seen.metadata.uid, seen.metadata.resource_version, Stable(count + 1));
      if (put) return {};
      if (put.error().code != Code::kAborted) return tl::make_unexpected(put.error());
    }
    return ResourceExhausted("every one of {} attempts conflicted with another write", kTriesMax);
  }

  std::unique_ptr<StoreBackend> backend_ = GetParam()();
  std::unique_ptr<Store> store_ = backend_->Open();
};

// Counts the reported keys, and waits for them without sleeping.
class SeenKeys {
 public:
  OnChange Receiver() {
    return [this](const api::Key& key) {
      const std::scoped_lock lock(mutex_);
      ++times_[key];
      changed_.notify_all();
    };
  }
  int times(const api::Key& key) {
    const std::scoped_lock lock(mutex_);
    return times_[key];
  }
  bool WaitFor(const api::Key& key, int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return times_[key] >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<api::Key, int> times_;
};

TEST_P(StoreContract, SetsUidGenerationAndResourceVersionOnTheFirstApply) {
  const auto applied = store_->Apply(Model("digits", 1));
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_NE(applied->metadata.uid, "");
  EXPECT_EQ(applied->metadata.generation, 1);
  EXPECT_NE(applied->metadata.resource_version, "");
  const auto seen = backend_->Open()->Get(KeyOf(*applied));
  ASSERT_TRUE(seen);
  EXPECT_EQ(ToDocument(*seen), ToDocument(*applied)) << "another client reads the same object";
}

TEST_P(StoreContract, IncrementsTheGenerationOnlyWhenTheSpecChanges) {
  const Object first = store_->Apply(Model("digits", 1)).value();
  Object labelled = Model("digits", 1);
  labelled.metadata.labels["team"] = "vision";
  const Object second = store_->Apply(labelled).value();
  EXPECT_EQ(second.metadata.generation, 1);
  EXPECT_NE(second.metadata.resource_version, first.metadata.resource_version);
  EXPECT_EQ(second.metadata.labels.at("team"), "vision");
  const Object third = store_->Apply(Model("digits", 2)).value();
  EXPECT_EQ(third.metadata.generation, 2);
  EXPECT_EQ(third.metadata.uid, first.metadata.uid);
  EXPECT_TRUE(third.metadata.labels.empty());
}

TEST_P(StoreContract, ApplyingTheSameObjectAgainWritesNothing) {
  const Object first = store_->Apply(Model("digits", 1)).value();
  const Object again = store_->Apply(Model("digits", 1)).value();
  EXPECT_EQ(again.metadata.resource_version, first.metadata.resource_version);
}

TEST_P(StoreContract, ADryRunReturnsWhatApplyWouldReturnAndWritesNothing) {
  const api::Key key{api::kModelKind, "default", "digits"};
  EXPECT_EQ(store_->DryApply(Model("digits", 1))->spec.at("version"), 1);
  EXPECT_EQ(store_->Get(key).error().code, Code::kNotFound);
  const Object first = store_->Apply(Model("digits", 1)).value();
  EXPECT_EQ(store_->DryApply(Model("digits", 1))->metadata.generation, 1);
  const auto changed = store_->DryApply(Model("digits", 2));
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->spec.at("version"), 2);
  EXPECT_EQ(changed->metadata.generation, 2);
  EXPECT_EQ(ToDocument(*store_->Get(key)), ToDocument(first));
  EXPECT_EQ(store_->DryApply(Model("No_name", 1)).error().code, Code::kInvalidArgument);
}

TEST_P(StoreContract, AStatusWriteWithAnOutdatedResourceVersionIsAborted) {
  const Object first = store_->Apply(Model("digits", 1)).value();
  const api::Key key = KeyOf(first);
  const auto put = store_->PutStatus(key, first.metadata.uid, first.metadata.resource_version, Stable(7));
  ASSERT_TRUE(put) << put.error().message;
  EXPECT_EQ(put->metadata.generation, 1) << "a new status does not change the spec";
  const auto stale = store_->PutStatus(key, first.metadata.uid, first.metadata.resource_version, Stable(8));
  EXPECT_EQ(stale.error().code, Code::kAborted);
  EXPECT_EQ(store_->Get(key)->status.at("stableVersion"), 7);
}

TEST_P(StoreContract, WritingTheSameStatusAgainWritesNothing) {
  const Object first = store_->Apply(Model("digits", 1)).value();
  const Json status = Stable(7);
  const Object put =
      store_->PutStatus(KeyOf(first), first.metadata.uid, first.metadata.resource_version, status).value();
  const Object again = store_->PutStatus(KeyOf(first), put.metadata.uid, put.metadata.resource_version, status).value();
  EXPECT_EQ(again.metadata.resource_version, put.metadata.resource_version);
}

TEST_P(StoreContract, APatchChangesOnlyItsFieldsOfTheStatus) {
  const Object first = store_->Apply(Model("digits", 1)).value();
  const api::Key key = KeyOf(first);
  const Json command = {{"id", "a"}, {"verb", "pause"}, {"generation", 1}};
  const auto added = store_->PatchStatus(key, first.metadata.uid, first.metadata.resource_version,
                                         {{"commands", Json::array({command})}});
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(added->status.at("commands").at(0).at("verb"), "pause") << "there was no status before";
  Json status = added->status;
  status["stableVersion"] = 7;
  const Object put = store_->PutStatus(key, first.metadata.uid, added->metadata.resource_version, status).value();
  const auto removed =
      store_->PatchStatus(key, first.metadata.uid, put.metadata.resource_version, {{"commands", Json()}});
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->status, Stable(7));
  EXPECT_EQ(removed->metadata.generation, 1);
  EXPECT_EQ(removed->spec, first.spec);
}

TEST_P(StoreContract, APatchWithAnOutdatedResourceVersionChangesNothing) {
  const Object first = store_->Apply(Model("digits", 1)).value();
  const api::Key key = KeyOf(first);
  ASSERT_TRUE(store_->PutStatus(key, first.metadata.uid, first.metadata.resource_version, Stable(7)));
  const Json fields = {{"stableVersion", 8}};
  EXPECT_EQ(store_->PatchStatus(key, first.metadata.uid, first.metadata.resource_version, fields).error().code,
            Code::kAborted);
  EXPECT_EQ(store_->PatchStatus({api::kModelKind, "default", "nothing"}, "uid", "1", fields).error().code,
            Code::kNotFound);
  EXPECT_EQ(store_->Get(key)->status, Stable(7));
}

TEST_P(StoreContract, APatchOfADeletedObjectDoesNotTouchANewObjectOfTheSameName) {
  const Object old = store_->Apply(Model("digits", 1)).value();
  const api::Key key = KeyOf(old);
  ASSERT_TRUE(store_->Delete(key, old.metadata.uid));
  ASSERT_TRUE(store_->Apply(Model("digits", 1)));
  const Json fields = {{"stableVersion", 8}};
  EXPECT_EQ(store_->PatchStatus(key, old.metadata.uid, old.metadata.resource_version, fields).error().code,
            Code::kNotFound);
  EXPECT_TRUE(store_->Get(key)->status.is_null());
}

TEST_P(StoreContract, ApplyKeepsTheStatusAndAbortsAStaleStatusWrite) {
  const Object first = store_->Apply(Model("digits", 1)).value();
  const api::Key key = KeyOf(first);
  const Object put = store_->PutStatus(key, first.metadata.uid, first.metadata.resource_version, Stable(1)).value();
  EXPECT_EQ(store_->Apply(Model("digits", 2))->status.at("stableVersion"), 1);
  EXPECT_EQ(store_->PutStatus(key, put.metadata.uid, put.metadata.resource_version, Stable(2)).error().code,
            Code::kAborted);
}

TEST_P(StoreContract, WritesAndDeletesOfAnOldUidDoNotTouchANewObjectOfTheSameName) {
  const Object old = store_->Apply(Model("digits", 1)).value();
  const api::Key key = KeyOf(old);
  ASSERT_TRUE(store_->Delete(key, old.metadata.uid));
  const Object now = store_->Apply(Model("digits", 1)).value();
  EXPECT_NE(now.metadata.uid, old.metadata.uid);
  EXPECT_TRUE(now.status.is_null());
  EXPECT_EQ(store_->PutStatus(key, old.metadata.uid, now.metadata.resource_version, Stable(1)).error().code,
            Code::kNotFound);
  EXPECT_EQ(store_->Delete(key, old.metadata.uid).error().code, Code::kAborted);
  EXPECT_TRUE(store_->Get(key));
}

TEST_P(StoreContract, AMissingObjectIsNotFound) {
  const api::Key key{api::kModelKind, "default", "nothing"};
  EXPECT_EQ(store_->Get(key).error().code, Code::kNotFound);
  EXPECT_EQ(store_->PutStatus(key, "uid", "1", {}).error().code, Code::kNotFound);
  EXPECT_EQ(store_->Delete(key, "uid").error().code, Code::kNotFound);
  EXPECT_TRUE(store_->List(api::kModelKind)->objects.empty());
}

TEST_P(StoreContract, ListsOneKindOrderedByNamespaceAndName) {
  for (const char* name : {"b", "a"}) {
    ASSERT_TRUE(store_->Apply(Model(name, 1)));
    Object elsewhere = Model(name, 1);
    elsewhere.metadata.namespace_ = "alone";
    ASSERT_TRUE(store_->Apply(elsewhere));
  }
  ASSERT_TRUE(store_->Apply(Fleet("cpu")));
  std::vector<std::string> names;
  const std::vector<Object> objects = store_->List(api::kModelKind)->objects;
  for (const Object& object : objects) {
    names.push_back(object.metadata.namespace_ + "/" + object.metadata.name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("alone/a", "alone/b", "default/a", "default/b"));
  EXPECT_EQ(store_->Keys(api::kModelKind), (std::vector<api::Key>{{api::kModelKind, "alone", "a"},
                                                                  {api::kModelKind, "alone", "b"},
                                                                  {api::kModelKind, "default", "a"},
                                                                  {api::kModelKind, "default", "b"}}));
}

TEST_P(StoreContract, AnUnreadableObjectDoesNotHideTheOthers) {
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(store_->Apply(Model(name, 1)));
  const api::Key damaged{api::kModelKind, "default", "b"};
  if (!backend_->Damage(damaged)) GTEST_SKIP() << "this backend does not store unreadable objects";
  EXPECT_EQ(store_->Get(damaged).error().code, Code::kDataLoss);
  const auto listing = store_->List(api::kModelKind);
  ASSERT_TRUE(listing) << listing.error().message;
  ASSERT_EQ(listing->objects.size(), 2U);
  EXPECT_EQ(listing->objects[1].metadata.name, "c");
  EXPECT_EQ(store_->Keys(api::kModelKind)->size(), 3U);
  ASSERT_EQ(listing->unreadable.size(), 1U);
  EXPECT_EQ(listing->unreadable[0].key, damaged);
  EXPECT_THAT(listing->unreadable[0].why, ::testing::HasSubstr("b"));
}

TEST_P(StoreContract, RejectsInvalidNames) {
  for (const char* name : {"../x", "", "UPPER", ".hidden", "a/b"}) {
    EXPECT_EQ(store_->Apply(Model(name, 1)).error().code, Code::kInvalidArgument) << name;
  }
}

TEST_P(StoreContract, AWatchReportsExistingObjectsAndChangesByOtherClients) {
  const Object existing = store_->Apply(Model("existing", 1)).value();
  SeenKeys seen;
  const auto watch = store_->WatchAll(seen.Receiver());
  ASSERT_TRUE(watch) << watch.error().message;
  EXPECT_TRUE(seen.WaitFor(KeyOf(existing), 1));
  const auto other = backend_->Open();
  const Object later = other->Apply(Model("later", 1)).value();
  EXPECT_TRUE(seen.WaitFor(KeyOf(later), 1)) << "created by another client";
  const int before_status = seen.times(KeyOf(later));
  ASSERT_TRUE(other->PutStatus(KeyOf(later), later.metadata.uid, later.metadata.resource_version, Stable(1)));
  EXPECT_TRUE(seen.WaitFor(KeyOf(later), before_status + 1)) << "its status changed";
  const int before_delete = seen.times(KeyOf(existing));
  ASSERT_TRUE(other->Delete(KeyOf(existing), existing.metadata.uid));
  EXPECT_TRUE(seen.WaitFor(KeyOf(existing), before_delete + 1)) << "it was deleted";
}

TEST_P(StoreContract, ConcurrentWritersLoseNoUpdates) {
  const Object object = store_->Apply(Model("digits", 1)).value();
  constexpr int kEach = 50;
  const auto increment_all = [&] {
    const auto store = backend_->Open();
    for (int i = 0; i < kEach; ++i) {
      if (!Increment(*store, KeyOf(object))) return 1;
    }
    return 0;
  };
  EXPECT_TRUE(backend_->RunConcurrently(increment_all));
  EXPECT_EQ(store_->Get(KeyOf(object))->status.at("stableVersion"), 2 * kEach);
}

}  // namespace longshore::store

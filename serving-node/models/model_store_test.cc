#include "serving-node/models/model_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>

#include "common/os/file.h"
#include "common/version_files/digest.h"
#include "serving-node/models/fake_engine.h"
#include "serving-node/saved_model/tfrecord.h"
#include "serving-node/tensor/proto.h"
#include "tensorflow_serving/prediction_log.pb.h"

namespace longshore::models {
namespace {

namespace fs = std::filesystem;

class Models : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "models-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override {
    store_.reset();
    EXPECT_EQ(engine_.record().in_memory, 0) << "a version was never unloaded";
    fs::remove_all(base_);
  }

  void WriteVersion(const std::string& model, int64_t version, const std::string& content = "good") {
    const Path dir = base_ / model / std::to_string(version);
    fs::create_directories(dir / "assets.extra");
    ASSERT_TRUE(WriteFileAtomically(dir / "saved_model.pb", content));
  }
  void WriteWarmUp(const std::string& model, int64_t version, const std::vector<std::string>& records) {
    const Path path = base_ / model / std::to_string(version) / "assets.extra" / "tf_serving_warmup_requests";
    ASSERT_TRUE(saved_model::WriteTfRecords(path, records));
  }
  static std::string PredictRecord(const std::vector<float>& row) {
    tensorflow::serving::PredictionLog log;
    auto* request = log.mutable_predict_log()->mutable_request();
    tensor::ToProto(tensor::Tensor::Of<float>({1, 2}, row), &(*request->mutable_inputs())["x"]);
    return log.SerializeAsString();
  }

  ModelStore& Store(ModelStore::Options options = {}, LoadGate gate = {}) {
    store_ = std::make_unique<ModelStore>(engine_, admission_, options, std::move(gate),
                                          [this](const std::string& model, const VersionStatus& status) {
                                            const std::lock_guard lock(mutex_);
                                            changes_.emplace_back(model, status);
                                            changed_.notify_all();
                                          });
    return *store_;
  }
  Wanted Want(const std::string& model, std::vector<int64_t> versions) {
    return {.name = model, .base_path = base_ / model, .versions = std::move(versions)};
  }
  VersionStatus WaitFor(const std::string& model, int64_t version, State state) {
    SCOPED_TRACE(testing::Message() << "version " << version);
    return WaitFor(model,
                   [&](const VersionStatus& status) { return status.version == version && status.state == state; });
  }
  // Waits until a change of the model satisfies `matches`, and returns the first such change.
  VersionStatus WaitFor(const std::string& model, const std::function<bool(const VersionStatus&)>& matches) {
    std::unique_lock lock(mutex_);
    VersionStatus found;
    const bool in_time = changed_.wait_for(lock, std::chrono::seconds(60), [&] {
      return std::any_of(changes_.begin(), changes_.end(), [&](const auto& change) {
        found = change.second;
        return change.first == model && matches(found);
      });
    });
    EXPECT_TRUE(in_time) << model;
    return found;
  }
  void ForgetChanges() {
    const std::lock_guard lock(mutex_);
    changes_.clear();
  }
  State StateOf(const std::string& model, int64_t version) {
    for (const auto& status : store_->Statuses(model)) {
      if (status.version == version) return status.state;
    }
    return State::kEnd;
  }

  Path base_;
  FakeEngine engine_;
  batching::Admission admission_{{.concurrent_runs_max = 4}};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::string, VersionStatus>> changes_;
  std::unique_ptr<ModelStore> store_;
};

TEST_F(Models, AnswersWithTensorFlowServingsErrors) {
  WriteVersion("digits", 3);
  ModelStore& store = Store();
  EXPECT_FALSE(store.AllAvailable());
  Wanted wanted = Want("digits", {3});
  wanted.labels = {{"stable", 3}, {"gone", 2}};
  store.Apply({wanted});
  WaitFor("digits", 3, State::kAvailable);
  EXPECT_TRUE(store.AllAvailable());
  EXPECT_EQ(store.Names(), std::vector<std::string>{"digits"});
  EXPECT_EQ(store.memory_bytes(), 1000);
  EXPECT_EQ((*store.Find("digits"))->version, 3);
  EXPECT_EQ((*store.Find("digits", 3))->version, 3);
  EXPECT_EQ((*store.FindLabel("digits", "stable"))->version, 3);
  EXPECT_EQ(store.Find("x").error(), (Error{Code::kNotFound, "Servable not found for request: Latest(x)"}));
  EXPECT_EQ(store.Find("digits", 4).error(),
            (Error{Code::kNotFound, "Servable not found for request: Specific(digits, 4)"}));
  EXPECT_EQ(store.FindLabel("digits", "x").error(),
            (Error{Code::kInvalidArgument, "Unrecognized servable version label: x"}));
  EXPECT_EQ(store.FindLabel("other", "x").error(),
            (Error{Code::kNotFound, "Servable not found for request: Latest(other)"}))
      << "a name invented by a client must not be counted as a model";
  EXPECT_EQ(store.FindLabel("digits", "gone").error().message, "Servable not found for request: Specific(digits, 2)");
}

TEST_F(Models, DoesNotServeAVersionWhoseFilesChangeWhileTheyAreLoaded) {
  WriteVersion("digits", 1);
  std::atomic<int> gates = 0;
  ModelStore& store =
      Store({.copy_retry_interval = std::chrono::milliseconds(1)}, [&](const auto&, int64_t, const Path& dir) {
        if (gates++ < 2) return WriteFileAtomically(dir / "assets.extra" / "table", std::to_string(gates));
        return Status();
      });
  store.Apply({Want("digits", {1})});
  const VersionStatus served = WaitFor("digits", 1, State::kAvailable);
  EXPECT_EQ(gates, 3) << "the files changed during the first two loads";
  EXPECT_EQ(served.error.code, Code::kOk);
  EXPECT_EQ(served.digest, *version_files::VersionDigest(base_ / "digits" / "1"));
  const auto copied = std::ranges::count_if(changes_, [](const auto& change) {
    return change.second.state == State::kStart && change.second.error.code == Code::kUnavailable;
  });
  EXPECT_EQ(copied, 2);
}

TEST_F(Models, TriesAVersionAgainThatFailsWhileItIsBeingCopied) {
  WriteVersion("digits", 1, "bad");
  WriteVersion("digits", 2, "bad");
  std::atomic<int> gates = 0;
  ModelStore& store = Store({.load_threads = 1, .copy_retry_interval = std::chrono::milliseconds(1)},
                            [&](const auto&, int64_t version, const Path& dir) -> Status {
                              if (gates++ % 2 == 1) return {};
                              RETURN_IF_ERROR(WriteFileAtomically(dir / "saved_model.pb", version == 2 ? "good" : ""));
                              return FailedPrecondition("half of it is there");
                            });
  store.Apply({Want("digits", {2})});
  WaitFor("digits", 2, State::kAvailable);
  store.Apply({Want("digits", {1})});
  WaitFor("digits", 1, State::kAvailable);
  EXPECT_EQ(gates, 4) << "each version failed once, because its files had changed";
}

TEST_F(Models, AFullyCopiedVersionThatFailsIsNotRetried) {
  WriteVersion("digits", 1, "bad");
  ModelStore& store = Store();
  store.Apply({Want("digits", {1})});
  EXPECT_EQ(WaitFor("digits", 1, State::kFailed).error.code, Code::kDataLoss);
}

TEST_F(Models, ReportsTheStatesOfAVersionInOrder) {
  WriteVersion("digits", 1);
  ModelStore& store = Store();
  store.Apply({Want("digits", {1})});
  EXPECT_EQ(WaitFor("digits", 1, State::kAvailable).digest.size(), 64u);
  store.Apply({});
  WaitFor("digits", 1, State::kEnd);
  std::vector<State> way;
  for (const auto& change : changes_) way.push_back(change.second.state);
  EXPECT_EQ(way, (std::vector{State::kStart, State::kLoading, State::kWarming, State::kAvailable, State::kUnloading,
                              State::kEnd}));
  EXPECT_EQ(store.Statuses("digits").size(), 1u);
  EXPECT_TRUE(store.Names().empty());
}

TEST_F(Models, KeepsTheOldVersionUntilTheNewOneIsAvailable) {
  WriteVersion("digits", 1);
  WriteVersion("digits", 2);
  std::promise<void> open;
  auto opened = open.get_future().share();
  ModelStore& store = Store({}, [opened](const std::string&, int64_t version, const Path&) -> Status {
    if (version == 2) opened.wait();
    return {};
  });
  store.Apply({Want("digits", {1})});
  WaitFor("digits", 1, State::kAvailable);
  store.Apply({Want("digits", {2})});
  WaitFor("digits", 2, State::kLoading);
  EXPECT_EQ((*store.Find("digits"))->version, 1);
  open.set_value();
  WaitFor("digits", 1, State::kEnd);
  EXPECT_EQ((*store.Find("digits"))->version, 2);
}

TEST_F(Models, UnloadsTheOldVersionBeforeLoadingTheNewOneWithUnloadFirst) {
  WriteVersion("digits", 1);
  WriteVersion("digits", 2);
  std::atomic<int64_t> in_memory_at_load = -1;
  ModelStore& store = Store({.unload_first = true}, [&](const std::string&, int64_t version, const Path&) -> Status {
    const std::lock_guard lock(engine_.record().mutex);
    if (version == 2) in_memory_at_load = engine_.record().in_memory;
    return {};
  });
  store.Apply({Want("digits", {1})});
  WaitFor("digits", 1, State::kAvailable);
  Handle held = *store.Find("digits");
  store.Apply({Want("digits", {2})});
  WaitFor("digits", 1, State::kUnloading);
  EXPECT_FALSE(store.Find("digits"));
  EXPECT_EQ(StateOf("digits", 2), State::kStart) << "a request still uses the old one";
  held.reset();
  WaitFor("digits", 2, State::kAvailable);
  EXPECT_EQ(in_memory_at_load, 0);
}

TEST_F(Models, AVersionThatDoesNotFitIntoMemoryIsRetriedAfterAnotherIsUnloaded) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("b", 1, std::string(1000, 'b'));
  ModelStore& store =
      Store({.load_retries_max = 1, .load_retry_interval = std::chrono::hours(1), .memory_bytes_max = 2399});
  store.Apply({Want("a", {1})});
  WaitFor("a", 1, State::kAvailable);
  store.Apply({Want("a", {1}), Want("b", {1})});
  WaitFor("b", 1, State::kLoading);
  const auto refused = [&] { return store.Statuses("b").front().error; };
  while (refused().code == Code::kOk) std::this_thread::yield();
  EXPECT_EQ(refused(),
            (Error{Code::kResourceExhausted,
                   "model \"b\" version 1 needs about 1200 bytes of memory; of the limit of 2399 bytes, 1200 are "
                   "reserved"}));
  store.Apply({Want("b", {1})});
  WaitFor("b", 1, State::kAvailable);
}

TEST_F(Models, AVersionThatDidNotFitIsRetriedAlthoughItHasNoRetriesLeft) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("b", 1, std::string(1000, 'b'));
  ModelStore& store = Store({.load_retries_max = 0, .memory_bytes_max = 2399});
  store.Apply({Want("a", {1})});
  WaitFor("a", 1, State::kAvailable);
  store.Apply({Want("a", {1}), Want("b", {1})});
  const VersionStatus refused = WaitFor("b", 1, State::kFailed);
  EXPECT_EQ(refused.error.code, Code::kResourceExhausted);
  ASSERT_TRUE(refused.memory_shortage);
  EXPECT_EQ(refused.memory_shortage->needed_bytes, 1200);
  EXPECT_EQ(refused.memory_shortage->free_bytes, 1199);
  store.Apply({Want("b", {1})});
  EXPECT_FALSE(WaitFor("b", 1, State::kAvailable).memory_shortage);
}

TEST_F(Models, AnUnwantedVersionMakesRoomForANewOneIfItMay) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("a", 2, std::string(1000, 'b'));
  ModelStore& store = Store({.load_retries_max = 0, .unload_for_memory = true, .memory_bytes_max = 2399});
  store.Apply({Want("a", {1})});
  WaitFor("a", 1, State::kAvailable);
  store.Apply({Want("a", {1, 2})});
  WaitFor("a", 2, State::kFailed);
  EXPECT_TRUE(store.Find("a", 1)) << "it is wanted";
  store.Apply({Want("a", {2})});
  WaitFor("a", 2, State::kAvailable);
  EXPECT_FALSE(store.Find("a", 1));
}

TEST_F(Models, AVersionThatGivesWayIsUnloadedForOneThatLacksMemoryAndReturnsWhenThereIsRoom) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("b", 1, std::string(1000, 'b'));
  ModelStore& store = Store({.load_retries_max = 0, .memory_bytes_max = 2399});
  Wanted shadow = Want("a", {1});
  shadow.giving_way[1] = {};
  store.Apply({shadow});
  WaitFor("a", 1, State::kAvailable);
  store.Apply({shadow, Want("b", {1})});
  WaitFor("b", 1, State::kAvailable);
  const VersionStatus refused = WaitFor("a", 1, State::kFailed);
  ASSERT_TRUE(refused.memory_shortage);
  EXPECT_FALSE(refused.memory_shortage->by_own_limit);
  EXPECT_FALSE(store.Find("a", 1));
  ForgetChanges();
  store.Apply({shadow});
  WaitFor("a", 1, State::kAvailable);
}

TEST_F(Models, AVersionThatGivesWayStaysIfItsMemoryWouldNotSuffice) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("b", 1, std::string(3000, 'b'));
  ModelStore& store = Store({.load_retries_max = 0, .memory_bytes_max = 2399});
  Wanted shadow = Want("a", {1});
  shadow.giving_way[1] = {};
  store.Apply({shadow});
  WaitFor("a", 1, State::kAvailable);
  store.Apply({shadow, Want("b", {1})});
  WaitFor("b", 1, State::kFailed);
  EXPECT_TRUE(store.Find("a", 1));
  WriteVersion("c", 1, std::string(900, 'c'));
  Wanted another = Want("c", {1});
  another.giving_way[1] = {};
  store.Apply({shadow, Want("b", {1}), another});
  WaitFor("c", 1, State::kAvailable);
}

TEST_F(Models, AVersionThatGivesWayIsUnloadedOnceItsMemorySuffices) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("b", 1, std::string(2000, 'b'));
  WriteVersion("c", 1, std::string(900, 'c'));
  ModelStore& store = Store({.load_retries_max = 0, .memory_bytes_max = 3000});
  Wanted shadow = Want("a", {1});
  shadow.giving_way[1] = {};
  store.Apply({shadow, Want("c", {1})});
  WaitFor("a", 1, State::kAvailable);
  WaitFor("c", 1, State::kAvailable);
  store.Apply({shadow, Want("c", {1}), Want("b", {1})});
  WaitFor("b", 1, State::kFailed);
  EXPECT_TRUE(store.Find("a", 1)) << "its memory would not suffice";
  store.Apply({shadow, Want("b", {1})});
  WaitFor("b", 1, State::kAvailable);
  EXPECT_FALSE(store.Find("a", 1));
}

TEST_F(Models, TheSmallestVersionThatSufficesGivesWay) {
  WriteVersion("a", 1, std::string(500, 'a'));
  WriteVersion("b", 1, std::string(1500, 'b'));
  WriteVersion("c", 1, std::string(1000, 'c'));
  WriteVersion("d", 1, std::string(1000, 'd'));
  ModelStore& store = Store({.load_retries_max = 0, .memory_bytes_max = 4000});
  std::vector<Wanted> wanted = {Want("a", {1}), Want("b", {1}), Want("c", {1})};
  for (Wanted& one : wanted) one.giving_way[1] = {};
  store.Apply(wanted);
  for (const char* name : {"a", "b", "c"}) WaitFor(name, 1, State::kAvailable);
  wanted.push_back(Want("d", {1}));
  store.Apply(wanted);
  WaitFor("d", 1, State::kAvailable);
  EXPECT_TRUE(store.Find("a", 1));
  EXPECT_TRUE(store.Find("b", 1));
  EXPECT_FALSE(store.Find("c", 1));
}

TEST_F(Models, VersionsThatGiveWayAreLoadedLastAndTakeNoMemoryFromEachOther) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("a", 2, std::string(1000, 'b'));
  WriteVersion("b", 2, std::string(1000, 'c'));
  ModelStore& store = Store({.load_threads = 1, .load_retries_max = 0, .memory_bytes_max = 1300});
  Wanted first = Want("a", {1, 2});
  first.giving_way[2] = {};
  Wanted second = Want("b", {2});
  second.giving_way[2] = {};
  store.Apply({first, second});
  WaitFor("a", 2, State::kFailed);
  WaitFor("b", 2, State::kFailed);
  EXPECT_TRUE(store.Find("a", 1));
  const std::lock_guard lock(mutex_);
  const auto first_load =
      std::ranges::find_if(changes_, [](const auto& change) { return change.second.state == State::kLoading; });
  EXPECT_EQ(first_load->second.version, 1);
}

TEST_F(Models, AVersionThatGivesWayIsNotLoadedAboveItsOwnLimitUntilTheLimitIsRaised) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  ModelStore& store = Store({.load_retries_max = 0});
  Wanted shadow = Want("a", {1});
  shadow.giving_way[1] = {.memory_bytes_max = 1199};
  store.Apply({shadow});
  const VersionStatus refused = WaitFor("a", 1, State::kFailed);
  EXPECT_EQ(refused.error.message,
            "model \"a\" version 1 needs about 1200 bytes of memory, and its own limit is 1199 bytes");
  ASSERT_TRUE(refused.memory_shortage);
  EXPECT_TRUE(refused.memory_shortage->by_own_limit);
  EXPECT_EQ(refused.memory_shortage->free_bytes, 1199);
  shadow.giving_way[1] = {.memory_bytes_max = 1200};
  store.Apply({shadow});
  WaitFor("a", 1, State::kAvailable);
}

TEST_F(Models, AnUnwantedVersionStaysWhileTheNewOneLacksMemory) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("a", 2, std::string(1000, 'b'));
  ModelStore& store = Store({.load_retries_max = 0, .memory_bytes_max = 2399});
  store.Apply({Want("a", {1})});
  WaitFor("a", 1, State::kAvailable);
  store.Apply({Want("a", {2})});
  WaitFor("a", 2, State::kFailed);
  EXPECT_TRUE(store.Find("a", 1));
}

TEST_F(Models, AVersionThatDidNotFitAndThenDisappearedIsRetriedOnce) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("b", 1, std::string(1000, 'b'));
  WriteVersion("c", 1);
  ModelStore& store = Store({.load_threads = 1, .load_retries_max = 0, .memory_bytes_max = 2399});
  store.Apply({Want("a", {1})});
  WaitFor("a", 1, State::kAvailable);
  store.Apply({Want("a", {1}), Want("b", {1})});
  EXPECT_EQ(WaitFor("b", 1, State::kFailed).error.code, Code::kResourceExhausted);
  std::filesystem::remove_all(base_ / "b");
  store.Apply({Want("b", {1}), Want("c", {1})});
  WaitFor("a", 1, State::kEnd);
  WaitFor("b", [](const VersionStatus& status) { return status.error.code == Code::kNotFound; });
  WaitFor("c", 1, State::kAvailable);
  const std::lock_guard lock(mutex_);
  const auto tries = std::ranges::count_if(
      changes_, [](const auto& change) { return change.first == "b" && change.second.state == State::kLoading; });
  EXPECT_EQ(tries, 2);
}

TEST_F(Models, AVersionThatDidNotFitIsRetriedWhenAFailedLoadReleasesItsMemory) {
  WriteVersion("a", 1, std::string(1000, 'a'));
  WriteVersion("b", 1, std::string(1000, 'b'));
  std::promise<void> reached, open;
  auto opened = open.get_future().share();
  ModelStore& store = Store({.load_threads = 2, .load_retries_max = 0, .memory_bytes_max = 2399},
                            [&reached, opened](const std::string& model, int64_t, const Path&) -> Status {
                              if (model != "a") return {};
                              reached.set_value();
                              opened.wait();
                              return DataLoss("damaged");
                            });
  store.Apply({Want("a", {1})});
  reached.get_future().wait();  // Now the memory for model "a" is reserved.
  store.Apply({Want("a", {1}), Want("b", {1})});
  EXPECT_EQ(WaitFor("b", 1, State::kFailed).error.code, Code::kResourceExhausted);
  open.set_value();
  WaitFor("a", 1, State::kFailed);
  WaitFor("b", 1, State::kAvailable);
}

TEST_F(Models, AVersionThatFailsToLoadDoesNotRemoveOthers) {
  WriteVersion("digits", 1);
  WriteVersion("digits", 2, "bad");
  WriteVersion("other", 1);
  ModelStore& store = Store({.load_threads = 1});
  store.Apply({Want("digits", {1})});
  WaitFor("digits", 1, State::kAvailable);
  store.Apply({Want("digits", {2}), Want("missing", {7}), Want("other", {1})});
  EXPECT_EQ(WaitFor("digits", 2, State::kFailed).error.code, Code::kDataLoss);
  EXPECT_EQ(WaitFor("missing", 7, State::kFailed).error.code, Code::kNotFound);
  WaitFor("other", 1, State::kAvailable);
  EXPECT_EQ((*store.Find("digits"))->version, 1);
  EXPECT_FALSE(store.AllAvailable()) << "missing";
}

TEST_F(Models, RetriesALoadAutomaticallyAndOnRequest) {
  WriteVersion("digits", 1, "bad");
  ModelStore& store = Store({.load_retries_max = 2, .load_retry_interval = std::chrono::milliseconds(1)});
  store.Apply({Want("digits", {1})});
  WaitFor("digits", 1, State::kFailed);
  EXPECT_EQ(engine_.record().loads, 3);
  WriteVersion("digits", 1);
  store.Retry("digits", 1);
  WaitFor("digits", 1, State::kAvailable);
}

TEST_F(Models, ARequestedRetryDoesNotWaitForTheInterval) {
  WriteVersion("digits", 1, "bad");
  ModelStore& store = Store({.load_retries_max = 1, .load_retry_interval = std::chrono::hours(1)});
  store.Apply({Want("digits", {1})});
  while (store.Statuses("digits").front().error.code == Code::kOk) std::this_thread::yield();
  WriteVersion("digits", 1);
  store.Retry("digits", 1);
  WaitFor("digits", 1, State::kAvailable);
}

TEST_F(Models, UnloadingWaitsForTheLastHandle) {
  WriteVersion("digits", 1);
  ModelStore& store = Store();
  store.Apply({Want("digits", {1})});
  WaitFor("digits", 1, State::kAvailable);
  Handle held = *store.Find("digits");
  store.Apply({});
  WaitFor("digits", 1, State::kUnloading);
  EXPECT_FALSE(store.Find("digits"));
  EXPECT_EQ(StateOf("digits", 1), State::kUnloading);
  EXPECT_EQ(store.memory_bytes(), 1000);
  std::promise<Result<batching::RunOutcome>> answered;
  held->queue->Submit(RowsRequest({1, 2}), {},
                      [&](Result<batching::RunOutcome> outcome) { answered.set_value(std::move(outcome)); });
  EXPECT_TRUE(answered.get_future().get());
  held.reset();
  WaitFor("digits", 1, State::kEnd);
  EXPECT_EQ(store.memory_bytes(), 0);
}

TEST_F(Models, AVersionWantedAgainDuringItsUnloadIsLoadedAgain) {
  WriteVersion("digits", 1);
  ModelStore& store = Store();
  store.Apply({Want("digits", {1})});
  WaitFor("digits", 1, State::kAvailable);
  Handle held = *store.Find("digits");
  store.Apply({});
  store.Apply({Want("digits", {1})});
  EXPECT_FALSE(store.Find("digits"));
  {
    const std::lock_guard lock(mutex_);
    changes_.clear();
  }
  held.reset();
  WaitFor("digits", 1, State::kAvailable);
  EXPECT_TRUE(store.Find("digits"));
}

TEST_F(Models, ChangedBatchingAppliesWithoutALoad) {
  WriteVersion("digits", 1);
  ModelStore& store = Store();
  Wanted wanted = Want("digits", {1});
  store.Apply({wanted});
  WaitFor("digits", 1, State::kAvailable);
  wanted.batching.max_batch_size = 8;
  store.Apply({wanted});
  EXPECT_EQ((*store.Find("digits"))->queue->options().max_batch_size, 8);
  EXPECT_EQ(engine_.record().loads, 1);
}

TEST_F(Models, AVersionsOwnBatchingOverridesTheModels) {
  for (const int64_t version : {1, 2, 3}) WriteVersion("digits", version);
  ModelStore& store = Store({.batching_of = [](const Path& dir) -> Result<std::optional<batching::Options>> {
    if (dir.filename() == "1") return std::nullopt;
    if (dir.filename() == "3") return InvalidArgument("a bad file");
    return batching::Options{.max_batch_size = 4};
  }});
  Wanted wanted = Want("digits", {1, 2, 3});
  store.Apply({wanted});
  for (const int64_t version : {1, 2}) WaitFor("digits", version, State::kAvailable);
  EXPECT_EQ(WaitFor("digits", 3, State::kFailed).error.message, "a bad file");
  wanted.batching.max_batch_size = 8;
  store.Apply({wanted});
  EXPECT_EQ((*store.Find("digits", 1))->queue->options().max_batch_size, 8);
  EXPECT_EQ((*store.Find("digits", 2))->queue->options().max_batch_size, 4);
}

TEST_F(Models, AnErrorOfTheGateFailsTheLoad) {
  WriteVersion("digits", 1);
  ModelStore& store = Store({}, [](const std::string& model, int64_t version, const Path&) -> Status {
    return FailedPrecondition("{} {} is quarantined", model, version);
  });
  store.Apply({Want("digits", {1})});
  EXPECT_EQ(WaitFor("digits", 1, State::kFailed).error.message, "digits 1 is quarantined");
  EXPECT_EQ(engine_.record().loads, 0);
}

TEST_F(Models, WarmsUpBeforeAVersionIsAvailable) {
  WriteVersion("digits", 1);
  WriteWarmUp("digits", 1, {PredictRecord({1, 2}), PredictRecord({3, 4})});
  ModelStore& store = Store({.warm_up_iterations = 3});
  store.Apply({Want("digits", {1})});
  WaitFor("digits", 1, State::kAvailable);
  EXPECT_EQ(engine_.record().runs.size(), 6u);
}

TEST_F(Models, WarmsUpWithGeneratedRequestsOfEveryBatchSizeWithoutRecords) {
  WriteVersion("digits", 1);
  ModelStore& store = Store();
  Wanted wanted = Want("digits", {1});
  wanted.batching = {.max_batch_size = 8, .allowed_batch_sizes = {2, 8}};
  store.Apply({wanted});
  WaitFor("digits", 1, State::kAvailable);
  std::vector<int64_t> rows;
  for (const auto& run : engine_.record().runs) rows.push_back(run.rows);
  EXPECT_EQ(rows, (std::vector<int64_t>{2, 8}));
  wanted.name = "cold";
  wanted.base_path = base_ / "cold";
  wanted.warm_up = false;
  WriteVersion("cold", 1);
  store.Apply({wanted});
  WaitFor("cold", 1, State::kAvailable);
  EXPECT_EQ(engine_.record().runs.size(), 2u);
}

TEST_F(Models, AFailingWarmUpRecordFailsTheLoad) {
  tensorflow::serving::PredictionLog classify, session_run;
  classify.mutable_classify_log();
  session_run.mutable_session_run_log();
  const std::vector<std::tuple<std::vector<std::string>, Code, std::string>> cases = {
      {{PredictRecord({1, 2}), PredictRecord({kPoison, 2})}, Code::kInvalidArgument, "warm-up record 1 of"},
      {{session_run.SerializeAsString()}, Code::kUnimplemented, "Unsupported log_type for warmup: session_run_log"},
      {{classify.SerializeAsString()}, Code::kInvalidArgument, "No inputs found in signature"},
      {{"\xff\xff"}, Code::kInvalidArgument, "Please verify your warmup data is in TFRecord format."},
      {std::vector<std::string>(1001, PredictRecord({1, 2})), Code::kInvalidArgument, "exceeds the maximum (1000)"}};
  ModelStore& store = Store();
  std::vector<Wanted> all;
  for (size_t i = 0; i < cases.size(); ++i) {
    WriteVersion("m" + std::to_string(i), 1);
    WriteWarmUp("m" + std::to_string(i), 1, std::get<0>(cases[i]));
    all.push_back(Want("m" + std::to_string(i), {1}));
  }
  store.Apply(all);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Error error = WaitFor("m" + std::to_string(i), 1, State::kFailed).error;
    EXPECT_EQ(error.code, std::get<1>(cases[i])) << error.message;
    EXPECT_NE(error.message.find(std::get<2>(cases[i])), std::string::npos) << error.message;
  }
}

// Clients send requests while versions are swapped: every request is answered by the version that it found.
TEST_F(Models, SwapsUnderLoadDoNotLoseRequests) {
  for (int64_t version = 1; version <= 10; ++version) WriteVersion("digits", version);
  ModelStore& store = Store();
  store.Apply({Want("digits", {1})});
  WaitFor("digits", 1, State::kAvailable);
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0};
  const auto client = [&] {
    while (!stop) {
      auto ready = store.Find("digits");
      ASSERT_TRUE(ready);
      std::promise<Result<batching::RunOutcome>> promise;
      (*ready)->queue->Submit(RowsRequest({1, 2}), {},
                              [&](Result<batching::RunOutcome> outcome) { promise.set_value(std::move(outcome)); });
      const auto outcome = promise.get_future().get();
      ASSERT_TRUE(outcome) << outcome.error().message;
      ASSERT_EQ(outcome->outputs.at("y").values<float>()[0], 2 + static_cast<float>((*ready)->version));
      ++answered;
    }
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(client);
  for (int64_t version = 2; version <= 10; ++version) {
    store.Apply({Want("digits", {version})});
    WaitFor("digits", version - 1, State::kEnd);
  }
  stop = true;
  for (auto& thread : clients) thread.join();
  EXPECT_GT(answered, 10);
  EXPECT_EQ((*store.Find("digits"))->version, 10);
}

}  // namespace
}  // namespace longshore::models

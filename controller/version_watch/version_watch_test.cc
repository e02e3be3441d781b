#include "controller/version_watch/version_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <optional>

#include "common/version_files/digest.h"

namespace longshore::version_watch {
namespace {

namespace fs = std::filesystem;

constexpr auto kLimit = std::chrono::seconds(60);

class VersionWatchTest : public testing::Test {
 protected:
  VersionWatchTest() {
    char name[] = "/tmp/longshore_version_watch_XXXXXX";
    dir_ = mkdtemp(name);
    Write("models/8/saved_model.pb", "damaged");
    model_ = ModelOf("m", "models");
    Fail(8, "LoadFailed");
  }
  ~VersionWatchTest() override {
    watch_.reset();
    fs::remove_all(dir_);
  }

  void Write(const Path& file, const std::string& bytes) {
    fs::create_directories((dir_ / file).parent_path());
    std::ofstream(dir_ / file) << bytes;
  }
  api::Model ModelOf(const std::string& name, const Path& folder) {
    api::Model model;
    model.metadata.namespace_ = "default";
    model.metadata.name = name;
    model.spec.source_uri = "file://" + (dir_ / folder).string();
    return model;
  }
  // A later failure than all changes until now: the clock of a file system lags behind.
  void Fail(int64_t version, const std::string& reason, const std::string& digest = "") {
    model_.status.failed = {{version, digest, 0, reason, "", clock_.Now() + std::chrono::milliseconds(50)}};
  }
  // Changes the files only when they have other times than those of all failures.
  void Change(const std::function<void()>& change) {
    do change();
    while (RealReader().look({dir_ / "models", 8, golden_set_}).changed_at <= model_.status.failed.front().at);
  }

  void Start() {
    Reader reader = RealReader();
    const auto look = [this, real = reader.look](const Place& place) {
      if (before_look_) before_look_(place);
      Look seen = real(place);
      const std::lock_guard lock(mutex_);
      ++looks_[place.base];
      changed_.notify_all();
      return seen;
    };
    reader.look = look;
    watch_.emplace(Options{.interval = std::chrono::milliseconds(1), .stop_max = kLimit}, reader,
                   [this](const api::Key& key) {
                     const std::lock_guard lock(mutex_);
                     queued_.insert(key.name);
                     changed_.notify_all();
                   });
  }
  void StartWatching() {
    Start();
    EXPECT_TRUE(watch_->Watch(model_).empty());
    AwaitLooks();
  }
  // Waits until two whole looks at the files have begun after this call.
  void AwaitLooks() {
    std::unique_lock lock(mutex_);
    const Path base = dir_ / "models";
    const int64_t wanted = looks_[base] + 5;
    ASSERT_TRUE(changed_.wait_for(lock, kLimit, [&] { return looks_[base] >= wanted; }));
  }
  void AwaitQueued(const std::string& name) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kLimit, [&] { return queued_.contains(name); }));
  }
  // Change() may have changed the files several times, and a look may have seen them missing in between.
  void ExpectOtherFiles() {
    AwaitLooks();
    AwaitQueued("m");
    EXPECT_EQ(watch_->Watch(model_), std::set<int64_t>{8});
  }
  void ExpectSameFiles() {
    AwaitLooks();
    EXPECT_TRUE(watch_->Watch(model_).empty());
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(queued_.empty());
  }

  Path dir_;
  api::Model model_;
  std::string golden_set_;
  SystemClock clock_;
  std::function<void(const Place&)> before_look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Path, int64_t> looks_;
  std::set<std::string> queued_;
  std::optional<VersionWatch> watch_;
};

TEST_F(VersionWatchTest, AFileWithOtherBytesIsAnotherFile) {
  StartWatching();
  Change([&] { Write("models/8/saved_model.pb", "repaired"); });
  ExpectOtherFiles();
}

TEST_F(VersionWatchTest, AnotherModeOrAHardLinkIsNoOtherFile) {
  StartWatching();
  Change([&] { chmod((dir_ / "models/8/saved_model.pb").c_str(), 0600); });
  ExpectSameFiles();
  fs::create_hard_link(dir_ / "models/8/saved_model.pb", dir_ / "backup");
  ExpectSameFiles();
  Write("models/8/saved_model.pb", "repaired");
  ExpectOtherFiles();
}

TEST_F(VersionWatchTest, AFileThatChangedWhileNoControllerRanIsComparedWithTheDigestOfTheFailure) {
  Fail(8, "ErrorRate", *version_files::VersionDigest(dir_ / "models/8"));
  Change([&] { chmod((dir_ / "models/8/saved_model.pb").c_str(), 0600); });
  StartWatching();
  ExpectSameFiles();
  watch_.reset();
  Write("models/8/saved_model.pb", "repaired");
  Start();
  watch_->Watch(model_);
  ExpectOtherFiles();
}

TEST_F(VersionWatchTest, AFailureWithoutDigestIsTriedAgainIfItsFilesChangedWhileNoControllerRan) {
  Change([&] { Write("models/8/saved_model.pb", "repaired"); });
  Start();
  watch_->Watch(model_);
  ExpectOtherFiles();
}

TEST_F(VersionWatchTest, AFolderThatAppearsIsAnotherOneAndOneThatDisappearsIsNot) {
  fs::remove_all(dir_ / "models/8");
  Fail(8, "NotFound");
  StartWatching();
  Change([&] { Write("models/008/saved_model.pb", "new"); });
  ExpectOtherFiles();
  fs::remove_all(dir_ / "models/008");
  Fail(8, "NotFound");
  watch_->Watch(model_);
  queued_.clear();
  ExpectSameFiles();
}

TEST_F(VersionWatchTest, ALinkThatIsPointedToOlderFilesIsAChange) {
  Write("old/saved_model.pb", "repaired");
  fs::rename(dir_ / "models/8", dir_ / "damaged");
  fs::create_directory_symlink(dir_ / "damaged", dir_ / "models/8");
  Fail(8, "LoadFailed");
  StartWatching();
  Change([&] {
    fs::remove(dir_ / "models/8");
    fs::create_directory_symlink(dir_ / "old", dir_ / "models/8");
  });
  ExpectOtherFiles();
}

TEST_F(VersionWatchTest, ALinkThatWasPointedElsewhereWhileNoControllerRanIsAChange) {
  Write("old/saved_model.pb", "repaired");
  Fail(8, "LoadFailed");
  Change([&] {
    fs::remove_all(dir_ / "models/8");
    fs::create_directory_symlink(dir_ / "old", dir_ / "models/8");
  });
  Start();
  watch_->Watch(model_);
  ExpectOtherFiles();
}

TEST_F(VersionWatchTest, ABaseFolderThatIsReplacedByAnOlderOneIsAChange) {
  Write("release/models/8/saved_model.pb", "repaired");
  Write("link/models/8/saved_model.pb", "damaged");
  fs::remove_all(dir_ / "models");
  fs::create_directory_symlink(dir_ / "link/models", dir_ / "models");
  Fail(8, "LoadFailed");
  StartWatching();
  fs::remove(dir_ / "models");
  fs::create_directory_symlink(dir_ / "release/models", dir_ / "models");
  ExpectOtherFiles();
}

TEST_F(VersionWatchTest, AnotherVersionInTheFolderIsNoChange) {
  StartWatching();
  Write("models/80/saved_model.pb", "x");
  Write("models/9/saved_model.pb", "x");
  ExpectSameFiles();
}

TEST_F(VersionWatchTest, AGoldenSetCountsOnlyForVersionsThatFailedWithIt) {
  Write("models/golden", "one");
  golden_set_ = model_.spec.validation.golden_set = "golden";
  Fail(8, "Latency", *version_files::VersionDigest(dir_ / "models/8"));
  StartWatching();
  Change([&] { Write("models/golden", "two"); });
  ExpectSameFiles();
  Fail(8, "GoldenSet", *version_files::VersionDigest(dir_ / "models/8"));
  watch_->Watch(model_);
  AwaitLooks();
  Change([&] { Write("models/golden", "three"); });
  ExpectOtherFiles();
}

TEST_F(VersionWatchTest, VersionsThatAPersonStoppedAndArchivesAreNotWatched) {
  Start();
  Fail(8, "Aborted");
  watch_->Watch(model_);
  Fail(8, "LoadFailed");
  model_.spec.source_uri = "https://host/archive.tar";
  watch_->Watch(model_);
  model_ = ModelOf("n", "models");
  Fail(8, "LoadFailed");
  watch_->Watch(model_);
  AwaitLooks();
  Change([&] { Write("models/8/saved_model.pb", "repaired"); });
  AwaitQueued("n");
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(queued_, std::set<std::string>{"n"});
}

TEST_F(VersionWatchTest, AFolderThatHangsDelaysNoOtherModelAndNoCall) {
  std::promise<void> end;
  before_look_ = [&, answer = end.get_future().share()](const Place& place) {
    if (place.base == dir_ / "hangs") answer.wait();
  };
  Start();
  for (int i = 0; i < 8; ++i) {  // More than there are threads.
    api::Model hangs = ModelOf("h" + std::to_string(i), "hangs");
    hangs.status.failed = model_.status.failed;
    EXPECT_TRUE(watch_->Watch(hangs).empty());
  }
  watch_->Watch(model_);
  AwaitLooks();
  Change([&] { Write("models/8/saved_model.pb", "repaired"); });
  ExpectOtherFiles();
  end.set_value();
}

TEST_F(VersionWatchTest, TheEndDoesNotWaitForAFolderThatHangs) {
  auto end = std::make_shared<std::promise<void>>();
  auto began = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  {
    Reader reader;
    reader.look = [=](const Place&) {
      began->set_value();
      end->get_future().wait();
      ended->set_value();
      return Look{.stamp = "", .changed_at = TimePoint::max()};  // Later than the failure: its digest is not asked for.
    };
    reader.digest = [](const Place&, const std::atomic<bool>&) { return ""; };
    VersionWatch watch({.stop_max = std::chrono::milliseconds(1)}, reader, [](const api::Key&) {});
    watch.Watch(model_);
    began->get_future().wait();
  }
  end->set_value();
  EXPECT_EQ(ended->get_future().wait_for(kLimit), std::future_status::ready);
}

}  // namespace
}  // namespace longshore::version_watch

#include "serving-node/models/discovery.h"

#include <gtest/gtest.h>

#include "common/os/file.h"
#include "common/version_files/folder.h"
#include "serving-node/models/model_store.h"

namespace longshore::models {
namespace {

namespace fs = std::filesystem;

class Discover : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "discover-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
  }
  void TearDown() override { fs::remove_all(base_); }

  void Write(const Path& path) {
    fs::create_directories((base_ / path).parent_path());
    ASSERT_TRUE(WriteFileAtomically(base_ / path, "x"));
  }
  // With the default `quiet`, files count as fully copied at once.
  std::unique_ptr<Discovery> Start(std::vector<ModelSource> sources, std::chrono::milliseconds quiet = {}) {
    auto discovery =
        std::make_unique<Discovery>(Discovery::Options{.poll_interval = std::chrono::milliseconds(-1), .quiet = quiet},
                                    [this](std::vector<Wanted> all) {
                                      applied_.clear();
                                      for (const Wanted& wanted : all) applied_[wanted.name] = wanted.versions;
                                    });
    discovery->SetSources(std::move(sources));
    return discovery;
  }
  ModelSource Model(const std::string& name, VersionPolicy policy = {}) {
    return {.name = name, .base_path = base_ / name, .policy = std::move(policy)};
  }

  Path base_;
  std::map<std::string, std::vector<int64_t>> applied_;
};

using Versions = std::vector<int64_t>;

TEST_F(Discover, ChoosesVersionsByThePolicy) {
  for (const char* child : {"1", "2", "3"}) Write(Path("m") / child / "saved_model.pb");
  using Kind = VersionPolicy::Kind;
  Start({Model("m")});
  EXPECT_EQ(applied_["m"], Versions{3});
  Start({Model("m", {.kind = Kind::kLatest, .latest = 2})});
  EXPECT_EQ(applied_["m"], (Versions{2, 3}));
  Start({Model("m", {.kind = Kind::kAll})});
  EXPECT_EQ(applied_["m"], (Versions{1, 2, 3}));
  Start({Model("m", {.kind = Kind::kSpecific, .specific = {1, 9}})});
  EXPECT_EQ(applied_["m"], Versions{1});
}

TEST_F(Discover, AMissingBasePathKeepsItsVersionsAndDoesNotStopOtherModels) {
  Write("a/1/saved_model.pb");
  Write("b/1/saved_model.pb");
  const auto discovery = Start({Model("missing"), Model("a"), Model("b")});
  EXPECT_EQ(applied_["a"], Versions{1});
  ASSERT_EQ(discovery->waiting().size(), 1u);
  EXPECT_EQ(discovery->waiting()[0].model, "missing");
  fs::rename(base_ / "a", base_ / "away");
  Write("b/2/saved_model.pb");
  discovery->Poll();
  EXPECT_EQ(applied_["a"], Versions{1});
  EXPECT_EQ(applied_["b"], Versions{2});
  fs::remove_all(base_ / "b");
  fs::create_directories(base_ / "b");
  discovery->Poll();
  EXPECT_EQ(applied_["b"], Versions{}) << "an empty base path unloads";
}

TEST_F(Discover, ABasePathThatIsAVersionIsNamedWithTheFolderToGiveInstead) {
  Write("m/1/saved_model.pb");
  Write("flat/saved_model.pb");
  ModelSource version = Model("m"), slash = Model("m"), flat = Model("flat");
  version.base_path = base_ / "m" / "1";
  slash.base_path = base_ / "m" / "1" / "";
  const std::string dir = base_.string();
  const std::string want =
      dir + "/m/1 is the folder of a version (it contains saved_model.pb): give its parent folder, " + dir + "/m";
  const auto discovery = Start({version, slash, flat, Model("m")});
  const auto waiting = discovery->waiting();
  ASSERT_EQ(waiting.size(), 3u);
  EXPECT_EQ(waiting[0].reason, want);
  EXPECT_EQ(waiting[1].reason, want);
  EXPECT_EQ(waiting[2].reason, dir +
                                   "/flat contains saved_model.pb itself: move the files of this version into a folder "
                                   "whose name is a number, such as " +
                                   dir + "/flat/1");
  const auto found = version_files::FindVersionDir(version.base_path, 1);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kNotFound);
  EXPECT_EQ(found.error().message, want);
}

TEST_F(Discover, AHalfCopiedVersionWaitsUntilItIsComplete) {
  Write("m/1/saved_model.pb");
  Write("m/2/variables/variables.index");
  const auto discovery = Start({Model("m")});
  const auto reason = [&] { return discovery->waiting().empty() ? "" : discovery->waiting()[0].reason; };
  EXPECT_EQ(applied_["m"], Versions{1});
  EXPECT_NE(reason().find("no saved_model.pb"), std::string::npos);
  EXPECT_EQ(discovery->waiting()[0].version, 2);
  Write("m/2/saved_model.pb");
  discovery->Poll();
  EXPECT_NE(reason().find("variables.index without variables.data files"), std::string::npos) << reason();
  Write("m/2/variables/variables.data-00000-of-00002");
  discovery->Poll();
  EXPECT_NE(reason().find("only 1 of 2 variables.data files exist"), std::string::npos) << reason();
  EXPECT_EQ(applied_["m"], Versions{1});
  Write("m/2/variables/variables.data-00001-of-00002");
  discovery->Poll();
  EXPECT_EQ(reason(), "");
  EXPECT_EQ(applied_["m"], Versions{2});
}

TEST_F(Discover, ARecentVersionMustLookTheSameTwice) {
  Write("m/1/saved_model.pb");
  const auto discovery = Start({Model("m")}, std::chrono::hours(1));
  EXPECT_EQ(applied_["m"], Versions{});
  Write("m/1/assets/words.txt");
  discovery->Poll();
  EXPECT_EQ(applied_["m"], Versions{}) << "the files changed between the polls";
  ASSERT_EQ(discovery->waiting().size(), 1u);
  discovery->Poll();
  EXPECT_EQ(applied_["m"], Versions{1});
}

TEST_F(Discover, RetriesAFailedVersionWhenItsFilesHaveChanged) {
  Write("m/1/saved_model.pb");
  bool failed = false;
  int retries = 0;
  Discovery discovery(
      {.poll_interval = std::chrono::milliseconds(-1),
       .quiet = {},
       .failed = [&](const std::string&, int64_t) { return failed; },
       .retry = [&](const std::string& model, int64_t version) { retries += model == "m" && version == 1; }},
      [](const std::vector<Wanted>&) {});
  discovery.SetSources({Model("m")});
  failed = true;
  discovery.Poll();
  EXPECT_EQ(retries, 0) << "the files have not changed";
  Write("m/1/assets/words.txt");
  discovery.Poll();
  EXPECT_EQ(retries, 1);
  discovery.Poll();
  EXPECT_EQ(retries, 1);
  failed = false;
  Write("m/1/assets/more.txt");
  discovery.Poll();
  EXPECT_EQ(retries, 1) << "a version that has not failed is not retried";
}

TEST_F(Discover, PollsPeriodically) {
  fs::create_directories(base_ / "m");
  std::mutex mutex;
  std::condition_variable changed;
  Versions applied;
  Discovery discovery({.poll_interval = std::chrono::milliseconds(5)}, [&](std::vector<Wanted> all) {
    const std::lock_guard lock(mutex);
    applied = all[0].versions;
    changed.notify_all();
  });
  discovery.SetSources({Model("m")});
  Write("m/4/saved_model.pb");
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return applied == Versions{4}; }));
}

}  // namespace
}  // namespace longshore::models

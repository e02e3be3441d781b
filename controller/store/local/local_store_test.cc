#include "controller/store/local/local_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "common/os/file.h"
#include "controller/store/store_contract_test.h"

namespace longshore::store::local {
namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char name[] = "/tmp/longshore_store_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const Path& path() const { return path_; }

 private:
  Path path_;
};

class LocalBackend final : public StoreBackend {
 public:
  std::unique_ptr<Store> Open() override { return LocalStore::Open({.dir = dir_.path()}).value(); }
  bool Damage(const api::Key& key) override {
    std::ofstream(dir_.path() / ".longshore/objects" / key.kind / key.namespace_ / (key.name + ".json")) << "{";
    return true;
  }
  bool RunConcurrently(const std::function<int()>& work) override {
    const pid_t child = fork();
    if (child == 0) _exit(work());
    const int own = work();
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 && own == 0;
  }

 private:
  TemporaryDirectory dir_;
};

INSTANTIATE_TEST_SUITE_P(Local, StoreContract, ::testing::Values([]() -> std::unique_ptr<StoreBackend> {
                           return std::make_unique<LocalBackend>();
                         }));

class LocalStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<LocalStore> OpenStore() {
    return LocalStore::Open({.dir = dir_.path(), .read_manifests = true}).value();
  }
  void Write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(dir_.path() / file, text));
  }
  static std::string Manifest(const std::string& name, int version) {
    return fmt::format(
        "apiVersion: longshore.dev/v1alpha1\nkind: Model\nmetadata: {{name: {}}}\n"
        "spec:\n  fleet: cpu\n  source: {{uri: \"file:///models/digits\"}}\n  version: {}\n",
        name, version);
  }
  // Changes the version in the store and not in a manifest, as a command does.
  void SetVersion(const api::Key& key, int version) {
    Object changed = store_->Get(key).value();
    changed.spec["version"] = version;
    ASSERT_TRUE(store_->Apply(changed));
  }
  static int64_t VersionOf(const Object& object) { return object.spec.at("version").get<int64_t>(); }

  const api::Key key_{api::kModelKind, "default", "digits"};
  TemporaryDirectory dir_;
  std::unique_ptr<LocalStore> store_ = OpenStore();
};

TEST_F(LocalStoreTest, AppliesAManifestAndItsChangesWhileWatching) {
  SeenKeys seen;
  const auto watch = store_->WatchAll(seen.Receiver()).value();
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(seen.WaitFor(key_, 1));
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 1);
  const int before = seen.times(key_);
  Write("digits.yaml", Manifest("digits", 2));
  ASSERT_TRUE(seen.WaitFor(key_, before + 1));
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 2);
  EXPECT_EQ(store_->Get(key_)->metadata.generation, 2);
}

TEST_F(LocalStoreTest, TellsOfEachWriteAndAppliesAgainWhatCouldNotBeWritten) {
  storage::WriteHealth health("objects");
  const auto store = LocalStore::Open({.dir = dir_.path(), .read_manifests = true, .health = &health}).value();
  const Path objects = dir_.path() / ".longshore/objects/Model";
  std::filesystem::create_symlink(dir_.path() / "missing/folder", objects);  // Reading finds nothing; writing fails.
  Write("digits.yaml", Manifest("digits", 1));
  SeenKeys seen;
  const auto watch = store->WatchAll(seen.Receiver()).value();
  ASSERT_TRUE(store->ReadManifests());
  ASSERT_EQ(store->Problems().size(), 1u);
  EXPECT_EQ(store->Problems()[0].reason, "NotApplied");
  EXPECT_TRUE(health.Problems().contains("objects/Model/default")) << "the later write of the index succeeded";
  store->TryToWrite();
  EXPECT_TRUE(health.Problems().contains("objects/Model/default"));
  std::filesystem::remove(objects);
  store->TryToWrite();
  EXPECT_TRUE(seen.WaitFor(key_, 1));
  EXPECT_TRUE(health.Problems().empty());
}

// A problem that is over for a moment at each attempt would never last as long as an alert waits.
TEST_F(LocalStoreTest, AProblemWithOneFolderOrFileLastsUntilThatOneCanBeWritten) {
  storage::WriteHealth health("objects");
  const auto store = LocalStore::Open({.dir = dir_.path(), .read_manifests = true, .health = &health}).value();
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store->ReadManifests());
  EXPECT_TRUE(health.Problems().empty());
  const Path private_dir = dir_.path() / ".longshore";
  const auto expect_problem = [&](const std::string& item) {
    EXPECT_EQ(health.Problems().size(), 1u) << item;
    EXPECT_TRUE(health.Problems().contains(item)) << item;
  };
  std::filesystem::remove_all(private_dir / "manifests");
  std::ofstream(private_dir / "manifests") << "a file where the folder should be";
  Write("digits.yaml", Manifest("digits", 2));
  ASSERT_TRUE(store->ReadManifests());
  EXPECT_EQ(VersionOf(store->Get(key_).value()), 2);
  expect_problem("manifests");
  store->TryToWrite();
  expect_problem("manifests");
  std::filesystem::remove(private_dir / "manifests");
  store->TryToWrite();
  EXPECT_TRUE(health.Problems().empty());
  std::filesystem::remove(private_dir / "lock");
  std::filesystem::create_directory(private_dir / "lock");
  EXPECT_FALSE(store->Apply(store->Get(key_).value()));
  store->TryToWrite();
  expect_problem("lock");
  std::filesystem::remove(private_dir / "lock");
  store->TryToWrite();
  EXPECT_TRUE(health.Problems().empty());
}

TEST_F(LocalStoreTest, TellsThatTheIndexCannotBeCreated) {
  storage::WriteHealth health("objects");
  std::ofstream(dir_.path() / ".longshore/manifests") << "a file where the folder should be";
  const auto store = LocalStore::Open({.dir = dir_.path(), .read_manifests = true, .health = &health}).value();
  EXPECT_FALSE(store->ReadManifests());
  EXPECT_TRUE(health.Problems().contains("manifests"));
}

TEST_F(LocalStoreTest, AnEditThatChangesNoMeaningDoesNotOverrideACommand) {
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  SetVersion(key_, 7);
  Write("digits.yaml", "# A comment.\n" + Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 7);
  store_ = OpenStore();
  Write("digits.yaml", "# Another one, while no controller runs.\n" + Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 7);
  Write("digits.yaml", Manifest("digits", 2));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 2) << "a new meaning is applied";
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 1) << "an earlier meaning is applied too";
}

TEST_F(LocalStoreTest, AnEditOfOneObjectDoesNotApplyTheOthersOfItsFile) {
  Write("all.yaml", Manifest("digits", 1) + "---\n" + Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  SetVersion(key_, 7);
  Write("all.yaml", Manifest("digits", 1) + "---\n" + Manifest("other", 2));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 7);
  EXPECT_EQ(VersionOf(store_->Get({api::kModelKind, "default", "other"}).value()), 2);
}

TEST_F(LocalStoreTest, AnEditThatChangesNoMeaningDoesNotRecreateADeletedObject) {
  Write("all.yaml", Manifest("digits", 1) + "---\n" + Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  ASSERT_TRUE(store_->Delete(key_, store_->Get(key_)->metadata.uid));
  Write("all.yaml", "# A comment.\n" + Manifest("digits", 1) + "---\n" + Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_FALSE(store_->Get(key_));
  Write("all.yaml", Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  Write("all.yaml", Manifest("digits", 1) + "---\n" + Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_TRUE(store_->Get(key_)) << "it was removed from the file and added again";
}

TEST_F(LocalStoreTest, WithAnIndexOfAnEarlierReleaseACommentDoesNotOverrideACommand) {
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  SetVersion(key_, 7);
  const Path index = dir_.path() / ".longshore/manifests/digits.yaml.json";
  Json record = ParseJson(ReadFile(index).value()).value();
  ASSERT_EQ(record["objects"][0].erase("meaning"), 1U);
  ASSERT_TRUE(WriteFileAtomically(index, record.dump()));
  store_ = OpenStore();
  ASSERT_TRUE(store_->ReadManifests());
  Write("digits.yaml", "# A comment.\n" + Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 7);
}

TEST_F(LocalStoreTest, AnInvalidManifestIsReportedWithItsLineAndTheLastValidObjectStays) {
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  Write("digits.yaml", Manifest("digits", 1) + "  colour: blue\n");
  ASSERT_TRUE(store_->ReadManifests());
  const auto problem = store_->ProblemOf(key_);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->reason, "Invalid");
  EXPECT_THAT(problem->message, ::testing::HasSubstr("digits.yaml:8: spec.colour"));
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 1);
  Write("digits.yaml", Manifest("digits", 2));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_FALSE(store_->ProblemOf(key_));
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 2);
}

TEST_F(LocalStoreTest, AManifestThatWasNeverValidIsReported) {
  Write("broken.yaml", "kind: [");
  ASSERT_TRUE(store_->ReadManifests());
  ASSERT_EQ(store_->Problems().size(), 1U);
  EXPECT_EQ(store_->Problems()[0].file, "broken.yaml");
}

TEST_F(LocalStoreTest, ADeletedManifestIsReportedAndItsObjectStays) {
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  std::filesystem::remove(dir_.path() / "digits.yaml");
  ASSERT_TRUE(store_->ReadManifests());
  ASSERT_TRUE(store_->ProblemOf(key_));
  EXPECT_EQ(store_->ProblemOf(key_)->reason, "Vanished");
  EXPECT_TRUE(store_->Get(key_));
  Write("renamed.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_FALSE(store_->ProblemOf(key_)) << "another file defines it now";
}

TEST_F(LocalStoreTest, AnObjectThatIsRemovedFromItsFileIsReported) {
  Write("all.yaml", Manifest("digits", 1) + "---\n" + Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  Write("all.yaml", Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  ASSERT_TRUE(store_->ProblemOf(key_));
  EXPECT_EQ(store_->ProblemOf(key_)->message,
            "Model default/digits still exists, although it is no longer in all.yaml; to remove the object, use "
            "`longshore delete`");
  EXPECT_TRUE(OpenStore()->Get(key_));
}

TEST_F(LocalStoreTest, TwoManifestsOfOneObjectAreReportedAndTheFirstWins) {
  Write("a.yaml", Manifest("digits", 1));
  Write("b.yaml", Manifest("digits", 2));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 1);
  ASSERT_TRUE(store_->ProblemOf(key_));
  EXPECT_THAT(store_->ProblemOf(key_)->message, ::testing::HasSubstr("is already defined in a.yaml"));
  std::filesystem::remove(dir_.path() / "a.yaml");
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 2);
}

TEST_F(LocalStoreTest, ADuplicateObjectDoesNotApplyTheOthersOfItsFileAgain) {
  const api::Key other{api::kModelKind, "default", "other"};
  Write("a.yaml", Manifest("digits", 1));
  Write("b.yaml", Manifest("digits", 2) + "---\n" + Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  Object changed = store_->Get(other).value();
  changed.spec["version"] = 7;
  ASSERT_TRUE(store_->Apply(changed));
  store_ = OpenStore();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store_->ReadManifests());
    EXPECT_EQ(VersionOf(store_->Get(other).value()), 7);
    EXPECT_EQ(store_->ProblemOf(key_)->reason, "Duplicate");
  }
  ASSERT_TRUE(store_->Delete(other, changed.metadata.uid));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_FALSE(store_->Get(other)) << "it was deleted";
}

TEST_F(LocalStoreTest, AnObjectThatCannotBeStoredDoesNotApplyTheOthersOfItsFileAgain) {
  const api::Key other{api::kModelKind, "default", "other"};
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  const Path record = dir_.path() / ".longshore/objects/Model/default/digits.json";
  std::ofstream(record) << "{";
  Write("digits.yaml", Manifest("other", 1) + "---\n" + Manifest("digits", 2));
  ASSERT_TRUE(store_->ReadManifests());
  ASSERT_TRUE(store_->Delete(other, store_->Get(other)->metadata.uid));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_FALSE(store_->Get(other)) << "it was deleted";
  EXPECT_FALSE(store_->ProblemOf(other));
  EXPECT_EQ(store_->ProblemOf(key_)->reason, "NotApplied");
  std::filesystem::remove(record);
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 2);
}

TEST_F(LocalStoreTest, ARestartNeitherOverridesACommandNorRecreatesADeletedObject) {
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  Object changed = store_->Get(key_).value();
  changed.spec["version"] = 7;
  ASSERT_TRUE(store_->Apply(changed));
  store_ = OpenStore();
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 7);
  ASSERT_TRUE(store_->Delete(key_, changed.metadata.uid));
  store_ = OpenStore();
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_FALSE(store_->Get(key_));
  Write("digits.yaml", Manifest("digits", 3));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 3) << "a changed manifest is applied";
}

TEST_F(LocalStoreTest, InvalidUtf8IsWrittenWithReplacementCharacters) {
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  const Object object = store_->Get(key_).value();
  const Json status = {{"commandResult", "cut \xE6\xA8"}};
  ASSERT_TRUE(store_->PutStatus(key_, object.metadata.uid, object.metadata.resource_version, status));
  const std::string read = OpenStore()->Get(key_)->status.at("commandResult").get<std::string>();
  EXPECT_EQ(read, "cut \uFFFD");
}

TEST_F(LocalStoreTest, TheErrorNamesADamagedRecord) {
  Write("digits.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  const Path record = dir_.path() / ".longshore/objects/Model/default/digits.json";
  std::ofstream(record) << "{";
  const auto seen = store_->Get(key_);
  EXPECT_EQ(seen.error().code, Code::kDataLoss);
  EXPECT_THAT(seen.error().message, ::testing::HasSubstr(record.string()));
}

TEST_F(LocalStoreTest, ARecordWithAnInvalidVersionIsReportedAndDoesNotAffectOthers) {
  Write("digits.yaml", Manifest("digits", 1));
  Write("other.yaml", Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  const Path record = dir_.path() / ".longshore/objects/Model/default/digits.json";
  for (const char* version : {"", "seven", "7x", "99999999999999999999", "9223372036854775807", "-1"}) {
    Json json = ParseJson(ReadFile(record).value()).value();
    json["metadata"]["resourceVersion"] = version;
    ASSERT_TRUE(WriteFileAtomically(record, json.dump()));
    EXPECT_EQ(store_->Get(key_).error().code, Code::kDataLoss) << version;
    EXPECT_THAT(store_->Get(key_).error().message, ::testing::HasSubstr("metadata.resourceVersion"));
    Write("digits.yaml", Manifest("digits", 2));
    ASSERT_TRUE(store_->ReadManifests()) << version;
    EXPECT_EQ(store_->ProblemOf(key_)->reason, "NotApplied");
    const Listing listing = store_->List(api::kModelKind).value();
    EXPECT_EQ(listing.objects.size(), 1U);
    EXPECT_EQ(listing.unreadable.size(), 1U);
  }
}

TEST_F(LocalStoreTest, ADamagedRecordIsAProblemOfItsManifestAndDoesNotBlockOthers) {
  Write("a.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  std::ofstream(dir_.path() / ".longshore/objects/Model/default/digits.json") << "{";
  Write("a.yaml", Manifest("digits", 2));
  Write("b.yaml", Manifest("other", 1));
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_TRUE(store_->Get({api::kModelKind, "default", "other"}));
  ASSERT_TRUE(store_->ProblemOf(key_));
  EXPECT_EQ(store_->ProblemOf(key_)->reason, "NotApplied");
  EXPECT_THAT(store_->ProblemOf(key_)->message, ::testing::HasSubstr("digits.json"));
  std::filesystem::remove(dir_.path() / ".longshore/objects/Model/default/digits.json");
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_FALSE(store_->ProblemOf(key_)) << "applied again without an edit";
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 2);
}

TEST_F(LocalStoreTest, ADamagedIndexFileIsAProblemOfItsManifestAndDoesNotBlockOthers) {
  Write("a.yaml", Manifest("digits", 1));
  ASSERT_TRUE(store_->ReadManifests());
  Object changed = store_->Get(key_).value();
  changed.spec["version"] = 7;
  ASSERT_TRUE(store_->Apply(changed));
  const Path index = dir_.path() / ".longshore/manifests/a.yaml.json";
  std::ofstream(index) << "{";
  Write("b.yaml", Manifest("other", 1));
  store_ = OpenStore();
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_TRUE(store_->Get({api::kModelKind, "default", "other"}));
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 7)
      << "not applied, because the manifest may be older than the command";
  ASSERT_EQ(store_->Problems().size(), 1U);
  EXPECT_THAT(store_->Problems()[0].message, ::testing::HasSubstr(index.string()));
  std::filesystem::remove(index);
  ASSERT_TRUE(store_->ReadManifests());
  EXPECT_EQ(VersionOf(store_->Get(key_).value()), 1) << "applied again, as the problem's message says";
  EXPECT_TRUE(store_->Problems().empty());
}

TEST_F(LocalStoreTest, AnObjectAboveTheSizeLimitIsRejected) {
  Object big;
  big.kind = api::kModelKind;
  big.metadata.name = "big";
  big.spec = {{"text", std::string(2 << 20, 'x')}};
  EXPECT_EQ(store_->Apply(big).error().code, Code::kResourceExhausted);
  EXPECT_FALSE(store_->Get({api::kModelKind, "default", "big"}));
}

}  // namespace
}  // namespace longshore::store::local

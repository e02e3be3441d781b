#include "controller/console/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/os/file.h"
#include "controller/store/local/local_store.h"

namespace longshore::console {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr const char* kModel =
    "apiVersion: longshore.dev/v1alpha1\nkind: Model\nmetadata: {name: iris}\n"
    "spec: {fleet: cpu, source: {uri: \"file:///models/iris\"}, version: 1}\n";
const api::Key kKey{api::kModelKind, "default", "iris"};

// A host: a controller's store that applies the manifest files of its directory.
class HostSnapshot : public ::testing::Test {
 protected:
  HostSnapshot() {
    char name[] = "/tmp/longshore_snapshot_XXXXXX";
    dir_ = mkdtemp(name);
    store_ = store::local::LocalStore::Open({.dir = dir_, .read_manifests = true}).value();
  }
  ~HostSnapshot() override { std::filesystem::remove_all(dir_); }

  void Write(const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(dir_ / "iris.yaml", text));
    ASSERT_TRUE(store_->ReadManifests());
  }
  Snapshot Read() { return ReadSnapshot(*store_, dir_, 3).value(); }

  std::filesystem::path dir_;
  std::unique_ptr<store::local::LocalStore> store_;
};

TEST_F(HostSnapshot, AFileThatWasAppliedNeedsNoReport) {
  Write(kModel);
  const Snapshot snapshot = Read();
  EXPECT_EQ(snapshot.models.size(), 1u);
  EXPECT_TRUE(snapshot.seen.manifests.empty());
  EXPECT_TRUE(snapshot.disagreements.empty());
  EXPECT_EQ(snapshot.seen.epoch, 3);
}

TEST_F(HostSnapshot, AFileThatNeverBecameAnObjectIsReported) {
  Write("kind: Nothing\n");
  const Snapshot snapshot = Read();
  ASSERT_EQ(snapshot.seen.manifests.size(), 1u);
  EXPECT_EQ(snapshot.seen.manifests[0].file, (dir_ / "iris.yaml").string());
  EXPECT_EQ(snapshot.seen.manifests[0].report.standing, cli::text::Standing::kFailed);
  EXPECT_THAT(snapshot.seen.manifests[0].report.why, HasSubstr("iris.yaml:1"));
}

TEST_F(HostSnapshot, AMistakeInTheFileOfAnObjectIsReportedAboutTheObject) {
  Write(kModel);
  Write(kModel + std::string("x: y\n"));
  const Snapshot snapshot = Read();
  EXPECT_EQ(ReportOf(snapshot.models.at(0), snapshot.seen).standing, cli::text::Standing::kFailed);
}

TEST_F(HostSnapshot, AFileThatDiffersFromItsObjectIsADisagreement) {
  Write(kModel);
  store::Object object = store_->Get(kKey).value();
  object.spec["version"] = 2;
  ASSERT_TRUE(store_->Apply(object));
  const Snapshot changed = Read();
  ASSERT_EQ(changed.disagreements.size(), 1u);
  EXPECT_EQ(changed.disagreements[0].key, kKey);
  EXPECT_THAT(changed.disagreements[0].text, HasSubstr("iris.yaml says version 1"));
  ASSERT_TRUE(store_->Delete(kKey, object.metadata.uid));
  EXPECT_THAT(Read().disagreements.at(0).text, HasSubstr("which `longshore delete` deleted"));
}

class SnapshotCacheTest : public ::testing::Test {
 protected:
  Result<Snapshot> Read() {
    ++reads_;
    clock_.Advance(took_);
    if (fails_) return Unavailable("no store");
    return Snapshot{};
  }

  FakeMonotonicClock clock_;
  Duration took_{0};
  bool fails_ = false;
  int reads_ = 0;
  SnapshotCache cache_{[this] { return Read(); }, clock_};
};

TEST_F(SnapshotCacheTest, RequestsOfOneIntervalShareASnapshot) {
  const auto first = cache_.Get().value();
  clock_.Advance(milliseconds(999));
  EXPECT_EQ(cache_.Get().value(), first);
  clock_.Advance(milliseconds(1));
  EXPECT_NE(cache_.Get().value(), first);
  EXPECT_EQ(reads_, 2);
}

TEST_F(SnapshotCacheTest, ASnapshotThatTakesLongIsSharedForLonger) {
  took_ = seconds(2);
  const auto first = cache_.Get().value();
  clock_.Advance(seconds(20) - milliseconds(1));
  EXPECT_EQ(cache_.Get().value(), first);
  clock_.Advance(milliseconds(1));
  EXPECT_NE(cache_.Get().value(), first);
}

TEST_F(SnapshotCacheTest, AnErrorIsSharedToo) {
  fails_ = true;
  EXPECT_EQ(cache_.Get().error().code, Code::kUnavailable);
  EXPECT_FALSE(cache_.Get());
  EXPECT_EQ(reads_, 1);
  fails_ = false;
  clock_.Advance(seconds(1));
  EXPECT_TRUE(cache_.Get());
}

// The thread sanitizer finds a race if a member is used without the mutex.
TEST_F(SnapshotCacheTest, ManyThreadsShareSnapshots) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < 200; ++n) {
        EXPECT_TRUE(cache_.Get().value()->models.empty());
        clock_.Advance(milliseconds(100));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(reads_, 40);
  EXPECT_LE(reads_, 81) << "at most one for each second of the clock";
}

}  // namespace
}  // namespace longshore::console

#include "serving-node/sources/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/os/file.h"
#include "serving-node/sources/testing.h"
#include "serving-node/sources/unpack.h"

namespace longshore::sources {
namespace {

using testing::HasSubstr;

constexpr int64_t kEntryBytes = 7 * 4096;  // GoodTar on disk: four folders and two files with three blocks in total.

const std::string kA(64, 'a');
const std::string kB(64, 'b');
const std::string kC(64, 'c');

class CacheTest : public FolderTest {
 protected:
  std::unique_ptr<Cache> Open(int64_t bytes_max = 1 << 20) {
    auto cache = Cache::Open(dir_, bytes_max);
    EXPECT_TRUE(cache) << cache.error().message;
    return std::move(*cache);
  }
  static void Unpacked(Cache& cache, const std::string& sha256, const std::string& archive = GoodTar()) {
    const UnpackLimits limits{.reserve = [&](int64_t bytes) { return cache.Reserve(sha256, bytes, 0); },
                              .is_cancelled = [] { return false; }};
    ASSERT_TRUE(Unpack(BytesOf(archive), cache.FilesBeingUnpacked(sha256), limits));
  }
  static Path Add(Cache& cache, const std::string& sha256) {
    Unpacked(cache, sha256);
    const auto folder = cache.Commit(sha256);
    EXPECT_TRUE(folder) << folder.error().message;
    return *folder;
  }
};

TEST_F(CacheTest, KeepsEntriesForTheNextProcess) {
  Path folder;
  {
    const auto cache = Open();
    folder = Add(*cache, kA);
    EXPECT_EQ(folder, dir_ / kA / "files/digits");
    EXPECT_EQ(cache->bytes(), kEntryBytes);
  }
  const auto cache = Open();
  EXPECT_TRUE(cache->Has(kA));
  EXPECT_EQ(cache->bytes(), kEntryBytes);
  EXPECT_EQ(cache->Verify(kA).value(), folder);
  EXPECT_EQ(cache->Verify(kB).error().code, Code::kNotFound);
}

TEST_F(CacheTest, RemovesAnEntryWhoseFilesHaveChanged) {
  const auto cache = Open();
  const Path folder = Add(*cache, kA);
  ASSERT_TRUE(WriteFileAtomically(folder / "1/saved_model.pb", "grapf"));
  const auto verified = cache->Verify(kA);
  EXPECT_EQ(verified.error().code, Code::kDataLoss);
  EXPECT_THAT(verified.error().message, HasSubstr("the files have changed"));
  EXPECT_FALSE(cache->Has(kA));
  EXPECT_FALSE(std::filesystem::exists(dir_ / kA));
}

TEST_F(CacheTest, RemovesUnfinishedEntriesOfAnEarlierProcess) {
  {
    const auto cache = Open();
    Unpacked(*cache, kA);
    ASSERT_TRUE(WriteFileAtomically(cache->PartOf(kB), "beginning"));
    std::filesystem::create_directories(dir_ / kC / "files/1");
    std::filesystem::create_directories(dir_ / "mine");
  }
  const auto cache = Open();
  EXPECT_EQ(cache->entries(), 0U);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "staging" / kA));
  EXPECT_FALSE(std::filesystem::exists(dir_ / kC));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "mine"));
  cache->SetWanted({kB});
  EXPECT_TRUE(std::filesystem::exists(cache->PartOf(kB)));
  cache->SetWanted({});
  EXPECT_FALSE(std::filesystem::exists(cache->PartOf(kB)));
}

TEST_F(CacheTest, EvictsUnwantedEntriesTheLeastRecentlyUsedFirst) {
  const auto cache = Open(3 * kEntryBytes);
  Add(*cache, kA);
  Add(*cache, kB);
  Add(*cache, kC);
  cache->SetWanted({kA, kB, kC});
  cache->SetWanted({kA, kC});
  cache->SetWanted({kA});  // B was last used before C was.
  const std::string fourth(64, 'd');
  ASSERT_TRUE(cache->Reserve(fourth, kEntryBytes, 0));
  EXPECT_TRUE(cache->Has(kA) && !cache->Has(kB) && cache->Has(kC));
  ASSERT_TRUE(cache->Reserve(fourth, 2 * kEntryBytes, 0));
  EXPECT_TRUE(cache->Has(kA) && !cache->Has(kC));
  const auto full = cache->Reserve(fourth, 2 * kEntryBytes + 1, 0);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_THAT(full.error().message, HasSubstr("archives in use take 28672"));
  EXPECT_TRUE(cache->Has(kA));
}

TEST_F(CacheTest, KeepsTheTimeOfTheLastUseForTheNextProcess) {
  {
    const auto cache = Open();
    Add(*cache, kA);
    Add(*cache, kB);
    cache->SetWanted({kA});
    cache->SetWanted({});
  }
  const auto cache = Open(2 * kEntryBytes);
  ASSERT_TRUE(cache->Reserve(kC, kEntryBytes, 0));
  EXPECT_TRUE(cache->Has(kA) && !cache->Has(kB));
}

TEST_F(CacheTest, NamesTheDiskThatIsFull) {
  const auto cache = Open(INT64_MAX / 4);
  const auto full = cache->Reserve(kA, INT64_MAX / 8, 0);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_THAT(full.error().message, HasSubstr("the disk of the cache " + dir_.string() + " is full"));
  EXPECT_TRUE(cache->Reserve(kA, INT64_MAX / 8, INT64_MAX / 8));  // All bytes are already written.
}

TEST_F(CacheTest, AllowsOneProcessPerFolder) {
  const auto cache = Open();
  const auto second = Cache::Open(dir_, 1000);
  EXPECT_EQ(second.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(second.error().message, HasSubstr("another node uses the cache"));
}

TEST_F(CacheTest, RefusesAnArchiveWithoutAVersion) {
  const auto cache = Open();
  Unpacked(*cache, kA, TarEntryOf("readme", "x") + TarEntryOf("a/b/1/saved_model.pb", "x") + TarEnd());
  const auto folder = cache->Commit(kA);
  EXPECT_EQ(folder.error().code, Code::kInvalidArgument);
  EXPECT_THAT(folder.error().message, HasSubstr("no VERSION/saved_model.pb"));
  Unpacked(*cache, kB, TarEntryOf("1/saved_model.pb", "x") + TarEnd());
  EXPECT_EQ(cache->Commit(kB).value(), dir_ / kB / "files");
}

}  // namespace
}  // namespace longshore::sources

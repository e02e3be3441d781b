// An index with valid checksums may still have wrong block positions. It must never make the reader read out of bounds.
#include "serving-node/saved_model/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/os/file.h"
#include "serving-node/saved_model/crafted_index.h"

namespace longshore::saved_model {
namespace {

using testing::HasSubstr;

class IndexTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  Result<std::string> Entries(std::initializer_list<BlockHandle> blocks) {
    EXPECT_TRUE(WriteFileAtomically(path_, CraftedIndex("key", "value", blocks)));
    std::string entries;
    RETURN_IF_ERROR(ReadIndex(path_, [&](std::string_view key, std::string_view value) -> Status {
      entries += fmt::format("{}={} ", key, value);
      return {};
    }));
    return entries;
  }

  const Path path_ = Path(testing::TempDir()) / fmt::format("index_test_{}.index", getpid());
  static constexpr uint64_t kBlockBytes = 3 + 3 + 5 + 8;
};

TEST_F(IndexTest, ReadsAllEntries) {
  const auto entries = Entries({{.offset = 0, .bytes = kBlockBytes}});
  ASSERT_TRUE(entries) << ToString(entries.error());
  EXPECT_EQ(*entries, "key=value ");
}

TEST_F(IndexTest, RejectsABlockOutsideTheFile) {
  for (const BlockHandle block :
       {BlockHandle{.offset = 0, .bytes = 0}, BlockHandle{.offset = 0, .bytes = 1000},
        BlockHandle{.offset = 1000, .bytes = kBlockBytes}, BlockHandle{.offset = UINT64_MAX, .bytes = kBlockBytes},
        BlockHandle{.offset = UINT64_MAX - 6, .bytes = 2},
        // The sums of these sizes and the five bytes of the trailer overflow; the results are 0 to 4.
        BlockHandle{.offset = 0, .bytes = UINT64_MAX}, BlockHandle{.offset = 0, .bytes = UINT64_MAX - 1},
        BlockHandle{.offset = 0, .bytes = UINT64_MAX - 2}, BlockHandle{.offset = 0, .bytes = UINT64_MAX - 3},
        BlockHandle{.offset = 0, .bytes = UINT64_MAX - 4}}) {
    const auto refused = Entries({block});
    ASSERT_FALSE(refused) << block.offset << " " << block.bytes;
    EXPECT_EQ(refused.error().code, Code::kDataLoss);
    EXPECT_THAT(refused.error().message, HasSubstr(path_.string() + " is damaged"));
    EXPECT_THAT(refused.error().message, HasSubstr("a block is not within the file"));
  }
}

TEST_F(IndexTest, RejectsBlocksLargerThanTheMemory) {
#ifdef LONGSHORE_SANITIZER
  GTEST_SKIP() << "the sanitizers abort a process that allocates this much";
#endif
  for (const uint64_t bytes : {UINT64_MAX - 5, uint64_t{1} << 63, uint64_t{1} << 50}) {
    const auto refused = Entries({{.offset = 0, .bytes = bytes}});
    ASSERT_FALSE(refused) << bytes;
    EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
    EXPECT_THAT(refused.error().message, HasSubstr(path_.string()));
  }
}

TEST_F(IndexTest, ReturnsTheErrorOfTheCallback) {
  EXPECT_TRUE(WriteFileAtomically(path_, CraftedIndex("key", "value", std::vector<BlockHandle>{{0, kBlockBytes}})));
  EXPECT_EQ(ReadIndex(path_, [](auto, auto) { return Status(InvalidArgument("no")); }).error().message, "no");
}

}  // namespace
}  // namespace longshore::saved_model

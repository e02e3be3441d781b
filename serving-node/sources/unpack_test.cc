#include "serving-node/sources/unpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/os/file.h"
#include "serving-node/sources/gunzip.h"
#include "serving-node/sources/testing.h"

namespace longshore::sources {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class UnpackTest : public FolderTest {
 protected:
  Result<int64_t> Into(const std::string& archive, int64_t bytes_max = 1 << 20) {
    limits_.reserve = [=](int64_t bytes) -> Status {
      return bytes > bytes_max ? Status(ResourceExhausted("no more than {}", bytes_max)) : Status();
    };
    return Unpack(BytesOf(archive), dir_, limits_);
  }

  UnpackLimits limits_{.reserve = {}, .is_cancelled = [] { return false; }};
};

TEST_F(UnpackTest, WritesTheFilesOfTheArchive) {
  const auto bytes = Into(GoodTar());
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(*bytes, 3 * 4096 + 4096 + 8192);
  EXPECT_THAT(Below(dir_), ElementsAre("digits/", "digits/1/", "digits/1/assets/", "digits/1/assets/words.txt",
                                       "digits/1/saved_model.pb"));
  EXPECT_EQ(ReadFile(dir_ / "digits/1/saved_model.pb").value(), "graph");
  EXPECT_EQ(ReadFile(dir_ / "digits/1/assets/words.txt").value(), std::string(5000, 'w'));
}

TEST_F(UnpackTest, RecognizesGzipWithSeveralMembers) {
  const std::string good = GoodTar();
  ASSERT_TRUE(Into(Gzipped(good.substr(0, 1000)) + Gzipped(good.substr(1000))));
  EXPECT_EQ(ReadFile(dir_ / "digits/1/saved_model.pb").value(), "graph");
}

TEST_F(UnpackTest, RefusesAnIncompleteOrDamagedGzipFile) {
  std::string packed = Gzipped(GoodTar());
  EXPECT_THAT(Into(packed.substr(0, 40)).error().message, HasSubstr("is incomplete"));
  packed[30] = static_cast<char>(packed[30] ^ 0x55);
  EXPECT_EQ(Into(packed).error().code, Code::kInvalidArgument);
}

TEST_F(UnpackTest, StopsADecompressionBombBeforeItWritesTheEntry) {
  const std::string bomb = Gzipped(TarEntryOf("1/saved_model.pb", std::string(5 << 20, '\0')) + TarEnd());
  EXPECT_LT(bomb.size(), 10'000U);
  EXPECT_EQ(Into(bomb).error().code, Code::kResourceExhausted);
  EXPECT_THAT(Below(dir_), ElementsAre("1/"));
}

TEST_F(UnpackTest, CountsFilesAndAlsoFoldersWithoutAnEntry) {
  limits_.entries_max = 10;
  std::string many;
  for (int i = 0; i < 10; ++i) many += TarEntryOf("a/b/" + std::to_string(i), "");
  EXPECT_EQ(Into(many + TarEnd()).error().code, Code::kResourceExhausted);
}

TEST_F(UnpackTest, RefusesANameThatOccursTwice) {
  EXPECT_THAT(Into(TarEntryOf("a", "1") + TarEntryOf("./a", "2") + TarEnd()).error().message, HasSubstr("\"a\" twice"));
  EXPECT_EQ(ReadFile(dir_ / "a").value(), "1");
  EXPECT_THAT(Into(TarEntryOf("b", "1") + TarEntryOf("b/c", "2") + TarEnd()).error().message,
              HasSubstr("a file and a folder \"b\""));
  EXPECT_THAT(Into(TarEntryOf("d/", "", '5') + TarEntryOf("d", "2") + TarEnd()).error().message,
              HasSubstr("\"d\" twice"));
}

TEST_F(UnpackTest, CreatesNoLinks) {
  EXPECT_EQ(Into(TarEntryOf("out", "", '2') + TarEntryOf("out/x", "1") + TarEnd()).error().code,
            Code::kInvalidArgument);
  EXPECT_THAT(Below(dir_), ElementsAre());
}

TEST_F(UnpackTest, StopsWhenCancelled) {
  limits_.is_cancelled = [] { return true; };
  EXPECT_EQ(Into(GoodTar()).error().code, Code::kCancelled);
}

}  // namespace
}  // namespace longshore::sources

#include "common/os/json_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "common/os/file.h"

namespace longshore {
namespace {

class JsonFile : public testing::Test {
 protected:
  JsonFile() {
    char name[] = "/tmp/longshore_json_file_XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~JsonFile() override { std::filesystem::remove_all(dir_); }

  Path dir_;
};

TEST_F(JsonFile, HasTheValueThatWasWritten) {
  ASSERT_TRUE(WriteFileAtomically(dir_ / "a.json", R"({"a": [1, "b"]})"));
  const auto read = ReadJsonFile(dir_ / "a.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(**read, (Json{{"a", {1, "b"}}}));
}

TEST_F(JsonFile, ThatDoesNotExistIsNotAnError) {
  const auto read = ReadJsonFile(dir_ / "a.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, std::nullopt);
}

TEST_F(JsonFile, ThatIsNotJsonIsDataLossAndTheMessageHasItsPath) {
  for (const char* text : {"", "{", "{} {}", "\xff"}) {
    ASSERT_TRUE(WriteFileAtomically(dir_ / "a.json", text));
    const auto read = ReadJsonFile(dir_ / "a.json");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    EXPECT_THAT(read.error().message, testing::StartsWith((dir_ / "a.json").string() + ": "));
  }
}

TEST_F(JsonFile, ThatCannotBeReadIsAnErrorAndNotAMissingFile) {
  const auto read = ReadJsonFile(dir_);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace longshore

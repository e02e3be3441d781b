#include "common/storage/storage.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <future>

#include "common/os/file.h"

namespace longshore::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::chrono::hours kNever{1};

class StorageTest : public testing::Test {
 protected:
  StorageTest() {
    char name[] = "/tmp/longshore_storage_XXXXXX";
    dir_ = mkdtemp(name);
    signal(SIGXFSZ, SIG_IGN);
  }
  ~StorageTest() override { std::filesystem::remove_all(dir_); }

  Path dir_;
  metrics::Registry registry_;
  Storage storage_{registry_, kNever};
};

TEST_F(StorageTest, APartThatCannotBeWrittenIsShownAndWrittenAgainUntilThatSucceeds) {
  const Path folder = dir_ / "state";
  std::ofstream(folder) << "a file where the folder should be";
  WriteHealth journal("journal");
  WriteHealth guards("guards");
  const auto write = [&] { journal.Report(WriteFileAtomically(folder / "journal.json", "{}")); };
  storage_.Add(journal, write);
  storage_.Add(guards, [] { FAIL() << "this part has no problem"; });
  write();
  const std::string begin = "cannot create " + (folder / "journal.json").string();
  ASSERT_EQ(storage_.Problems().size(), 1u);
  EXPECT_EQ(storage_.Problems()[0].what, "journal");
  EXPECT_THAT(storage_.Problems()[0].message(), testing::StartsWith(begin));
  EXPECT_THAT(storage_.Problems()[0].message(), testing::EndsWith("Not a directory"));
  EXPECT_THAT(registry_.Text(), HasSubstr("longshore_storage_failing{what=\"journal\"} 1\n"));
  EXPECT_THAT(registry_.Text(), HasSubstr("longshore_storage_failing{what=\"guards\"} 0\n"));
  storage_.WriteAgain();
  EXPECT_EQ(storage_.Problems().size(), 1u) << "nothing has changed yet";
  std::filesystem::remove(folder);
  std::filesystem::create_directory(folder);
  storage_.WriteAgain();
  EXPECT_THAT(storage_.Problems(), IsEmpty());
  EXPECT_THAT(registry_.Text(), HasSubstr("longshore_storage_failing{what=\"journal\"} 0\n"));
  EXPECT_EQ(ReadFile(folder / "journal.json").value(), "{}");
}

TEST_F(StorageTest, APartIsGoodWhenAllItsItemsAre) {
  WriteHealth log("request_log");
  storage_.Add(log, [] {});
  log.Report(Unavailable("no room for a"), "a");
  log.Report(Unavailable("no room for b"), "b");
  EXPECT_THAT(storage_.Problems(), ElementsAre(Problem{"request_log", {"a: no room for a", "b: no room for b"}}));
  EXPECT_EQ(storage_.Problems()[0].message(), "a: no room for a (and 1 more)");
  log.Report({}, "a");
  EXPECT_THAT(storage_.Problems(), ElementsAre(Problem{"request_log", {"b: no room for b"}}));
  EXPECT_EQ(storage_.Problems()[0].message(), "b: no room for b");
  log.Forget("b");
  EXPECT_THAT(storage_.Problems(), IsEmpty());
}

TEST_F(StorageTest, WritesAgainByItself) {
  std::promise<void> written;
  WriteHealth part("journal");
  Storage quick(registry_, std::chrono::milliseconds(1));
  quick.Add(part, [&] {
    part.Report({});
    written.set_value();
  });
  part.Report(Unavailable("no room"));
  ASSERT_EQ(written.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

TEST_F(StorageTest, TriesWhetherAFolderHasRoom) {
  EXPECT_TRUE(TryFolder(dir_));
  EXPECT_TRUE(std::filesystem::is_empty(dir_)) << "the file is removed";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status refused = TryFolder(dir_);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("File too large"));
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

}  // namespace
}  // namespace longshore::storage

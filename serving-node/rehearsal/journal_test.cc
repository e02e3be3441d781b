#include "serving-node/rehearsal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "common/os/file.h"

namespace longshore::rehearsal {
namespace {

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/journal.XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::unique_ptr<Journal> Opened() {
    auto journal = Journal::Open(dir_);
    EXPECT_TRUE(journal) << ToString(journal.error());
    return std::move(*journal);
  }
  Path dir_;
  const Attempt v3_{"digits", 3, "uid/3/1"};
};

TEST_F(JournalTest, QuarantinesAVersionThatWasBeingLoadedWhenTheProcessCrashed) {
  ASSERT_TRUE(Opened()->Begin(v3_, Activity::kLoading));
  const auto restarted = Opened();
  ASSERT_TRUE(restarted->Quarantined(v3_).has_value());
  EXPECT_THAT(*restarted->Quarantined(v3_), testing::HasSubstr("during the loading"));
  EXPECT_TRUE(Opened()->Quarantined(v3_).has_value()) << "a second restart must not forget it";
}

TEST_F(JournalTest, DoesNotQuarantineAVersionWhoseFirstRunEnded) {
  const auto journal = Opened();
  ASSERT_TRUE(journal->Begin(v3_, Activity::kFirstRun));
  journal->End(v3_);
  EXPECT_FALSE(Opened()->Quarantined(v3_).has_value());
}

TEST_F(JournalTest, DoesNotQuarantineANewAttempt) {
  ASSERT_TRUE(Opened()->Quarantine(v3_, "the rehearsal crashed"));
  EXPECT_EQ(Opened()->Quarantined(v3_), "the rehearsal crashed");
  EXPECT_FALSE(Opened()->Quarantined({"digits", 3, "uid/3/2"}).has_value());
}

TEST_F(JournalTest, NamesTheDamagedFile) {
  ASSERT_TRUE(WriteFileAtomically(dir_ / "journal.json", "{\"open\": 3"));
  const auto journal = Journal::Open(dir_);
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, Code::kDataLoss);
  EXPECT_THAT(journal.error().message, testing::HasSubstr("journal.json"));
}

TEST_F(JournalTest, FailsIfAnEntryCannotBeWritten) {
  const auto journal = Opened();
  std::filesystem::remove_all(dir_);
  EXPECT_FALSE(journal->Begin(v3_, Activity::kLoading));
}

TEST_F(JournalTest, WritesAgainThatALoadHasEnded) {
  {
    const auto journal = Opened();
    ASSERT_TRUE(journal->Begin(v3_, Activity::kLoading));
    const Path aside = dir_.string() + ".aside";
    std::filesystem::rename(dir_, aside);
    journal->End(v3_);
    ASSERT_EQ(journal->health().Problems().size(), 1u);
    EXPECT_THAT(journal->health().Problems().at(""), testing::HasSubstr("cannot create " + dir_.string()));
    std::filesystem::rename(aside, dir_);
    journal->WriteAgain();
    EXPECT_TRUE(journal->health().Problems().empty());
  }
  EXPECT_EQ(Opened()->Quarantined(v3_), std::nullopt);
}

}  // namespace
}  // namespace longshore::rehearsal

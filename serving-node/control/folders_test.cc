#include "serving-node/control/folders.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "common/os/file.h"
#include "serving-node/routing/testing.h"

namespace longshore::control {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

class Folders : public testing::Test {
 protected:
  Folders() {
    auto state = std::make_shared<DesiredState>();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        fmt::format(R"(models {{ served_name: "digits" source_uri: "file://{}" versions {{ version: 4 }} }})",
                    (dir_.path() / "digits").string()),
        state.get()));
    state_ = std::move(state);
  }
  std::unique_ptr<FolderWatch> Start(milliseconds interval) {
    return std::make_unique<FolderWatch>(
        [this] {
          scans_ += 1;
          scans_.notify_all();
          return state_;
        },
        *sources_, node_.store, interval,
        [this] {
          changes_ += 1;
          changes_.notify_all();
        });
  }

  routing::TestDir dir_;
  routing::TestNode node_{dir_.path(), "a"};
  std::unique_ptr<sources::Sources> sources_ =
      std::move(*sources::Sources::Start({.cache_dir = dir_.path() / "cache"}));
  std::shared_ptr<const DesiredState> state_;
  std::atomic<int> scans_ = 0;
  std::atomic<int> changes_ = 0;
};

TEST_F(Folders, FindsCompleteVersionsHighestFirstAlsoThoseInTheState) {
  std::filesystem::create_directories(dir_.path() / "digits" / "6");
  const auto watch = Start(milliseconds(1));
  changes_.wait(0);
  EXPECT_EQ(watch->found().versions, (FoundVersions{{"digits", {5, 4, 3, 2, 1}}}));
  ASSERT_TRUE(WriteFileAtomically(dir_.path() / "digits" / "6" / "saved_model.pb", "good"));
  changes_.wait(1);
  EXPECT_EQ(watch->found().versions, (FoundVersions{{"digits", {6, 5, 4, 3, 2, 1}}}));
}

TEST_F(Folders, ScansOncePerIntervalHoweverOftenItIsQueried) {
  const auto watch = Start(hours(1));
  changes_.wait(0);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(watch->found().versions.empty());
  EXPECT_EQ(scans_, 1);
}

TEST_F(Folders, NamesTheProblemIfTheSourceIsTheFolderOfAVersion) {
  auto state = std::make_shared<DesiredState>(*state_);
  const std::string version = (dir_.path() / "digits" / "5").string();
  state->mutable_models(0)->set_source_uri("file://" + version);
  state_ = std::move(state);
  const auto watch = Start(hours(1));
  changes_.wait(0);
  const std::string problem = version +
                              " is the folder of a version (it contains saved_model.pb): give its parent folder, " +
                              (dir_.path() / "digits").string();
  EXPECT_EQ(watch->found(), (FolderFindings{{{"digits", {}}}, {{"digits", {"file://" + version, problem}}}}));
}

TEST_F(Folders, FindsNothingWithoutAState) {
  state_ = nullptr;
  const auto watch = Start(milliseconds(1));
  for (int scans = scans_; scans < 3; scans = scans_) scans_.wait(scans);
  EXPECT_TRUE(watch->found().versions.empty());
}

}  // namespace
}  // namespace longshore::control

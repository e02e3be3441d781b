#include <gtest/gtest.h>

#include "common/json/json.h"
#include "common/os/file.h"
#include "controller/app/controller.h"

namespace longshore::app {
namespace {

class HostControllerTest : public ::testing::Test {
 protected:
  HostControllerTest() {
    char name[] = "/tmp/longshore_app_XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~HostControllerTest() override { std::filesystem::remove_all(dir_); }

  Path dir_;
};

TEST_F(HostControllerTest, StartsDespiteAStatusWhoseEpochIsNotANumber) {
  const Path records = dir_ / ".longshore/objects/Model/default";
  std::filesystem::create_directories(records);
  for (const auto& [name, epoch] : std::vector<std::pair<std::string, Json>>{{"a", "seven"}, {"b", 7}, {"c", {1}}}) {
    const Json record{{"kind", "Model"},
                      {"metadata", {{"name", name}, {"uid", name}, {"resourceVersion", "1"}}},
                      {"spec", Json::object()},
                      {"status", {{"epoch", epoch}}}};
    ASSERT_TRUE(WriteFileAtomically(records / (name + ".json"), record.dump()));
  }
  const auto started = StartOnHost({.state_dir = dir_ / "state",
                                    .manifests = dir_,
                                    .node_binary = "/bin/true",
                                    .admin = {.address = "127.0.0.1:0"},
                                    .console = {.address = ""}});
  EXPECT_TRUE(started) << started.error().message;
  EXPECT_EQ(ReadFile(dir_ / "state/epoch").value(), "8\n") << "it is above the epoch of b";
}

TEST_F(HostControllerTest, CreatesTheFolderOfManifestsOnlyIfItsParentExists) {
  HostOptions options{.state_dir = dir_ / "state",
                      .manifests = dir_ / "tpyo/manifests",
                      .node_binary = "/bin/true",
                      .admin = {.address = "127.0.0.1:0"},
                      .console = {.address = ""}};
  const auto refused = StartOnHost(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "--manifests: " + (dir_ / "tpyo/manifests").string() +
                                         " does not exist, and neither does the folder " + (dir_ / "tpyo").string());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "state")) << "nothing was created";
  options.manifests = dir_ / "manifests/";
  EXPECT_TRUE(StartOnHost(options));
  EXPECT_TRUE(std::filesystem::is_directory(dir_ / "manifests"));
}

}  // namespace
}  // namespace longshore::app

// Tests a node without a controller, and its model config file.
#include "serving-node/app/standalone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include <algorithm>
#include <future>

#include "common/os/file.h"
#include "common/os/log.h"
#include "serving-node/app/testing.h"

namespace longshore::app {
namespace {

const std::string kHalf =
    fmt::format(R"(model_config_list {{ config {{ name: "half" base_path: "{}" model_platform: "tensorflow" }} }})",
                (kModels / "half_plus_two_tf2").string());

class ConfigFile : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    spdlog::default_logger()->sinks().push_back(log_);
    flags_.model_config_file = dir_ / "models.config";
    flags_.model_config_file_poll_wait_seconds = 0.01;
  }
  void TearDown() override {
    NodeTest::TearDown();
    spdlog::default_logger()->sinks().pop_back();
  }

  void Write(const std::string& text) { ASSERT_TRUE(WriteFileAtomically(flags_.model_config_file, text)); }
  // Sends a request only if the node is ready: otherwise the request would wait for the node's main loop, which runs on
  // this thread.
  bool Serves() { return IsReady() && Answer(*node_).find("3.0") != std::string::npos; }
  bool TickUntilLogSays(const std::string& text) {
    return TickUntil([&] { return CountInLog(text) > 0; });
  }
  size_t CountInLog(const std::string& text) {
    const auto lines = log_->last_formatted();
    return static_cast<size_t>(
        std::ranges::count_if(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }

  const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> log_ =
      std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(10'000);
};

class EmptyConfigFile : public ConfigFile, public testing::WithParamInterface<std::string> {};

TEST_P(EmptyConfigFile, ChangesNothingAndIsLoggedOnce) {
  Write(kHalf);
  Start();
  ASSERT_TRUE(TickUntil([&] { return Serves(); }));

  Write(GetParam());

  ASSERT_TRUE(TickUntilLogSays("models.config is empty: no action is taken"));
  EXPECT_TRUE(Serves());
  Write("model_config_list { config { nme: 'x' } }");  // Logged by a later poll than those of the empty file.
  ASSERT_TRUE(TickUntilLogSays("models.config:1:"));
  EXPECT_EQ(CountInLog("is empty"), 1u);
  EXPECT_TRUE(Serves());
}

INSTANTIATE_TEST_SUITE_P(All, EmptyConfigFile, testing::Values("", " \n\t\n", "# model_config_list {}\n"));

TEST_F(ConfigFile, AnEmptyListOfModelsUnloadsThemAll) {
  Write(kHalf);
  Start();
  ASSERT_TRUE(TickUntil([&] { return Serves(); }));
  Write("model_config_list {}");
  EXPECT_TRUE(TickUntil([&] { return !Serves(); }));
}

TEST_F(ConfigFile, ANodeThatStartsWithAnEmptyOneServesWhatItSaysLater) {
  Write("");
  Start();
  ASSERT_TRUE(TickUntilLogSays("models.config is empty: no action is taken"));
  Write(kHalf);
  EXPECT_TRUE(TickUntil([&] { return Serves(); }));
}

TEST_F(ConfigFile, ALoadOfOneModelDoesNotWaitForTheLoadOfAnother) {
  std::filesystem::create_directories(dir_ / "slow" / "1");  // A version that is never complete.
  std::string config = kHalf;
  config.insert(config.rfind('}'),
                fmt::format(R"(config {{ name: "slow" base_path: "{}" model_platform: "tensorflow" }})",
                            (dir_ / "slow").string()));
  Write(config);
  Start();
  ASSERT_TRUE(TickUntil([&] { return node_->open(); }));
  const auto change = [port = node_->sockets().rest_port](const std::string& model, const std::string& how) {
    return std::async(std::launch::async, frontend::Fetch, port, "POST", "/v2/repository/models/" + model + how, "{}",
                      "");
  };
  const auto is_ready = [](const std::future<std::string>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  const auto slow = change("slow", "/load");
  for (int round = 0; round < 5; ++round) {
    for (const char* how : {"/unload", "/load"}) {
      auto half = change("half", how);
      ASSERT_TRUE(TickUntil([&] { return is_ready(half); }));
      EXPECT_THAT(half.get(), testing::HasSubstr("200 OK")) << how;
    }
  }
  EXPECT_FALSE(is_ready(slow));
  node_.reset();  // Answers the load that still waits.
}

// As in TensorFlow Serving, which listens only after ServerCore::AddModelsViaModelConfigList has waited for the models.
TEST_F(NodeTest, DoesNotOpenItsPortsWhileANewlyWrittenVersionMayStillBeChanging) {
  const Path source = kModels / "half_plus_two_tf2";
  flags_.model_name = "half";
  flags_.model_base_path = dir_ / "half";
  std::filesystem::copy(source, flags_.model_base_path, std::filesystem::copy_options::recursive);
  Start();
  ASSERT_TRUE(TickUntil([&] { return node_->open(); }));
  EXPECT_THAT(Answer(*node_), testing::HasSubstr("3.0"));
}

TEST_F(NodeTest, OpensItsPortsWhileAnIncompleteVersionWaits) {
  flags_.model_name = "half";
  flags_.model_base_path = dir_ / "half";
  std::filesystem::create_directories(flags_.model_base_path / "1");
  Start();
  EXPECT_TRUE(node_->Tick());
  EXPECT_TRUE(node_->open());
}

TEST_F(NodeTest, SaysInPlainWordsWhatAVersionDoesThatCannotBeLoaded) {
  flags_.model_name = "half";
  flags_.model_base_path = dir_ / "half";
  std::filesystem::create_directories(flags_.model_base_path / "1");
  ASSERT_TRUE(WriteFileAtomically(flags_.model_base_path / "1/saved_model.pb", "not a model"));
  Start();
  std::string said;
  ASSERT_TRUE(TickUntil([&] {
    said = Admin("/readyz");
    return said.find("(version 1 ") != std::string::npos && said.find(": ", said.find("(version 1 ")) != said.npos;
  })) << said;
  EXPECT_THAT(said, testing::ContainsRegex("no version is available .version 1 (waits to be|could not be) loaded: "));
}

}  // namespace
}  // namespace longshore::app

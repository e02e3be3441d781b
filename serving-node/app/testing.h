// A complete node in the test's process that serves the model half_plus_two, standalone or managed by a controller that
// never answers.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/os/file.h"
#include "longshore/control.pb.h"
#include "serving-node/app/node.h"
#include "serving-node/frontend/testing.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::app {

inline const Path kModels = source_tree::Root() / "tests/models";
inline constexpr const char* kPredict = "/v1/models/half:predict";
inline constexpr const char* kBody = R"({"instances": [2.0]})";  // The answer is 3.0.

class NodeTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "nodeXXXXXX";
    dir_ = mkdtemp(pattern.data());
    flags_.port = 0;
    flags_.rest_api_port = 0;
    flags_.admin_port = 0;
    flags_.host = "127.0.0.1";
    flags_.node = "a";
  }
  void TearDown() override {
    node_.reset();
    std::filesystem::remove_all(dir_);
  }

  void BeManaged() {
    flags_.controller = "unix:" + (dir_ / "nobody.sock").string();
    flags_.fleet = "ns/f";
    flags_.state_dir = dir_ / "state";
    flags_.peer_address = "unix:" + (dir_ / "a.sock").string();
    std::filesystem::create_directories(flags_.state_dir);
  }
  // A client may take a second for each byte that it has sent of a REST body, and an hour for all of it in a drain.
  void LetBodiesTakeLong() {
    flags_.listeners.rest_bytes_per_second_min = 1;
    flags_.listeners.rest_drain_timeout_ms = std::chrono::milliseconds(std::chrono::hours(1)).count();
  }
  control::DesiredState Half(int64_t connection_age_max_ms = 0) const {
    control::DesiredState state;
    state.set_epoch(1);
    state.mutable_fleet()->set_fleet("ns/f");
    state.mutable_fleet()->set_connection_age_max_ms(connection_age_max_ms);
    control::ModelState& model = *state.add_models();
    model.set_served_name("half");
    model.set_source_uri("file://" + (kModels / "half_plus_two_tf2").string());
    control::VersionState& version = *model.add_versions();
    version.set_version(
        std::stoll(std::filesystem::directory_iterator(kModels / "half_plus_two_tf2")->path().filename()));
    version.set_weight_bp(10000);
    version.set_role(control::STABLE);
    version.set_load(true);
    return state;
  }
  void Hold(const control::DesiredState& state) {
    ASSERT_TRUE(WriteFileAtomically(flags_.state_dir / "desired.pb", state.SerializeAsString()));
  }
  void Start() {
    auto started = Node::Start(flags_);
    ASSERT_TRUE(started) << started.error().message;
    node_ = std::move(*started);
  }
  template <typename Condition>
  bool TickUntil(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition() && std::chrono::steady_clock::now() < deadline) EXPECT_TRUE(node_->Tick());
    return condition();
  }
  static std::string Answer(const Node& node) {
    return frontend::Fetch(node.sockets().rest_port, "POST", kPredict, kBody);
  }
  std::string Admin(const std::string& target) { return frontend::Fetch(node_->admin_port(), "GET", target); }
  bool IsReady() { return Admin("/readyz").starts_with("HTTP/1.1 200"); }

  Path dir_;
  flags::Flags flags_;
  std::unique_ptr<Node> node_;
};

}  // namespace longshore::app

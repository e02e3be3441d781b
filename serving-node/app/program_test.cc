// Starts the real program and terminates it at every stage between start and exit.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <future>
#include <random>

#include "common/json/json.h"
#include "common/os/file.h"
#include "common/os/json_file.h"
#include "common/os/process/process.h"
#include "longshore/control.pb.h"
#include "serving-node/frontend/testing.h"
#include "tensorflow_serving/services.grpc.pb.h"
#include "tests/seeds/seeds.h"
#include "tests/source_tree/source_tree.h"

namespace longshore::app {
namespace {

using frontend::Fetch;
using testing::HasSubstr;

const Path kModel = source_tree::Root() / "tests/models/half_plus_two_tf2";
constexpr auto kGoneWithin = std::chrono::seconds(10);

class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "programXXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  process::Process Spawn(std::vector<std::string> arguments) {
    std::filesystem::remove(dir_ / "ports");
    std::vector<std::string> argv = {LONGSHORE_NODE,
                                     "--host=127.0.0.1",
                                     "--port=0",
                                     "--rest_api_port=0",
                                     "--admin_port=0",
                                     "--connection_age_max_ms=200",
                                     "--port_file=" + (dir_ / "ports").string()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    auto node = process::Spawn({.argv = argv, .env = {}, .descriptors = {}, .log_file = dir_ / "log"});
    EXPECT_TRUE(node) << ToString(node.error());
    return std::move(*node);
  }
  process::Process SpawnStandalone(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--model_name=half", "--model_base_path=" + kModel.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Spawn(arguments);
  }
  // Starts a managed node that has this state on its disk and cannot reach a controller.
  process::Process SpawnManaged(const control::DesiredState& state) {
    std::filesystem::create_directories(dir_ / "state");
    EXPECT_TRUE(WriteFileAtomically(dir_ / "state" / "desired.pb", state.SerializeAsString()));
    return Spawn({"--controller=unix:" + (dir_ / "nobody.sock").string(), "--fleet=ns/f",
                  "--state_dir=" + (dir_ / "state").string(), "--peer_address=unix:" + (dir_ / "peer.sock").string()});
  }
  // Returns a state with a model whose version 1 is a named pipe without a writer, so that loading it never ends.
  control::DesiredState Stuck(bool rehearse) {
    std::filesystem::create_directories(dir_ / "stuck" / "1");
    EXPECT_EQ(mkfifo((dir_ / "stuck" / "1" / "saved_model.pb").c_str(), 0600), 0);
    control::DesiredState state;
    state.mutable_fleet()->set_fleet("ns/f");
    control::ModelState& model = *state.add_models();
    model.set_served_name("stuck");
    model.set_source_uri("file://" + (dir_ / "stuck").string());
    control::VersionState& version = *model.add_versions();
    version.set_version(1);
    version.set_role(control::EXTRA);
    version.set_load(true);
    version.set_rehearse(rehearse);
    return state;
  }

  int Port(const std::string& name) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      const auto ports = ReadJsonFile(dir_ / "ports");
      if (ports && *ports) return (*ports)->at(name).get<int>();
    }
    ADD_FAILURE() << "no port file: " << Log();
    return 0;
  }
  void AwaitAdmin(const std::string& target, const std::string& part) {
    const int port = Port("admin");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (Fetch(port, "GET", target).find(part) == std::string::npos) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << Fetch(port, "GET", target) << Log();
    }
  }
  void ExpectItLeaves(process::Process& node) {
    ASSERT_TRUE(node.Signal(SIGTERM));
    const auto exit = node.Wait(kGoneWithin);
    EXPECT_TRUE(exit && exit->ok()) << (exit ? ToString(*exit) : "the process is still running") << "\n" << Log();
    if (!exit) (void)node.Signal(SIGKILL);
  }
  std::string Log() { return ReadFile(dir_ / "log").value_or(""); }

  Path dir_;
};

TEST_F(ProgramTest, EndsAtEveryStageOfItsStart) {
  constexpr int kRounds = 30;
  const uint64_t seed = seeds::First();
  std::minstd_rand random(seed);
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
    process::Process node = SpawnStandalone();
    const auto moment = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 60'000);
    while (std::chrono::steady_clock::now() < moment) {
    }
    ASSERT_TRUE(node.Signal(SIGTERM));
    const auto exit = node.Wait(kGoneWithin);
    // Until the program blocks SIGTERM, the signal kills it.
    EXPECT_TRUE(exit && (exit->ok() || exit->signal == SIGTERM)) << Log();
    if (!exit) (void)node.Signal(SIGKILL);
  }
}

TEST_F(ProgramTest, EndsDuringARehearsalWithoutAQuarantine) {
  process::Process node = SpawnManaged(Stuck(true));
  AwaitAdmin("/debug/state", "\"loading\"");
  ExpectItLeaves(node);
  EXPECT_THAT(ReadFile(dir_ / "state" / "journal.json").value_or(""), testing::Not(HasSubstr("stuck")));
}

TEST_F(ProgramTest, EndsDuringALoadWithoutAQuarantine) {
  process::Process node = SpawnManaged(Stuck(false));
  AwaitAdmin("/debug/state", "\"loading\"");
  ExpectItLeaves(node);
  EXPECT_THAT(ReadFile(dir_ / "state" / "journal.json").value_or(""), testing::Not(HasSubstr("stuck")));
}

TEST_F(ProgramTest, AnswersRequestsInFlightAndAcceptsNoNewOnesDuringShutdown) {
  process::Process node = SpawnStandalone({"--simulated_run_ms=300", "--max_concurrent_runs=4"});
  AwaitAdmin("/readyz", "200 OK");
  const int rest = Port("rest");
  auto by_rest = std::async(
      std::launch::async, [rest] { return Fetch(rest, "POST", "/v1/models/half:predict", R"({"instances": [2.0]})"); });
  const auto channel =
      ::grpc::CreateChannel(fmt::format("127.0.0.1:{}", Port("grpc")), ::grpc::InsecureChannelCredentials());
  auto by_grpc = std::async(std::launch::async, [&channel] {
    tensorflow::serving::PredictRequest request;
    request.mutable_model_spec()->set_name("half");
    tensor::ToProto(tensor::Tensor::Of<float>({1}, {2}), &(*request.mutable_inputs())["x"]);
    tensorflow::serving::PredictResponse response;
    ::grpc::ClientContext context;
    return tensorflow::serving::PredictionService::NewStub(channel)->Predict(&context, request, &response);
  });
  AwaitAdmin("/debug/state", "\"running\": 2");
  ExpectItLeaves(node);
  EXPECT_THAT(by_rest.get(), HasSubstr("3.0"));
  const auto status = by_grpc.get();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(Fetch(rest, "GET", "/v1/models/half"), "refused");
}

}  // namespace
}  // namespace longshore::app

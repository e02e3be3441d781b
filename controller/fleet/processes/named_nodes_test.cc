#include "controller/fleet/processes/named_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "common/os/file.h"
#include "common/os/process/descriptors.h"
#include "common/os/process/process.h"
#include "controller/fleet/processes/node_record.h"

namespace longshore::fleet::processes {
namespace {

using std::chrono::seconds;

constexpr const char* kFleet = "default/cpu";

// A fake node: it passes its listening sockets on, and ends on SIGTERM.
constexpr const char* kNode = R"(#!/usr/bin/env python3
import os, signal, socket, sys
flags = dict(flag[2:].split("=", 1) for flag in sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
with open(flags["state_dir"] + "/environment", "wb") as file:
    file.write(b"\n".join(name + b"=" + value for name, value in os.environb.items()))
path = flags["state_dir"] + "/handover.sock"
if os.path.exists(path):
    os.unlink(path)
handover = socket.socket(socket.AF_UNIX)
handover.bind(path)
handover.listen()
while True:
    peer, _ = handover.accept()
    try:
        socket.send_fds(peer, [b"d"], [int(flags["grpc_listen_fd"]), int(flags["rest_listen_fd"])])
    except OSError:
        pass
    peer.close()
)";

int PortOf(const std::string& address) { return std::stoi(address.substr(address.find(':') + 1)); }

bool Connects(int port) {
  const process::Descriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
}

class NamedNodesTest : public ::testing::Test {
 protected:
  NamedNodesTest() {
    char name[] = "/tmp/longshore_fleet_XXXXXX";
    dir_ = mkdtemp(name);
    EXPECT_TRUE(WriteFileAtomically(dir_ / "node", kNode));
    chmod((dir_ / "node").c_str(), 0755);
    fleet_ = StartFleet();
  }
  ~NamedNodesTest() override {
    fleet_.reset();
    EXPECT_TRUE(StopAllNodes(dir_, seconds(20)));
    std::filesystem::remove_all(dir_);
  }

  std::unique_ptr<NamedNodes> StartFleet() {
    ProcessOptions options{.state_dir = dir_, .node_binary = dir_ / "node", .controller = "unix:/nowhere"};
    options.backoff_min = options.backoff_max = std::chrono::milliseconds(1);
    options.node_environment = {fmt::format("PATH={}", getenv("PATH")), "COLOUR=blue"};
    auto started = StartNamedNodes(options, clock_, [this](const std::string&) {
      const std::scoped_lock lock(mutex_);
      changed_.notify_all();
    });
    EXPECT_TRUE(started) << started.error().message;
    return std::move(*started);
  }

  bool WaitUntil(const std::function<bool(const std::vector<NodeInfo>&)>& wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), [&] { return wanted(fleet_->Nodes(kFleet)); });
  }

  // Waits until the node accepts connections at its handover socket.
  void WaitForNode(const std::string& node) {
    constexpr int kTriesMax = 4000;
    for (int i = 0; i < kTriesMax; ++i) {
      const auto connected = process::ConnectUnix(NodePaths(dir_, node).handover_socket);
      if (connected) {
        close(*connected);
        return;
      }
      poll(nullptr, 0, 5);
    }
    FAIL() << node << " does not start";
  }

  void StartNode(const std::string& node) {
    ASSERT_TRUE(fleet_->EnsureListening(spec_));
    ASSERT_TRUE(fleet_->Start(kFleet, node));
    WaitForNode(node);
  }

  pid_t PidOf(const std::string& node) {
    for (const NodeInfo& info : fleet_->Nodes(kFleet)) {
      if (info.node == node) return static_cast<pid_t>(info.pid);
    }
    return 0;
  }

  Path dir_;
  const SystemClock clock_;
  const Spec spec_{.fleet = kFleet, .connection_age_max = seconds(30)};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<NamedNodes> fleet_;
};

TEST_F(NamedNodesTest, NodesAcceptFromTheSocketsOfTheFleet) {
  const Addresses addresses = fleet_->EnsureListening(spec_).value();
  StartNode("a");
  const process::Descriptor handover(process::ConnectUnix(NodePaths(dir_, "a").handover_socket).value());
  const auto sockets = process::ReceiveDescriptors(handover.get(), 2).value();
  EXPECT_EQ(fmt::format("127.0.0.1:{}", process::LocalPort(sockets[0]).value()), addresses.grpc);
  EXPECT_EQ(fmt::format("127.0.0.1:{}", process::LocalPort(sockets[1]).value()), addresses.rest);
  for (const int fd : sockets) close(fd);
  EXPECT_EQ(fleet_->EnsureListening(spec_)->grpc, addresses.grpc) << "a second call changes nothing";
}

TEST_F(NamedNodesTest, NodesGetTheConfiguredEnvironmentAndNotTheControllersOwn) {
  setenv("SSL_CERT_FILE", "/dev/null", 1);
  StartNode("a");
  unsetenv("SSL_CERT_FILE");
  const std::string environment = ReadFile(dir_ / "nodes/a/environment").value();
  EXPECT_THAT(environment, ::testing::HasSubstr("COLOUR=blue"));
  EXPECT_THAT(environment, ::testing::Not(::testing::HasSubstr("SSL_CERT_FILE")));
}

TEST_F(NamedNodesTest, TheErrorNamesAPortInUse) {
  const process::Descriptor other(process::ListenTcp("127.0.0.1", 0).value());
  const int port = process::LocalPort(other.get()).value();
  const auto listening = fleet_->EnsureListening({.fleet = kFleet, .grpc_port = port, .connection_age_max = {}});
  ASSERT_FALSE(listening);
  EXPECT_EQ(
      listening.error().message,
      fmt::format("spec.ports.grpc: port {} on 127.0.0.1 is in use by this process, the controller (--admin_port or "
                  "--console_port); choose another port there",
                  port));
  EXPECT_EQ(fleet_->Start(kFleet, "a").error().code, Code::kFailedPrecondition);
}

TEST_F(NamedNodesTest, TheErrorNamesTheFleetThatUsesAPort) {
  const std::string address = fleet_->EnsureListening(spec_)->grpc;
  const int port = std::stoi(address.substr(address.find(':') + 1));
  const auto listening =
      fleet_->EnsureListening({.fleet = "default/other", .rest_port = port, .connection_age_max = {}});
  ASSERT_FALSE(listening);
  EXPECT_EQ(listening.error().message,
            fmt::format("spec.ports.rest: port {} on 127.0.0.1 is in use by fleet {}; choose another port there", port,
                        kFleet));
}

TEST_F(NamedNodesTest, AKilledNodeIsRestartedAndCountedAsACrash) {
  StartNode("a");
  const pid_t first = PidOf("a");
  kill(first, SIGKILL);
  ASSERT_TRUE(WaitUntil([&](const auto& nodes) {
    return nodes[0].state == NodeState::kRunning && nodes[0].pid != first && nodes[0].crashes == 1;
  }));
  EXPECT_EQ(fleet_->Nodes(kFleet)[0].last_exit, "was killed by signal 9 (SIGKILL)");
  WaitForNode("a");
}

TEST_F(NamedNodesTest, ANodeThatEndsOnAForeignSignalIsRestartedWithoutCountingACrash) {
  StartNode("a");
  const pid_t first = PidOf("a");
  kill(first, SIGTERM);
  ASSERT_TRUE(
      WaitUntil([&](const auto& nodes) { return nodes[0].state == NodeState::kRunning && nodes[0].pid != first; }));
  EXPECT_EQ(fleet_->Nodes(kFleet)[0].crashes, 0);
  EXPECT_EQ(fleet_->Nodes(kFleet)[0].last_exit, "exited with code 0");
  WaitForNode("a");
}

TEST_F(NamedNodesTest, ANodeReportsThatItCannotBeStartedUntilItCan) {
  StartNode("a");
  const Path dir = NodePaths(dir_, "a").dir;
  std::filesystem::remove_all(dir);
  ASSERT_TRUE(WriteFileAtomically(dir, "in the way"));
  kill(PidOf("a"), SIGKILL);
  ASSERT_TRUE(WaitUntil([](const auto& nodes) { return !nodes[0].trouble.empty(); }));
  EXPECT_THAT(fleet_->Nodes(kFleet)[0].trouble,
              ::testing::HasSubstr("the node cannot be started: cannot create " + dir.string()));
  std::filesystem::remove(dir);
  EXPECT_TRUE(WaitUntil([](const auto& nodes) { return nodes[0].trouble.empty() && nodes[0].pid != 0; }));
  WaitForNode("a");
}

TEST_F(NamedNodesTest, AStoppedNodeIsNotRestarted) {
  StartNode("a");
  StartNode("b");
  ASSERT_TRUE(fleet_->Stop(kFleet, "a"));
  ASSERT_TRUE(WaitUntil([](const auto& nodes) { return nodes.size() == 1; }));
  EXPECT_EQ(fleet_->Nodes(kFleet)[0].node, "b");
  EXPECT_EQ(fleet_->Forget(kFleet).error().code, Code::kFailedPrecondition);
  ASSERT_TRUE(fleet_->Stop(kFleet, "b"));
  ASSERT_TRUE(WaitUntil([](const auto& nodes) { return nodes.empty(); }));
  EXPECT_TRUE(fleet_->Forget(kFleet));
  EXPECT_TRUE(fleet_->Fleets().empty());
}

// The connections would wait for the leaving nodes, which have copies of the sockets but accept none.
TEST_F(NamedNodesTest, AFleetRefusesConnectionsAlthoughALeavingNodeHasItsSockets) {
  const int port = PortOf(fleet_->EnsureListening(spec_)->grpc);
  StartNode("a");
  kill(PidOf("a"), SIGSTOP);  // It does not end.
  ASSERT_TRUE(fleet_->Stop(kFleet, "a"));
  ASSERT_TRUE(Connects(port));
  ASSERT_TRUE(fleet_->StopListening(kFleet));
  EXPECT_FALSE(Connects(port));
  EXPECT_TRUE(fleet_->EnsureListening({.fleet = kFleet, .grpc_port = port, .connection_age_max = {}}));
  EXPECT_TRUE(Connects(port)) << "the fleet was created again";
  kill(PidOf("a"), SIGCONT);
  EXPECT_TRUE(WaitUntil([](const auto& nodes) { return nodes.empty(); }));
}

TEST_F(NamedNodesTest, TheNextControllerCanRefuseConnectionsToo) {
  const int port = PortOf(fleet_->EnsureListening(spec_)->grpc);
  StartNode("a");
  NodeRecord record = ReadRecords(dir_).at(0);
  record.stopping = true;
  fleet_.reset();
  ASSERT_TRUE(WriteRecord(NodePaths(dir_, "a"), record));
  fleet_ = StartFleet();
  ASSERT_TRUE(Connects(port));
  ASSERT_TRUE(fleet_->StopListening(kFleet));
  EXPECT_FALSE(Connects(port));
}

TEST_F(NamedNodesTest, ANodeIsStoppedEvenIfItsRecordCannotBeWritten) {
  StartNode("a");
  // A folder at the path of the temporary file makes writing the record fail, as on a full disk.
  const Path in_the_way = NodePaths(dir_, "a").record.string() + fmt::format(".{}.tmp", getpid());
  std::filesystem::create_directory(in_the_way);
  kill(PidOf("a"), SIGSTOP);
  ASSERT_TRUE(fleet_->Stop(kFleet, "a"));
  EXPECT_EQ(fleet_->Nodes(kFleet)[0].state, NodeState::kStopping);
  EXPECT_THAT(fleet_->Nodes(kFleet)[0].trouble, ::testing::HasSubstr("the node's record cannot be written"));
  kill(PidOf("a"), SIGCONT);
  EXPECT_TRUE(WaitUntil([](const auto& nodes) { return nodes.empty(); }));
}

TEST_F(NamedNodesTest, OnlyANodeThatDoesNotAnswerIsRestarted) {
  StartNode("a");
  StartNode("b");
  const pid_t hung = PidOf("a");
  const pid_t other = PidOf("b");
  kill(hung, SIGSTOP);
  ASSERT_TRUE(fleet_->Restart(kFleet, "a"));
  ASSERT_TRUE(fleet_->Restart(kFleet, "b")) << "it is not known yet that it answers";
  EXPECT_TRUE(WaitUntil([&](const auto& nodes) { return nodes[0].pid != 0 && nodes[0].pid != hung; }));
  EXPECT_TRUE(WaitUntil([&](const auto&) { return !fleet_->Restart(kFleet, "b"); }));
  EXPECT_EQ(fleet_->Restart(kFleet, "b").error().code, Code::kFailedPrecondition);
  EXPECT_EQ(PidOf("b"), other);
  EXPECT_EQ(fleet_->Nodes(kFleet)[0].last_exit, "did not answer and was ended by the controller");
  EXPECT_TRUE(fleet_->Restart("default/other", "a")) << "it does nothing";
  WaitForNode("a");
}

TEST_F(NamedNodesTest, TheErrorNamesAFolderThatCannotBeRemoved) {
  StartNode("a");
  std::filesystem::rename(dir_ / "nodes", dir_ / "moved");
  std::filesystem::create_symlink("nodes", dir_ / "nodes");  // A cyclic link.
  kill(PidOf("a"), SIGKILL);
  ASSERT_TRUE(WaitUntil([](const auto& nodes) { return nodes[0].pid == 0; }));
  const Status stopped = fleet_->Stop(kFleet, "a");
  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().message, ::testing::HasSubstr("cannot remove " + NodePaths(dir_, "a").dir.string()));
  EXPECT_TRUE(fleet_->Nodes(kFleet).empty());
}

TEST_F(NamedNodesTest, TheNextControllerTakesOverTheNodesAndTheirSockets) {
  StartNode("a");
  StartNode("b");
  const Addresses addresses = fleet_->EnsureListening(spec_).value();
  const pid_t pid = PidOf("a");
  fleet_.reset();
  fleet_ = StartFleet();
  EXPECT_EQ(PidOf("a"), pid);
  EXPECT_EQ(fleet_->EnsureListening(spec_)->grpc, addresses.grpc);
  EXPECT_EQ(fleet_->EnsureListening(spec_)->rest, addresses.rest);
  kill(pid, SIGKILL);
  EXPECT_TRUE(WaitUntil([&](const auto& nodes) { return nodes[0].crashes == 1 && nodes[0].pid != 0; }))
      << "its end is noticed although it is not a child process";
}

TEST_F(NamedNodesTest, ANodeThatWasStartedButNotRecordedIsFoundByItsArgument) {
  StartNode("a");
  const pid_t pid = PidOf("a");
  fleet_.reset();
  ASSERT_TRUE(WriteRecord(NodePaths(dir_, "a"), {kFleet, "a", 0, 0, false}));
  fleet_ = StartFleet();
  EXPECT_EQ(PidOf("a"), pid);
}

TEST_F(NamedNodesTest, ANodeThatDiedWithoutAControllerIsRestarted) {
  StartNode("a");
  const pid_t first = PidOf("a");
  fleet_.reset();
  kill(first, SIGKILL);
  const auto record = ReadRecords(dir_).at(0);
  if (auto dying = process::Adopt(first, record.start_time); dying) {
    ASSERT_TRUE(dying->Wait(seconds(20)));
  }
  fleet_ = StartFleet();
  ASSERT_EQ(fleet_->Nodes(kFleet).size(), 1U);
  ASSERT_TRUE(fleet_->EnsureListening(spec_));
  ASSERT_TRUE(WaitUntil([&](const auto& nodes) { return nodes[0].state == NodeState::kRunning; }));
  EXPECT_NE(PidOf("a"), first);
}

TEST_F(NamedNodesTest, StopAllNodesEndsNodesWhoseRecordIsMissingOrCannotBeWritten) {
  StartNode("a");
  StartNode("b");
  StartNode("c");
  std::vector<process::Process> nodes;
  for (const char* name : {"a", "b", "c"}) nodes.push_back(std::move(*process::AdoptAny(PidOf(name))));
  fleet_.reset();
  std::filesystem::remove_all(NodePaths(dir_, "b").dir);
  const Path in_the_way = NodePaths(dir_, "a").record.string() + fmt::format(".{}.tmp", getpid());
  std::filesystem::create_directory(in_the_way);
  EXPECT_FALSE(StopAllNodes(dir_, seconds(20))) << "a is not marked as stopping";
  for (process::Process& node : nodes) EXPECT_TRUE(node.Wait(seconds(0)));
  std::filesystem::remove_all(in_the_way);
}

TEST_F(NamedNodesTest, StopAllNodesCountsWhatItHasEnded) {
  for (const char* name : {"a", "b"}) StartNode(name);
  fleet_.reset();
  std::filesystem::remove_all(NodePaths(dir_, "b").dir);
  const auto stopped = StopAllNodes(dir_, seconds(20));
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->nodes, 2);
  EXPECT_EQ(stopped->fleets, std::set<std::string>{spec_.fleet});
  EXPECT_EQ(StopAllNodes(dir_, seconds(20))->nodes, 0);
}

TEST_F(NamedNodesTest, TheErrorNamesAMissingProgram) {
  const auto fleet = StartNamedNodes({.state_dir = dir_, .node_binary = "/no/such/node"}, clock_, {});
  ASSERT_FALSE(fleet);
  EXPECT_THAT(fleet.error().message, ::testing::HasSubstr("/no/such/node"));
}

TEST_F(NamedNodesTest, AStateDirectoryWithALongPathIsRejectedWithTheReason) {
  ASSERT_TRUE(fleet_->EnsureListening(spec_));
  const Status started = fleet_->Start(kFleet, std::string(100, 'x'));
  EXPECT_EQ(started.error().code, Code::kInvalidArgument);
  EXPECT_THAT(started.error().message, ::testing::HasSubstr("choose a shorter state directory"));
}

}  // namespace
}  // namespace longshore::fleet::processes

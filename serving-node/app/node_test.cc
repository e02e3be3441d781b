// Tests a complete node in this process. The test calls Tick, as the main loop does, and is a client of the node.
#include "serving-node/app/node.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <sys/stat.h>

#include "common/os/process/descriptors.h"
#include "serving-node/app/client_listeners.h"
#include "serving-node/app/repository.h"
#include "serving-node/app/testing.h"

namespace longshore::app {
namespace {

using frontend::Fetch;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kNoDescriptor = 1 << 30;

// One REST connection that stays open between requests.
class KeptConnection {
 public:
  explicit KeptConnection(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // Sends one prediction and returns the header and body of the answer; "" if the connection was closed.
  std::string Predict() {
    Send(fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", kPredict,
                     std::string_view(kBody).size(), kBody));
    return ReadUntil("}");
  }
  // Sends a prediction without the end of its body. Requires LetBodiesTakeLong: then the node waits for the end as long
  // as a test may take.
  void BeginPredict() {
    // More than the buffers of a connection hold: when it is sent, the node has read the header and much of the body.
    const std::string spaces(size_t{8} << 20, ' ');
    Send(fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", kPredict,
                     spaces.size() + std::string_view(kBody).size(), spaces));
  }
  // Sends the end of the body, and returns the answer as Predict does.
  std::string EndPredict() {
    Send(kBody);
    return ReadUntil("}");
  }

 private:
  void Send(const std::string& bytes) { send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Returns what arrives until it contains `end`; "" if the connection is closed before.
  std::string ReadUntil(const char* end) {
    std::string all;
    char bytes[4096];
    while (all.find(end) == std::string::npos) {
      const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
      if (got <= 0) return "";
      all.append(bytes, static_cast<size_t>(got));
    }
    return all;
  }
  const process::Descriptor fd_;
};

bool Connects(int port) {
  const process::Descriptor fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

// A gRPC connection without requests.
std::shared_ptr<::grpc::Channel> ConnectGrpc(int port) {
  auto channel = ::grpc::CreateChannel(fmt::format("127.0.0.1:{}", port), ::grpc::InsecureChannelCredentials());
  EXPECT_TRUE(channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(60)));
  return channel;
}

bool IsToldToLeave(const std::string& answer) { return answer.find("Connection: close") != std::string::npos; }

// Sends requests until an answer says "Connection: close". Returns false if the connection ends without that.
bool IsToldToLeaveInTheEnd(KeptConnection& client) {
  std::string answer = client.Predict();
  while (!answer.empty() && !IsToldToLeave(answer)) answer = client.Predict();
  return IsToldToLeave(answer);
}

TEST_F(NodeTest, AManagedNodeIsReadyOnceItsListenersAreOpen) {
  BeManaged();
  Hold(Half());
  Start();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto able = [&] { return Admin("/readyz").find("listeners") != std::string::npos; };
  while (!able() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_THAT(Admin("/readyz"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("the client listeners are not open yet")));
  ASSERT_TRUE(node_->Tick());
  EXPECT_THAT(Admin("/readyz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Fetch(node_->sockets().rest_port, "POST", kPredict, kBody), HasSubstr("3.0"));
}

TEST_F(NodeTest, ListenersThatCannotServeStayClosed) {
  auto components = BuildComponents(flags_, {}, [](const auto&, const auto&) {});
  ASSERT_TRUE(components);
  AddOip(flags_, MakeManagedRepository(*(*components)->router), components->get());
  ListeningSockets sockets;
  sockets.rest = process::Descriptor(kNoDescriptor);
  ClientListeners listeners(flags_, **components, {}, std::move(sockets));
  EXPECT_FALSE(listeners.Open(0));
  EXPECT_FALSE(listeners.open());
}

TEST_F(NodeTest, UsesTheConnectionAgeOfTheFleetInsteadOfTheFlag) {
  BeManaged();
  flags_.connection_age_max_ms = 0;
  Hold(Half(1));
  Start();
  ASSERT_TRUE(TickUntil([this] { return IsReady(); }));
  KeptConnection client(node_->sockets().rest_port);
  EXPECT_TRUE(IsToldToLeaveInTheEnd(client));
}

TEST_F(NodeTest, ADrainDoesNotWaitUntilConnectionsReachTheirAge) {
  BeManaged();
  Hold(Half(std::chrono::milliseconds(std::chrono::hours(1)).count()));
  Start();
  ASSERT_TRUE(TickUntil([this] { return IsReady(); }));
  const auto client = ConnectGrpc(node_->sockets().grpc_port);
  node_->Leave();
  EXPECT_TRUE(TickUntil([this] { return node_->left(); }));
}

// So that they can try another address at once.
TEST_F(NodeTest, ClientsThatConnectToADrainingNodeAreRefused) {
  BeManaged();
  LetBodiesTakeLong();
  Hold(Half());
  Start();
  ASSERT_TRUE(TickUntil([this] { return IsReady(); }));
  KeptConnection client(node_->sockets().rest_port);
  client.BeginPredict();
  node_->Leave();
  const ListeningSockets& sockets = node_->sockets();
  EXPECT_TRUE(TickUntil([&] { return !Connects(sockets.grpc_port) && !Connects(sockets.rest_port); }));
  EXPECT_FALSE(node_->left()) << "it refused only when it had ended";
  EXPECT_THAT(client.EndPredict(), HasSubstr("3.0"));
  EXPECT_TRUE(TickUntil([this] { return node_->left(); }));
}

TEST_F(NodeTest, ADrainEndsBeforeTheNodeWouldBeKilled) {
  BeManaged();
  LetBodiesTakeLong();
  flags_.drain_max_ms = 200;
  Hold(Half());
  Start();
  ASSERT_TRUE(TickUntil([this] { return IsReady(); }));
  KeptConnection client(node_->sockets().rest_port);
  client.BeginPredict();
  node_->Leave();
  EXPECT_TRUE(TickUntil([this] { return node_->left(); }));
  EXPECT_THAT(client.EndPredict(), HasSubstr("3.0")) << "the request had ended before the node";
}

// A slow disk must not keep a node that would be killed soon.
TEST_F(NodeTest, ADrainWithALimitDoesNotWaitForItsFiles) {
  flags_.model_name = "half";
  flags_.model_base_path = kModels / "half_plus_two_tf2";
  flags_.observe.request_log = {.prefix = dir_ / "log", .sampling_rate = 1};
  flags_.drain_max_ms = 200;
  const Path pipe = dir_ / "log-a.lock";  // To open it takes until the test opens it, too.
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Start();
  ASSERT_TRUE(TickUntil([this] { return IsReady(); }));
  EXPECT_THAT(Answer(*node_), HasSubstr("3.0"));
  node_->Leave();
  EXPECT_TRUE(TickUntil([this] { return node_->left(); }));
  const process::Descriptor opened(open(pipe.c_str(), O_RDWR));
  EXPECT_TRUE(opened.valid());
  node_.reset();  // While the pipe is open.
}

TEST_F(NodeTest, AppliesAChangedConnectionAgeToNewConnectionsWithoutCuttingOldOnes) {
  flags_.model_name = "half";
  flags_.model_base_path = kModels / "half_plus_two_tf2";
  auto components = BuildComponents(flags_, {}, [](const auto&, const auto&) {});
  ASSERT_TRUE(components);
  AddOip(flags_, MakeManagedRepository(*(*components)->router), components->get());
  auto sockets = OpenListeningSockets(flags_);
  ASSERT_TRUE(sockets);
  const int port = sockets->rest_port;
  ClientListeners listeners(flags_, **components, {}, std::move(*sockets));
  ASSERT_TRUE(listeners.Open(0));
  {
    KeptConnection old(port);
    EXPECT_FALSE(IsToldToLeave(old.Predict()));
    listeners.SetConnectionAge(1);
    KeptConnection fresh(port);
    EXPECT_TRUE(IsToldToLeaveInTheEnd(fresh));
    EXPECT_TRUE(IsToldToLeaveInTheEnd(old))
        << "its server retires: the client gets its answer and is asked to reconnect";
  }
  listeners.Drain(0);
  EXPECT_EQ(Fetch(port, "GET", "/v1/models/half"), "refused");
}

TEST_F(NodeTest, UsesAnotherAdminPortIfItsDefaultIsTaken) {
  flags_.model_name = "half";
  flags_.model_base_path = kModels / "half_plus_two_tf2";
  flags_.admin_port.reset();
  // If this fails, another program already uses the port.
  const process::Descriptor taken(process::ListenTcp("127.0.0.1", flags::kAdminPort).value_or(-1));
  Start();
  EXPECT_NE(node_->admin_port(), flags::kAdminPort);
  EXPECT_TRUE(TickUntil([this] { return IsReady(); }));
}

TEST_F(NodeTest, DoesNotStartIfTheAdminPortOfItsFlagIsTaken) {
  flags_.model_name = "half";
  flags_.model_base_path = kModels / "half_plus_two_tf2";
  const process::Descriptor taken(process::ListenTcp("127.0.0.1", 0).value());
  flags_.admin_port = process::LocalPort(taken.get()).value();
  const auto started = Node::Start(flags_);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr(fmt::format("--admin_port={}: ", *flags_.admin_port)));
}

TEST_F(NodeTest, GivesItsStateToAPeerWithoutState) {
  BeManaged();
  Hold(Half());
  Start();
  const auto first = std::move(node_);
  flags_.node = "b";
  flags_.state_dir = dir_ / "empty";
  flags_.peer_address = "unix:" + (dir_ / "b.sock").string();
  flags_.peers = {"unix:" + (dir_ / "*.sock").string()};
  Start();
  ASSERT_TRUE(TickUntil([this] { return IsReady(); })) << Admin("/readyz");
  EXPECT_THAT(Fetch(node_->sockets().rest_port, "POST", kPredict, kBody), HasSubstr("3.0"));
}

}  // namespace
}  // namespace longshore::app

// A whole node in this process, as its main loop sees it, and its client.
#include "serving-node/app/node.h"

#include <gmock/gmock.h>

#include "common/process/descriptors.h"
#include "serving-node/app/doors.h"
#include "serving-node/app/testing.h"

namespace longshore::app {
namespace {

using frontend::Fetch;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kNoDescriptor = 1 << 30;

// One connection that is kept.
class KeptConnection {
 public:
  explicit KeptConnection(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  // Header and body of the answer to one prediction; "" when the connection ended.
  std::string Predict() {
    const std::string request = fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", kPredict,
                                            std::string_view(kBody).size(), kBody);
    send(fd_.get(), request.data(), request.size(), MSG_NOSIGNAL);
    std::string answer;
    char bytes[4096];
    while (answer.find('}') == std::string::npos) {
      const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
      if (got <= 0) return "";
      answer.append(bytes, static_cast<size_t>(got));
    }
    return answer;
  }

 private:
  const process::Descriptor fd_;
};

bool IsToldToLeave(const std::string& answer) { return answer.find("Connection: close") != std::string::npos; }

// False when the connection ends without a word.
bool IsToldToLeaveInTheEnd(KeptConnection& client) {
  std::string answer = client.Predict();
  while (!answer.empty() && !IsToldToLeave(answer)) answer = client.Predict();
  return IsToldToLeave(answer);
}

TEST_F(NodeTest, AManagedNodeIsReadyOnceItsDoorsAreOpen) {
  BeManaged();
  Hold(Half());
  Start();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto able = [&] { return Admin("/readyz").find("doors") != std::string::npos; };
  while (!able() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_THAT(Admin("/readyz"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("the doors are not open yet")));
  ASSERT_TRUE(node_->Tick());
  EXPECT_THAT(Admin("/readyz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Fetch(node_->listeners().rest_port, "POST", kPredict, kBody), HasSubstr("3.0"));
}

TEST_F(NodeTest, DoorsThatCannotServeStayShut) {
  auto parts = BuildParts(flags_, {}, [](const auto&, const auto&) {});
  ASSERT_TRUE(parts);
  Listeners listeners;
  listeners.rest = process::Descriptor(kNoDescriptor);
  Doors doors(flags_, **parts, {}, std::move(listeners));
  EXPECT_FALSE(doors.Open(0));
  EXPECT_FALSE(doors.open());
}

TEST_F(NodeTest, AFleetsConnectionAgeHoldsWhateverTheFlagsSay) {
  BeManaged();
  flags_.connection_age_max_ms = 0;
  Hold(Half(1));
  Start();
  ASSERT_TRUE(TickUntil([this] { return IsReady(); }));
  KeptConnection client(node_->listeners().rest_port);
  EXPECT_TRUE(IsToldToLeaveInTheEnd(client));
}

TEST_F(NodeTest, AChangedConnectionAgeHoldsForNewConnectionsAndCutsNone) {
  flags_.model_name = "half";
  flags_.model_base_path = kModels / "half_plus_two_tf2";
  auto parts = BuildParts(flags_, {}, [](const auto&, const auto&) {});
  ASSERT_TRUE(parts);
  auto listeners = OpenListeners(flags_);
  ASSERT_TRUE(listeners);
  const int port = listeners->rest_port;
  Doors doors(flags_, **parts, {}, std::move(*listeners));
  ASSERT_TRUE(doors.Open(0));
  {
    KeptConnection old(port);
    EXPECT_FALSE(IsToldToLeave(old.Predict()));
    doors.SetConnectionAge(1);
    KeptConnection fresh(port);
    EXPECT_TRUE(IsToldToLeaveInTheEnd(fresh));
    EXPECT_TRUE(IsToldToLeaveInTheEnd(old)) << "its server retires: it is asked to reconnect, and answered";
  }
  doors.Drain();
  EXPECT_EQ(Fetch(port, "GET", "/v1/models/half"), "refused");
}

TEST_F(NodeTest, GivesItsStateToAPeerThatHasNone) {
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
  EXPECT_THAT(Fetch(node_->listeners().rest_port, "POST", kPredict, kBody), HasSubstr("3.0"));
}

}  // namespace
}  // namespace longshore::app

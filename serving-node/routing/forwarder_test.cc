#include "serving-node/routing/forwarder.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <thread>

#include "common/net/grpc_server/server.h"
#include "common/os/process/descriptors.h"
#include "serving-node/routing/peer_service.h"

namespace longshore::routing {
namespace {

using std::chrono::milliseconds;

// Passes the bytes of one connection on, in both directions, until Stall is called: after that it accepts bytes and
// drops them, as a network does whose packets reach no machine.
class Proxy {
 public:
  explicit Proxy(int port) : listener_(*process::Listen("127.0.0.1:0")), to_(port) {
    thread_ = std::thread([this] { Run(); });
  }
  ~Proxy() {
    stop_ = true;
    thread_.join();
  }
  std::string target() const { return "127.0.0.1:" + std::to_string(*process::LocalPort(listener_.get())); }
  void Stall() { stalled_ = true; }

 private:
  bool Await(std::array<pollfd, 2>& waits) const {
    while (!stop_) {
      if (poll(waits.data(), waits.size(), 10) > 0) return true;
    }
    return false;
  }
  static int Connect(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  void Run() {
    std::array<pollfd, 2> arrival{{{listener_.get(), POLLIN, 0}, {-1, 0, 0}}};
    if (!Await(arrival)) return;
    const process::Descriptor client(accept(listener_.get(), nullptr, nullptr));
    const process::Descriptor server(Connect(to_));
    std::array<pollfd, 2> ends{{{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}}};
    while (Await(ends)) {
      if (ends[0].revents != 0) Pass(client.get(), server.get(), &ends[0]);
      if (ends[1].revents != 0) Pass(server.get(), client.get(), &ends[1]);
    }
  }
  void Pass(int from, int to, pollfd* wait) const {
    std::array<char, 4096> bytes{};
    const ssize_t got = read(from, bytes.data(), bytes.size());
    if (got <= 0) wait->fd = -1;
    if (got <= 0 || stalled_) return;
    EXPECT_EQ(send(to, bytes.data(), static_cast<size_t>(got), MSG_NOSIGNAL), got);
  }

  const process::Descriptor listener_;
  const int to_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> stalled_ = false;
  std::thread thread_;
};

std::future<Result<Pieces>> AskForLoad(Forwarder& forwarder, const std::string& target) {
  peer::LoadRequest request;
  request.set_fleet("f");
  auto reply = std::make_shared<std::promise<Result<Pieces>>>();
  auto future = reply->get_future();
  ForwardCall call;
  call.target = target;
  call.method = "/longshore.peer.Peer/GetLoad";
  call.serialized = Pieces(request.SerializeAsString());
  forwarder.Forward(std::move(call), [reply](Result<Pieces> each) { reply->set_value(std::move(each)); });
  return future;
}

TEST(Forwarder, ACallToAMachineThatIsGoneFailsAlthoughItHasNoDeadline) {
#ifdef LONGSHORE_SANITIZER_THREAD
  GTEST_SKIP() << "gRPC is not built with the thread sanitizer";
#endif
  PeerService service("f", [] { return PeerLoad{}; });
  const auto methods = std::make_shared<grpc_server::Service>();
  service.AddTo(*methods);
  const auto server = *grpc_server::Start({.address = "127.0.0.1:0"}, methods);
  Proxy proxy(server->port());
  const auto forwarder =
      MakeGrpcForwarder({.fleet = "f", .keepalive_time = milliseconds(200), .keepalive_timeout = milliseconds(200)});
  ASSERT_TRUE(AskForLoad(*forwarder, proxy.target()).get());
  proxy.Stall();
  auto lost = AskForLoad(*forwarder, proxy.target());
  ASSERT_EQ(lost.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(lost.get().error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace longshore::routing

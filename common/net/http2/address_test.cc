#include "common/net/http2/address.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/os/process/descriptors.h"

namespace longshore::http2 {
namespace {

using process::Descriptor;
using testing::StartsWith;

// Accepts a connection from this address on a socket that listens on all addresses.
std::string AddressOfClientFrom(const sockaddr* address, socklen_t size, int listening) {
  const Descriptor client(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(client.get(), address, size) != 0) return "cannot connect";
  pollfd waiting{.fd = listening, .events = POLLIN, .revents = 0};
  poll(&waiting, 1, -1);
  return PeerAddress(Descriptor(accept(listening, nullptr, nullptr)).get());
}

TEST(AllAddresses, EachClientHasTheFamilyThatItUses) {
  const auto can = process::ListenTcp("::1", 0);
  if (!can) GTEST_SKIP() << "this machine has no IPv6: " << can.error().message;
  const Descriptor none(*can);
  const Descriptor listening(process::Listen("[::]:0").value());
  const auto port = htons(static_cast<uint16_t>(process::LocalPort(listening.get()).value()));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = port;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = port;
  v6.sin6_addr = in6addr_loopback;
  EXPECT_THAT(AddressOfClientFrom(reinterpret_cast<sockaddr*>(&v4), sizeof v4, listening.get()),
              StartsWith("ipv4:127.0.0.1:"));
  EXPECT_THAT(AddressOfClientFrom(reinterpret_cast<sockaddr*>(&v6), sizeof v6, listening.get()),
              StartsWith("ipv6:[::1]:"));
}

}  // namespace
}  // namespace longshore::http2

#include "common/os/process/accepting.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "common/os/process/testing.h"

namespace longshore::process {
namespace {

Descriptor Connect(int port) {
  Descriptor client(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return client;
}

TEST(Accepting, ReturnsConnectionsWithTheirFamilyUntilNoneWaits) {
  const Descriptor listener(*ListenTcp("127.0.0.1", 0));
  const Descriptor client = Connect(*LocalPort(listener.get()));
  Accepting accepting("connections");
  const auto accepted = accepting.Accept(listener.get());
  EXPECT_TRUE(accepted.fd.valid());
  EXPECT_EQ(accepted.family, AF_INET);
  EXPECT_FALSE(accepting.Accept(listener.get()).fd.valid());
  EXPECT_FALSE(accepting.is_out());
}

TEST(Accepting, AConnectionWaitsWhileNoDescriptorIsFreeAndOneLineIsLogged) {
  const Descriptor listener(*ListenTcp("127.0.0.1", 0));
  const Descriptor client = Connect(*LocalPort(listener.get()));
  std::vector<std::string> log;
  Accepting accepting("connections", [&log](const std::string& line) { log.push_back(line); });
  {
    const NoDescriptors none;
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(accepting.Accept(listener.get()).fd.valid());
      EXPECT_TRUE(accepting.is_out());
    }
  }
  EXPECT_EQ(log, std::vector<std::string>{"cannot accept connections at the moment: Too many open files"});
  EXPECT_TRUE(accepting.Accept(listener.get()).fd.valid());
  EXPECT_FALSE(accepting.is_out());
}

}  // namespace
}  // namespace longshore::process

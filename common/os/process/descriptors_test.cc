#include "common/os/process/descriptors.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <thread>

namespace longshore::process {
namespace {

// From now on, the system behaves for this thread like one without IPv6.
bool RemoveIpv6() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(steps), .filter = steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int FamilyOf(int socket) {
  int family = 0;
  socklen_t size = sizeof family;
  getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size);
  return family;
}

TEST(HostPort, HasBracketsAroundAnAddressOfIpv6) {
  EXPECT_EQ(HostPort("0.0.0.0", 80), "0.0.0.0:80");
  EXPECT_EQ(HostPort("localhost", 80), "localhost:80");
  EXPECT_EQ(HostPort("::", 80), "[::]:80");
  EXPECT_EQ(HostPort("[::1]", 80), "[::1]:80");
}

TEST(Listen, AllAddressesAreThoseOfIpv4IfTheMachineHasNoIpv6) {
  std::thread([] {
    ASSERT_TRUE(RemoveIpv6());
    ASSERT_FALSE(ListenTcp("::1", 0));
    const auto listening = Listen("[::]:0");
    ASSERT_TRUE(listening) << listening.error().message;
    EXPECT_EQ(FamilyOf(Descriptor(*listening).get()), AF_INET);
  }).join();
}

}  // namespace
}  // namespace longshore::process

#include "tests/bench/accepts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "common/os/process/descriptors.h"

namespace longshore::bench {
namespace {

using std::chrono::steady_clock;

// Connects, sends the opening, and waits for the first bytes of the server. Returns an invalid descriptor if one of
// these fails.
process::Descriptor Open(const Accepts& accepts) {
  process::Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(accepts.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::array<char, 4096> bytes{};
  const std::string_view opening = accepts.opening;
  const bool answered =
      connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(connection.get(), opening.data(), opening.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(opening.size()) &&
      recv(connection.get(), bytes.data(), bytes.size(), 0) > 0;
  return answered ? std::move(connection) : process::Descriptor();
}

}  // namespace

Result<double> MeasureAccepts(const Accepts& accepts) {
  std::vector<process::Descriptor> kept;
  std::atomic<bool> failed = false, stop = false;
  for (int i = 0; i < accepts.kept; ++i) kept.push_back(Open(accepts));
  for (const process::Descriptor& connection : kept) failed = failed || !connection.valid();
  std::atomic<int64_t> opened = 0;
  std::vector<std::jthread> clients;
  for (int i = 0; i < accepts.clients; ++i) {
    clients.emplace_back([&] {
      while (!stop && !failed) Open(accepts).valid() ? void(++opened) : void(failed = true);
    });
  }
  std::this_thread::sleep_for(accepts.warm_up);
  const int64_t before = opened;
  const auto begin = steady_clock::now();
  std::this_thread::sleep_for(accepts.measured);
  const int64_t counted = opened - before;
  const std::chrono::duration<double> took = steady_clock::now() - begin;
  stop = true;
  clients.clear();
  if (failed) return Unavailable("a connection to port {} failed: {}", accepts.port, strerror(errno));
  return static_cast<double>(counted) / took.count();
}

}  // namespace longshore::bench

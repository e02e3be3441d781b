// Sends the input to the HTTP server on one connection. All bytes arrive at once, then the client closes its sending
// side.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/http/connection.h"
#include "tests/fuzz/fuzz.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance = longshore::fuzz::kOfRequests;

namespace longshore::fuzz {
namespace {

struct Ends {
  Ends() { CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0); }
  ~Ends() { close(fds[1]); }  // The connection owns fds[0].
  int fds[2];
};

http::Options Limits() {
  http::Options options;
  options.body_bytes_max = size_t{1} << 20;
  options.inflated_bytes_max = size_t{2} << 10;
  options.header_bytes_max = 8 << 10;
  return options;
}

void Serve(std::string_view bytes) {
  const Ends ends;
  const auto context = std::make_shared<boost::asio::io_context>(1);
  const auto core =
      std::make_shared<http::ServerState>(Limits(), [](const http::Request& request, const http::Responder& respond) {
        respond({.body = std::to_string(request.body.size())});
      });
  auto connection =
      std::make_shared<http::Connection>(context, core, http::Connection::Protocol(AF_UNIX, 0), ends.fds[0]);
  core->connections.insert(connection);
  connection->Start();
  connection.reset();
  CHECK(write(ends.fds[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  shutdown(ends.fds[1], SHUT_WR);
  context->run();
  CHECK(core->connections.empty());
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  longshore::fuzz::Serve(longshore::fuzz::View(data, size));
  return 0;
}

// An HTTP/1.1 server. Boost.Beast and Asio are seen only in this folder.
//
//   auto server = http::Server::Start({.address = "127.0.0.1:0"}, [](http::Request request, http::Responder respond) {
//     respond({.status = 200, .body = "you asked for " + request.target});
//   });
//
// Keep-alive and pipelining: one request of a connection is read and handled at a time, so answers keep their order and
// what a client sends ahead waits in its own socket. Bodies may be chunked and gzipped; the handler sees plain bytes.
// Answers are gzipped for clients that ask for it. What breaks a limit, or could be read in two ways, is answered 400,
// 413, 414 or 431 and the connection is closed; a client that is slower than the timeouts is disconnected. A request
// whose work throws, for want of memory above all, fails alone: 503, or 500.
//
// A client that shut down its sending side is answered. It looks like one that is gone: where its request takes longer,
// it is sent a "100 Continue", which tells them apart. Under TLS the end of what a client sends is its end; one of
// HTTP/1.0, and one that has sent a further request ahead, is never taken to be gone.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/tls/identity.h"

namespace longshore::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;    // "GET"
  std::string target;    // Path and query as sent: "/v1/models/x?y=z".
  Headers headers = {};  // Names in lower case.
  std::string body = {};
  // Requested to stop once the client is gone, so that nobody waits for the answer any more.
  std::stop_token gone = {};

  // The first value of the header, "" when it was not sent. Requires: name in lower case.
  std::string_view Header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Headers headers = {};
  // Kept until the answer has been written, or its connection is gone: an answer takes memory until then, so what
  // limits the requests under way must count it.
  std::shared_ptr<const void> until_written = {};
};

// Answers one request. Any thread, the first call counts. A request whose responder is dropped uncalled is answered
// 500.
using Responder = std::function<void(Response)>;
// Runs on a thread of the server: must not block.
using Handler = std::function<void(Request, Responder)>;

struct Options {
  std::string address = {};  // "host:port"; "[::1]:80" for IPv6; port 0: any free one. Not used with listen_fd.
  int listen_fd = -1;        // A listening socket to take over instead; owned by the server from then on.
  std::shared_ptr<tls::Identities> tls = {};  // Null: plaintext. Every handshake takes the current identity.
  int threads = 1;
  // Asked when a request's head has come, before its body is read: a response refuses it and ends the connection.
  // Runs on a thread of the server: must not block.
  std::function<std::optional<Response>(const Request& head)> admit = {};
  size_t connections_max = 10000;                    // More wait in the system's backlog.
  size_t request_line_bytes_max = size_t{16} << 10;  // 414
  size_t header_bytes_max = size_t{64} << 10;        // 431
  size_t header_fields_max = 128;                    // 431
  size_t body_bytes_max = size_t{256} << 20;         // 413; as sent.
  size_t inflated_bytes_max = size_t{100} << 20;     // 413; of a gzipped body.
  size_t bodies_bytes_max = size_t{4} << 30;         // 503; of all requests whose answers are not written yet.
  size_t gzip_bytes_min = size_t{4} << 10;           // Shorter answers are never gzipped; 0: none is.
  std::chrono::milliseconds header_timeout{10000};   // Of the TLS handshake, and of a request's header.
  // A body, or an answer, may take transfer_grace and a second more for each bytes_per_second_min that the server, or
  // the client's system, has received so far.
  std::chrono::milliseconds transfer_grace{10000};
  size_t bytes_per_second_min = size_t{16} << 10;
  std::chrono::milliseconds idle_timeout{300000};  // Between two requests of a connection.
  // A connection older than this is told to close with its next answer, so that clients spread over new processes;
  // jittered by 10 %. 0: never.
  std::chrono::milliseconds connection_age_max{0};
  // HTTP/1.1 has no way to say goodbye: while stopping, an idle connection may send one more request for so long.
  std::chrono::milliseconds stop_grace{1000};
  // And a request or an answer that is on its way may take no longer than this, however steadily it comes.
  std::chrono::milliseconds stop_timeout{30000};
};

class Server {
 public:
  // InvalidArgument for an address that is none; FailedPrecondition naming the address when it is in use.
  static Result<std::unique_ptr<Server>> Start(Options options, Handler handler);
  virtual ~Server() = default;  // Stops at once: open connections are cut.

  virtual int port() const = 0;       // 0 for a unix socket.
  virtual int listen_fd() const = 0;  // -1 once stopping.
  virtual size_t connections() const = 0;

  // Accepts no more, answers what is under way with "Connection: close", closes what is idle, and returns when no
  // connection is left: at the latest stop_timeout and stop_grace after the last handler has answered. Not from a
  // handler.
  virtual void Stop() = 0;
};

}  // namespace longshore::http

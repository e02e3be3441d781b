// Requests, responses and the options of a server.
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

#include "common/net/tls/identity.h"

namespace longshore::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;    // "GET"
  std::string target;    // Path and query as sent: "/v1/models/x?y=z".
  Headers headers = {};  // Names in lower case.
  std::string body = {};
  // A stop is requested once the client is gone and the answer is not needed any more.
  std::stop_token gone = {};

  // Returns the first value of the header; "" if it was not sent. Requires: name in lower case.
  std::string_view Header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  Headers headers = {};
  // An object that the server releases when the answer has been written or its connection is gone. The answer uses
  // memory until then: the object can be the request's share of a limit for memory.
  std::shared_ptr<const void> until_written = {};
};

// Answers one request. Thread-safe; only the first call has an effect. If the responder is dropped without a call, the
// request is answered with 500.
using Responder = std::function<void(Response)>;
// Runs on a thread of the server: must not block.
using Handler = std::function<void(Request, Responder)>;

struct Options {
  std::string address = {};    // "host:port"; "[::1]:80" for IPv6; port 0: any free port. Unused with listen_fd.
  int listen_fd = -1;          // A listening socket to use instead of `address`; the server owns it.
  bool shares_socket = false;  // Other processes may accept from listen_fd (common/os/process/accept_turn.h).
  std::shared_ptr<tls::Identities> tls = {};  // Null: plaintext. Every handshake takes the current identity.
  int threads = 1;
  // Called when the head of a request is complete, before its body is read. A returned response rejects the request and
  // closes the connection. Runs on a thread of the server: must not block.
  std::function<std::optional<Response>(const Request& head)> admit = {};
  size_t connections_max = 10000;                    // Further connections wait in the backlog of the system.
  size_t request_line_bytes_max = size_t{16} << 10;  // A longer line is answered with 414.
  size_t header_bytes_max = size_t{64} << 10;        // A longer header is answered with 431.
  size_t header_fields_max = 128;                    // More fields are answered with 431.
  size_t body_bytes_max = size_t{256} << 20;         // Size as sent; a larger body is answered with 413.
  size_t inflated_bytes_max = size_t{100} << 20;     // Size after decompression; a larger body is answered with 413.
  size_t bodies_bytes_max = size_t{4} << 30;         // For all unfinished requests together; if exceeded: 503.
  size_t gzip_bytes_min = size_t{4} << 10;           // Shorter answers are not gzipped; 0: no answer is gzipped.
  std::chrono::milliseconds header_timeout{10000};   // For the TLS handshake, and for a request's header.
  // The transfer of a body or an answer may take transfer_grace plus the time that the received bytes take at
  // bytes_per_second_min. For an answer, the received bytes are those that the client's machine has acknowledged.
  std::chrono::milliseconds transfer_grace{10000};
  size_t bytes_per_second_min = size_t{16} << 10;
  std::chrono::milliseconds idle_timeout{300000};  // Maximum time between two requests of a connection.
  // A connection that is older is closed after its next answer, so that clients spread over new processes. The limit of
  // each connection varies randomly by up to 10 %. 0: no limit.
  std::chrono::milliseconds connection_age_max{0};
  // While the server stops, the client of an idle connection may send one more request within this time, because
  // HTTP/1.1 cannot announce the end of an idle connection.
  std::chrono::milliseconds stop_grace{1000};
  // The transfers of requests and answers are cut off when this time has passed since the call of Stop, whatever their
  // rate.
  std::chrono::milliseconds stop_timeout{30000};
};

}  // namespace longshore::http

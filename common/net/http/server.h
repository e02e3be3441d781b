// An HTTP/1.1 server. Only this folder uses Boost.Beast and Asio.
//
//   auto server = http::Server::Start({.address = "127.0.0.1:0"}, [](http::Request request, http::Responder respond) {
//     respond({.status = 200, .body = "you asked for " + request.target});
//   });
//
// Supports keep-alive and pipelining. A connection reads and handles one request at a time, so answers keep their order
// and pipelined requests wait in the socket. Bodies may be chunked, and compressed by gzip or deflate; the handler gets
// plain bytes. Answers are compressed for clients that accept it. A request that exceeds a limit or is ambiguous is
// answered with 400, 413, 414 or 431, and the connection is closed. Clients slower than the timeouts are disconnected.
// If the processing of a request throws, only this request fails: with 503 if memory ran out, otherwise with 500.
//
// A client that has shut down only its sending side gets its answer. At first the server cannot distinguish it from a
// client that is gone; if the request takes longer, the server sends a "100 Continue" to find out. Under TLS, the end
// of the client's input counts as its disconnection. HTTP/1.0 clients, and clients with further pipelined requests, are
// never regarded as gone.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "common/base/error.h"
#include "common/net/http/open_connection.h"
#include "common/net/http/types.h"

namespace longshore::http {

class Server {
 public:
  // Returns InvalidArgument if the address is not valid, and FailedPrecondition, with the address in the message, if
  // the address is in use.
  static Result<std::unique_ptr<Server>> Start(Options options, Handler handler);
  virtual ~Server() = default;  // Stops immediately and closes open connections.

  virtual int port() const = 0;       // 0 for a unix socket.
  virtual int listen_fd() const = 0;  // -1 after Stop was called.
  virtual size_t connections() const = 0;
  // Returns the connections whose clients were not asked to end them yet. The server may be destroyed before they are
  // used.
  virtual std::vector<OpenConnection> OpenConnections() const = 0;

  // Stops accepting connections, answers the requests in progress with "Connection: close", closes idle connections,
  // and returns when no connection is left: at the latest stop_timeout plus stop_grace after the last handler has
  // answered. Must not be called from a handler.
  virtual void Stop() = 0;
};

}  // namespace longshore::http

// An HTTP/2 server (RFC 9113) on nghttp2 and Asio, without HTTP/1.1 and without the upgrade from it.
//
//   auto server = http2::Server::Start({.address = "127.0.0.1:0"},
//                                      [](const std::shared_ptr<const http2::Peer>&) { return std::make_shared<Echo>();
//                                      });
//
// `Echo` derives from http2::Stream (stream.h), which has the requests and answers. The server has a number of threads;
// each connection has a strand. A client that exceeds a limit of http2::Limits or http2::Options loses its stream or
// its connection, with the error code that RFC 9113 names. Under TLS, clients must offer "h2" by ALPN.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "common/base/error.h"
#include "common/net/http/open_connection.h"
#include "common/net/http2/options.h"
#include "common/net/http2/stream.h"

namespace longshore::http2 {

// Thread-safe.
class Server {
 public:
  // Returns InvalidArgument if the address is not valid, and FailedPrecondition, with the address in the message, if
  // the address is in use.
  static Result<std::unique_ptr<Server>> Start(Options options, MakeStream make);
  virtual ~Server() = default;  // Stops immediately: closes all connections.

  virtual int port() const = 0;       // 0 for a unix socket.
  virtual int listen_fd() const = 0;  // -1 after Drain was called.
  virtual size_t connections() const = 0;
  // Returns the connections whose clients were not asked to end them yet. The server may be destroyed before they are
  // used.
  virtual std::vector<http::OpenConnection> OpenConnections() const = 0;

  // Stops accepting connections, asks the clients to open no further streams, and returns when every connection has
  // ended. A connection with a maximum age is asked when it reaches that age, so that not all clients connect elsewhere
  // at once, and none that has just connected. Connections with open streams are closed when `grace` has passed. Must
  // not be called from a stream.
  virtual void Drain(milliseconds grace) = 0;
  // Makes a Drain that is running or begins later ask each client at a random moment within this time, also if its
  // connection has not reached its maximum age. 0: at once. If this function is called several times, the
  // shortest of the times counts.
  virtual void EndConnectionsWithin(milliseconds spread) = 0;
};

}  // namespace longshore::http2

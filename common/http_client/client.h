// Requests over HTTP/1.1, with or without TLS. The only folder that sees cpprestsdk.
//
//   ASSIGN_OR_RETURN(const auto client, http_client::Client::Make({.base_url = "https://10.0.0.1:6443", .tls =
//   read_tls})); ASSIGN_OR_RETURN(const http_client::Response response, client->Send({.target = "/version"}));
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/error.h"
#include "common/tls/identity.h"

namespace longshore::http_client {

// To be called first in main, before any thread: bounds the threads and the memory of the library. Sets SSL_CERT_FILE
// and SSL_CERT_DIR in the environment of this process.
void Init();

struct Options {
  std::string base_url;  // "http://host:port" or "https://...", with a path or without.
  // Asked for each new connection, so that what rotates is read again. Required for https.
  std::function<Result<tls::ClientIdentity>()> tls{};
  // The longest silence: while connecting, before the head of an answer, and between two pieces of its body.
  std::chrono::milliseconds silence_max{15'000};
  size_t body_bytes_max = size_t{64} << 20;  // Of an answer of Send.
};

struct Request {
  std::string method = "GET";
  std::string target;  // Path and query, encoded: "/api/v1/pods?limit=500".
  std::map<std::string, std::string> headers{};
  std::string body{};
};

struct Response {
  int status = 0;
  std::map<std::string, std::string> headers{};  // Names in lower case.
  std::string body{};
};

// Receives an answer whose body may never end. Called on the thread that called Stream.
struct Receiver {
  // The head is there. False: the body is not wanted, and is collected into Response::body instead, up to
  // body_bytes_max.
  std::function<bool(const Response& head)> on_head;
  // A piece of the body, as it came. An error ends the stream with it.
  std::function<Status(std::string_view piece)> on_piece;
};

// Thread-safe; each request that is under way has a connection of its own. Redirects are answers like others.
class Client {
 public:
  // InvalidArgument when the URL is none, or TLS is missing for it.
  static Result<std::unique_ptr<Client>> Make(const Options& options);
  virtual ~Client() = default;

  // Waits for the whole answer, whatever its status. Unavailable when there was none: nothing listens, TLS fails, the
  // silence was too long; the request may have been carried out all the same. A request whose connection the server
  // closed while it was idle is sent once more. ResourceExhausted when the body is too long; Cancelled.
  virtual Result<Response> Send(const Request& request) = 0;

  // Waits until the body ended or on_piece failed. What it returns has a body only where on_head did not want it.
  // Errors as of Send, also in the middle of the body.
  virtual Result<Response> Stream(const Request& request, const Receiver& receiver) = 0;

  // Ends what is under way, and all that comes later, with Cancelled. Any thread.
  virtual void Cancel() = 0;
};

// "https://host:port" of a URL, with the port that its scheme has where it names none: whom a request goes to.
// InvalidArgument as Make.
Result<std::string> OriginOf(const std::string& url);

// For a query string: all but letters, digits and -._~ as %XX.
std::string Encode(std::string_view text);

}  // namespace longshore::http_client

// An HTTP/1.1 client with optional TLS. Only this folder uses cpprestsdk.
//
//   ASSIGN_OR_RETURN(const auto client, http_client::Client::Make({.base_url = "https://10.0.0.1:6443", .tls = read}));
//   ASSIGN_OR_RETURN(const http_client::Response response, client->Send({.target = "/version"}));
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/net/tls/identity.h"

namespace longshore::http_client {

// Limits the threads and the memory of the library. Must be called at the beginning of main, before any thread starts.
// Sets SSL_CERT_FILE and SSL_CERT_DIR in the environment of this process.
void Init();

struct Options {
  std::string base_url;  // "http://host:port" or "https://...", optionally with a path.
  // Called for each new connection, so that rotated certificates are used. Required for https.
  std::function<Result<tls::ClientIdentity>()> tls{};
  // Maximum time without progress: for connecting, before the head of an answer, and between two pieces of its body.
  std::chrono::milliseconds idle_max{15'000};
  size_t body_bytes_max = size_t{64} << 20;  // Limit for Response::body.
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

// Receives an answer whose body may be endless. Its functions are called on the thread that called Stream.
struct Receiver {
  // Called when the head is complete. If it returns false, the body is not streamed but collected in Response::body, up
  // to body_bytes_max.
  std::function<bool(const Response& head)> on_head;
  // Called for each received piece of the body. If it returns an error, the stream ends and Stream returns this error.
  std::function<Status(std::string_view piece)> on_piece;
};

// Thread-safe. Each request in progress has a separate connection. Redirects are returned as answers, not followed.
class Client {
 public:
  // Returns InvalidArgument if the URL is not valid, or if it is https and options.tls is missing.
  static Result<std::unique_ptr<Client>> Make(const Options& options);
  virtual ~Client() = default;

  // Blocks until the answer is complete, and returns it whatever its status code is. If the server had closed the idle
  // connection, the request is sent once more. Returns Unavailable if there was no answer, because nothing listens, TLS
  // failed or the timeout passed; the server may have executed the request nevertheless. Returns ResourceExhausted if
  // the body is too long, and Cancelled if Cancel was called.
  virtual Result<Response> Send(const Request& request) = 0;

  // Blocks until the body has ended or on_piece has failed. The returned response has a body only if on_head returned
  // false. Returns the same errors as Send, also if they occur in the middle of the body.
  virtual Result<Response> Stream(const Request& request, const Receiver& receiver) = 0;

  // Lets all requests, those in progress and later ones, fail with Cancelled. Thread-safe.
  virtual void Cancel() = 0;
};

// Returns the "https://host:port" of a URL, with the default port of the scheme if the URL has no port. Returns
// InvalidArgument if the URL is not valid.
Result<std::string> OriginOf(const std::string& url);

// Encodes text for a query string: everything except letters, digits and -._~ becomes %XX.
std::string Encode(std::string_view text);

}  // namespace longshore::http_client

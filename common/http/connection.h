// One connection of the HTTP server: read a request, hand it over, write the answer, again.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "common/http/growing_body.h"
#include "common/http/header_scan.h"
#include "common/http/server.h"
#include "common/http/stream.h"

namespace longshore::http {

class Connection;

// What the connections of a server share.
struct Core {
  Options options;
  Handler handler;
  std::atomic<bool> stopping = false;
  TlsContexts tls;
  std::mutex mutex;
  std::condition_variable none_left;
  std::unordered_set<std::shared_ptr<Connection>> connections;  // Keeps them alive while a handler works.
};

// All members run on the strand, except Start, Leave, Cut and Answer, which may be called from any thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Protocol = Stream::Protocol;

  // The context must outlive every connection, also one that a late responder still holds: hence shared.
  Connection(std::shared_ptr<boost::asio::io_context> context, std::shared_ptr<Core> core, Protocol protocol, int fd);

  void Start();
  void Leave();                    // The server stops: close when idle for stop_grace.
  void Cut();                      // Close now.
  void Answer(Response response);  // Of the request that was handed to the handler.

 private:
  using Error = boost::system::error_code;

  void Greet();
  void AwaitRequest();
  void ReadHeader();
  void LookAtHeader();
  void ParseHeader();
  void OnHeader();
  void ReadBody();
  void ParseBody();
  void OnParseError(const Error& error);
  void HandOver();
  void Refuse(int status, const std::string& message);
  void Refuse(Response response);
  void Write(Response response);
  void OnWritten(const Error& error);
  void SayGoodbye();
  void Linger();
  void Arm(std::chrono::milliseconds timeout);
  void AwaitDeadline();
  void Close();
  bool OldEnough() const;
  std::chrono::milliseconds TimeFor(size_t bytes) const;

  std::shared_ptr<boost::asio::io_context> context_;
  std::shared_ptr<Core> core_;
  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  Stream stream_;
  boost::asio::steady_timer timer_;
  boost::beast::flat_buffer buffer_;
  std::optional<HeaderScan> scan_;
  std::optional<boost::beast::http::request_parser<GrowingBody>> parser_;
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> response_;
  Request request_;  // Its head, once that was read.
  std::chrono::steady_clock::time_point leaves_at_;
  std::chrono::steady_clock::time_point deadline_;  // When the connection is closed.
  std::chrono::steady_clock::time_point body_began_at_;
  size_t body_bytes_ = 0;   // That came of it, as sent.
  bool watched_ = false;    // The timer runs.
  bool idle_ = false;       // Waiting for the first byte of a request.
  bool answering_ = false;  // A request is with the handler and unanswered.
  bool head_ = false;       // HEAD: the answer has no body.
  bool keep_alive_ = false;
  bool takes_gzip_ = false;
  bool closed_ = false;
};

}  // namespace longshore::http

// Parses requests from a connection's bytes, without a socket or a clock. A request that exceeds a limit or is
// ambiguous is rejected with an answer that gives the reason.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "common/net/http/growing_body.h"
#include "common/net/http/header_scan.h"
#include "common/net/http/held_bytes.h"
#include "common/net/http/types.h"

namespace longshore::http {

// Parses one request after the other. Not thread-safe: each connection has its own reader.
class RequestReader {
 public:
  enum class Progress {
    kMore,  // Needs more bytes.
    kHead,  // The head is complete: see head(). The next call continues with the body.
    kEnd,   // The request is complete: call Take.
  };
  using Buffer = boost::beast::flat_buffer;

  // `options` must outlive the reader.
  RequestReader(const Options& options, std::shared_ptr<BytePool> pool) : options_(options), held_(std::move(pool)) {}

  // Begins a new request and releases the memory of the previous one.
  void Begin();
  // Consumes as much of the buffer as possible. A returned Response is the answer that rejects the request; the end of
  // the request may be unknown then.
  tl::expected<Progress, Response> Put(Buffer& buffer);
  // Returns the whole request, with its body decompressed, or the answer that rejects it. Requires: Put returned kEnd.
  tl::expected<Request, Response> Take();
  // Passes the memory that the request holds to the caller. Without this call, the next Begin or Release releases it.
  HeldBytes TakeHeld() { return std::move(held_); }
  void Release() { held_.Release(); }

  // The following functions require that Put has returned kHead.
  const Request& head() const { return request_; }
  bool has_head() const { return has_head_; }
  bool awaits_continue() const;
  bool keep_alive() const { return keep_alive_; }
  bool is_http_1_1() const { return version_ >= 11; }  // HTTP/1.0 clients do not understand interim answers (1xx).
  bool wants_no_body() const { return wants_no_body_; }

 private:
  using Error = boost::system::error_code;
  tl::expected<Progress, Response> PutHeader(Buffer& buffer);
  tl::expected<Progress, Response> PutBody(Buffer& buffer);
  std::optional<Response> CheckHead() const;
  void ReadHead();
  Response ToRefusal(const Error& error) const;
  Response OutOfMemory() const;

  const Options& options_;
  HeldBytes held_;
  std::optional<HeaderScan> scan_;
  std::optional<boost::beast::http::request_parser<GrowingBody>> parser_;
  Request request_;  // Valid once has_head_ is true.
  bool has_head_ = false;
  bool keep_alive_ = false;
  bool wants_no_body_ = false;
  unsigned version_ = 0;
};

// Returns a plain-text answer: the message and a line break.
Response TextResponse(int status, const std::string& message);
// Returns an answer with status code 503 and the header Retry-After.
Response TryLater(const std::string& message);

}  // namespace longshore::http

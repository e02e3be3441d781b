// Makes requests of a connection's bytes: no socket, no clock. What breaks a limit, or could be read in two ways, is
// refused with the answer that says so.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "common/http/growing_body.h"
#include "common/http/header_scan.h"
#include "common/http/held_bytes.h"
#include "common/http/server.h"

namespace longshore::http {

// One request after the other. Belongs to its connection.
class RequestReader {
 public:
  enum class Seen {
    kMore,  // Nothing of the request is left in the buffer, or not enough.
    kHead,  // See head(); the next call goes on with the body.
    kEnd,   // Take the request.
  };
  using Buffer = boost::beast::flat_buffer;

  // The options outlive it.
  RequestReader(const Options& options, std::shared_ptr<BytePool> pool) : options_(options), held_(std::move(pool)) {}

  // Forgets the last request and gives back what it held.
  void Begin();
  // Takes what it can from the buffer. An error is the refusal; where the request ends may be unknown then.
  tl::expected<Seen, Response> Put(Buffer& buffer);
  // The whole request, its body as plain bytes. Requires: kEnd.
  tl::expected<Request, Response> Take();
  // What it holds for the taken request's bytes; else they are given back by the next Begin, or Release.
  HeldBytes TakeHeld() { return std::move(held_); }
  void Release() { held_.Release(); }

  // From kHead on.
  const Request& head() const { return request_; }
  bool has_head() const { return has_head_; }
  bool awaits_continue() const;
  bool keep_alive() const { return keep_alive_; }
  bool is_http_1_1() const { return version_ >= 11; }  // Only then it knows interim answers.
  bool wants_no_body() const { return wants_no_body_; }

 private:
  using Error = boost::system::error_code;
  tl::expected<Seen, Response> PutHeader(Buffer& buffer);
  tl::expected<Seen, Response> PutBody(Buffer& buffer);
  std::optional<Response> CheckHead() const;
  void ReadHead();
  Response ToRefusal(const Error& error) const;
  Response NoRoom() const;

  const Options& options_;
  HeldBytes held_;
  std::optional<HeaderScan> scan_;
  std::optional<boost::beast::http::request_parser<GrowingBody>> parser_;
  Request request_;  // Its head, once that was read.
  bool has_head_ = false;
  bool keep_alive_ = false;
  bool wants_no_body_ = false;
  unsigned version_ = 0;
};

// Plain text, with a line's end.
Response TextResponse(int status, const std::string& message);
// 503 with a hint when to try again.
Response TryLater(const std::string& message);

}  // namespace longshore::http

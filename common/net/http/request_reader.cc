#include "common/net/http/request_reader.h"

#include <algorithm>

#include "common/base/lower_case.h"
#include "common/net/http/header_values.h"
#include "common/net/http/inflate.h"
#include "common/net/http/retry.h"

namespace longshore::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using beast::http::field;

tl::unexpected<Response> Refusal(int status, const std::string& message) {
  return tl::make_unexpected(TextResponse(status, message));
}

// RFC 9110, section 15.5.16, lets the answer name the supported codings.
Response UnknownCoding() {
  Response response = TextResponse(415, "the Content-Encoding is not supported: send gzip, deflate, or no coding");
  response.headers.emplace_back("Accept-Encoding", "gzip, deflate");
  return response;
}

}  // namespace

Response TextResponse(int status, const std::string& message) {
  return {.status = status, .content_type = "text/plain", .body = message + "\n"};
}

Response TryLater(const std::string& message) {
  Response response = TextResponse(503, message);
  response.headers.emplace_back("Retry-After", RetryAfterSeconds());
  return response;
}

void RequestReader::Begin() {
  held_.Release();
  has_head_ = false;
  wants_no_body_ = false;
  scan_.emplace(HeaderLimits{options_.request_line_bytes_max, options_.header_bytes_max});
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(options_.header_bytes_max));
  parser_->body_limit(options_.body_bytes_max);
  parser_->get().body().held = &held_;
}

tl::expected<RequestReader::Progress, Response> RequestReader::Put(Buffer& buffer) {
  return has_head_ ? PutBody(buffer) : PutHeader(buffer);
}

tl::expected<RequestReader::Progress, Response> RequestReader::PutHeader(Buffer& buffer) {
  const auto bytes = buffer.cdata();
  switch (scan_->Scan({static_cast<const char*>(bytes.data()), bytes.size()})) {
    case HeaderScan::Result::kMore: return Progress::kMore;
    case HeaderScan::Result::kEnd: break;
    case HeaderScan::Result::kAmbiguous:
      return Refusal(400, "malformed HTTP request: ambiguous line breaks in the header");
    case HeaderScan::Result::kLineTooLong:
      return Refusal(414, fmt::format("the request line has more than {} bytes", options_.request_line_bytes_max));
    case HeaderScan::Result::kTooLong:
      return Refusal(431, fmt::format("the header has more than {} bytes", options_.header_bytes_max));
  }
  Error error;
  buffer.consume(parser_->put(asio::buffer(bytes, scan_->end()), error));
  if (error) return tl::make_unexpected(ToRefusal(error));
  if (!parser_->is_header_done()) return Refusal(400, "malformed HTTP request");
  if (auto refusal = CheckHead()) return tl::make_unexpected(std::move(*refusal));
  ReadHead();
  if (CodingOf(request_.headers) == Coding::kUnknown) return tl::make_unexpected(UnknownCoding());
  return Progress::kHead;
}

std::optional<Response> RequestReader::CheckHead() const {
  const auto& head = parser_->get();
  size_t fields = 0;
  int hosts = 0;
  int authorizations = 0;
  bool coded = false;
  bool lengths_are_numbers = true;  // Each Content-Length.
  for (const auto& each : head) {
    ++fields;
    switch (each.name()) {
      case field::host: ++hosts; break;
      case field::authorization: ++authorizations; break;
      case field::transfer_encoding: coded = true; break;
      case field::content_length:
        lengths_are_numbers &= each.value().find_first_not_of("0123456789") == each.value().npos;
        break;
      default: break;
    }
  }
  if (coded && (head.version() < 11 || !parser_->chunked())) {
    return TextResponse(400, "malformed HTTP request: a Transfer-Encoding needs HTTP/1.1 and must end with chunked");
  }
  if (!lengths_are_numbers) {
    return TextResponse(400, "malformed HTTP request: the Content-Length is not a number");
  }
  if (hosts > 1) return TextResponse(400, "malformed HTTP request: several Host headers");
  if (authorizations > 1) return TextResponse(400, "malformed HTTP request: several Authorization headers");
  if (fields > options_.header_fields_max) {
    return TextResponse(431, fmt::format("the header has more than {} fields", options_.header_fields_max));
  }
  return std::nullopt;
}

void RequestReader::ReadHead() {
  const auto& head = parser_->get();
  request_ = {.method = std::string(head.method_string()), .target = std::string(head.target())};
  request_.headers.reserve(static_cast<size_t>(std::distance(head.begin(), head.end())));
  for (const auto& each : head) {
    const auto name = each.name_string();
    request_.headers.emplace_back(LowerCase(std::string_view(name.data(), name.size())), std::string(each.value()));
  }
  version_ = head.version();
  // HTTP/1.0 connections are always closed: keeping one alive would need an explicit keep-alive header in the answer.
  keep_alive_ = head.keep_alive() && is_http_1_1();
  wants_no_body_ = head.method() == beast::http::verb::head;
  has_head_ = true;
  parser_->eager(true);
}

bool RequestReader::awaits_continue() const {
  return is_http_1_1() && beast::iequals(parser_->get()[field::expect], "100-continue");
}

tl::expected<RequestReader::Progress, Response> RequestReader::PutBody(Buffer& buffer) {
  if (!parser_->is_done() && buffer.size() > 0) {
    Error error;
    buffer.consume(parser_->put(buffer.cdata(), error));
    if (error && error != beast::http::error::need_more) return tl::make_unexpected(ToRefusal(error));
    if (buffer.size() > options_.header_bytes_max && !parser_->is_done()) {
      return Refusal(400, "malformed HTTP request: the header of a chunk is too long");
    }
  }
  return parser_->is_done() ? Progress::kEnd : Progress::kMore;
}

Response RequestReader::ToRefusal(const Error& error) const {
  if (error == beast::http::error::body_limit) {
    return TextResponse(413, fmt::format("the body has more than {} bytes", options_.body_bytes_max));
  }
  if (error == boost::system::errc::not_enough_memory) return OutOfMemory();
  return TextResponse(400, "malformed HTTP request: " + error.message());
}

Response RequestReader::OutOfMemory() const {
  return TryLater(fmt::format("the requests under way hold more than {} bytes", options_.bodies_bytes_max));
}

tl::expected<Request, Response> RequestReader::Take() {
  request_.body = std::move(parser_->get().body().bytes);
  if (CodingOf(request_.headers) == Coding::kNone) return std::move(request_);
  auto plain = Inflate(request_.body, options_.inflated_bytes_max, &held_);
  if (!plain && plain.error().code == Code::kUnavailable) return tl::make_unexpected(OutOfMemory());
  if (!plain) return Refusal(plain.error().code == Code::kResourceExhausted ? 413 : 400, plain.error().message);
  request_.body = std::move(*plain);
  return std::move(request_);
}

}  // namespace longshore::http

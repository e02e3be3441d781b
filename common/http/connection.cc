#include "common/http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/write.hpp>
#include <cctype>
#include <random>

#include "common/http/deflate.h"
#include "common/http/inflate.h"

namespace longshore::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;

constexpr size_t kReadBytes = size_t{8} << 10;  // Of the first read of a request; a long body makes it grow.
constexpr auto kLingerTimeout = std::chrono::milliseconds(1000);

// The handler's side of one request. Answers 500 when nobody else did.
class Reply {
 public:
  explicit Reply(std::weak_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~Reply() { Send({.status = 500, .content_type = "text/plain", .body = "the request was dropped\n"}); }
  void Send(Response response) {
    if (sent_.exchange(true)) return;
    if (auto connection = connection_.lock()) connection->Answer(std::move(response));
  }

 private:
  std::weak_ptr<Connection> connection_;
  std::atomic<bool> sent_ = false;
};

std::string LowerCase(beast::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// Only what gets smaller by it.
void Compress(Response* response) {
  std::string packed = Gzip(response->body);
  if (packed.empty() || packed.size() >= response->body.size()) return;
  response->body = std::move(packed);
  response->headers.emplace_back("Content-Encoding", "gzip");
}

std::chrono::steady_clock::time_point LeavesAt(const Options& options) {
  if (options.connection_age_max.count() == 0) return std::chrono::steady_clock::time_point::max();
  std::minstd_rand random{std::random_device{}()};
  const double jitter = std::uniform_real_distribution<double>(0.9, 1.1)(random);
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(options.connection_age_max * jitter);
  return std::chrono::steady_clock::now() + age;
}

}  // namespace

Connection::Connection(std::shared_ptr<asio::io_context> context, std::shared_ptr<Core> core, Protocol protocol, int fd)
    : context_(std::move(context)),
      core_(std::move(core)),
      strand_(context_->get_executor()),
      stream_(strand_, protocol, fd),
      timer_(strand_),
      leaves_at_(LeavesAt(core_->options)) {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void Connection::Start() {
  asio::post(strand_, [self = shared_from_this()] { self->Greet(); });
}

void Connection::Leave() {
  asio::post(strand_, [self = shared_from_this()] {
    if (self->idle_) self->Arm(self->core_->options.stop_grace);
  });
}

void Connection::Cut() {
  asio::post(strand_, [self = shared_from_this()] { self->Close(); });
}

void Connection::Answer(Response response) {
  // Weak: were the server gone, a queued strong reference would keep itself alive through its own queue.
  asio::post(strand_, [weak = weak_from_this(), response = std::move(response)]() mutable {
    const auto self = weak.lock();
    if (!self || !self->answering_) return;
    self->answering_ = false;
    self->Write(std::move(response));
  });
}

void Connection::Greet() {
  if (!core_->options.tls) return AwaitRequest();
  const auto context = core_->tls.Current(*core_->options.tls);
  if (!context) return Close();
  Arm(core_->options.header_timeout);
  stream_.Handshake(*context, [self = shared_from_this()](const Error& error) {
    if (error) return self->Close();
    self->AwaitRequest();
  });
}

void Connection::AwaitRequest() {
  head_ = false;
  takes_gzip_ = false;
  scan_.emplace(HeaderLimits{core_->options.request_line_bytes_max, core_->options.header_bytes_max});
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(core_->options.header_bytes_max));
  parser_->body_limit(core_->options.body_bytes_max);
  if (buffer_.size() > 0) {
    Arm(core_->options.header_timeout);
    return LookAtHeader();
  }
  idle_ = true;
  Arm(core_->stopping ? core_->options.stop_grace : core_->options.idle_timeout);
  ReadHeader();
}

void Connection::ReadHeader() {
  stream_.async_read_some(buffer_.prepare(kReadBytes), [self = shared_from_this()](const Error& error, size_t bytes) {
    if (error) return self->Close();
    if (std::exchange(self->idle_, false)) self->Arm(self->core_->options.header_timeout);
    self->buffer_.commit(bytes);
    self->LookAtHeader();
  });
}

void Connection::LookAtHeader() {
  using Seen = HeaderScan::Seen;
  const auto bytes = buffer_.cdata();
  switch (scan_->Look({static_cast<const char*>(bytes.data()), bytes.size()})) {
    case Seen::kMore: return ReadHeader();
    case Seen::kEnd: return ParseHeader();
    case Seen::kAmbiguous: return Refuse(400, "malformed HTTP request: the header's lines cannot be told apart");
    case Seen::kLineTooLong:
      return Refuse(414, fmt::format("the request line has more than {} bytes", core_->options.request_line_bytes_max));
    case Seen::kTooLong:
      return Refuse(431, fmt::format("the header has more than {} bytes", core_->options.header_bytes_max));
  }
}

void Connection::ParseHeader() {
  Error error;
  const size_t used = parser_->put(asio::buffer(buffer_.cdata(), scan_->end()), error);
  if (error) return OnParseError(error);
  buffer_.consume(used);
  if (!parser_->is_header_done()) return Refuse(400, "malformed HTTP request");
  const auto& head = parser_->get();
  const bool coded = head.find(beast::http::field::transfer_encoding) != head.end();
  if (coded && (head.version() < 11 || !parser_->chunked())) {
    return Refuse(400, "malformed HTTP request: a Transfer-Encoding that says not where the body ends");
  }
  const auto length = head[beast::http::field::content_length];
  if (length.find_first_not_of("0123456789") != length.npos) {
    return Refuse(400, "malformed HTTP request: a Content-Length that is no number");
  }
  if (head.count(beast::http::field::host) > 1) return Refuse(400, "malformed HTTP request: two hosts");
  OnHeader();
}

void Connection::OnHeader() {
  const auto& head = parser_->get();
  const auto fields = static_cast<size_t>(std::distance(head.begin(), head.end()));
  if (fields > core_->options.header_fields_max) {
    return Refuse(431, fmt::format("the header has more than {} fields", core_->options.header_fields_max));
  }
  request_ = {.method = std::string(head.method_string()), .target = std::string(head.target())};
  request_.headers.reserve(fields);
  for (const auto& field : head) {
    request_.headers.emplace_back(LowerCase(field.name_string()), std::string(field.value()));
  }
  head_ = head.method() == beast::http::verb::head;
  takes_gzip_ = AcceptsGzip(request_.Header("accept-encoding"));
  if (core_->options.admit) {
    if (auto refusal = core_->options.admit(request_)) return Refuse(std::move(*refusal));
  }
  parser_->eager(true);
  body_bytes_ = 0;
  body_began_at_ = std::chrono::steady_clock::now();
  deadline_ = body_began_at_ + TimeFor(0);
  if (!beast::iequals(head[beast::http::field::expect], "100-continue")) return ParseBody();
  static constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(stream_, asio::buffer(kContinue, sizeof kContinue - 1),
                    [self = shared_from_this()](const Error& error, size_t) {
                      if (error) return self->Close();
                      self->ParseBody();
                    });
}

void Connection::ReadBody() {
  stream_.async_read_some(buffer_.prepare(kReadBytes), [self = shared_from_this()](const Error& error, size_t bytes) {
    if (error) return self->Close();
    self->buffer_.commit(bytes);
    self->body_bytes_ += bytes;
    self->deadline_ = self->body_began_at_ + self->TimeFor(self->body_bytes_);
    self->ParseBody();
  });
}

void Connection::ParseBody() {
  if (!parser_->is_done() && buffer_.size() > 0) {
    Error error;
    buffer_.consume(parser_->put(buffer_.cdata(), error));
    if (error && error != beast::http::error::need_more) return OnParseError(error);
    if (buffer_.size() > core_->options.header_bytes_max && !parser_->is_done()) {
      return Refuse(400, "malformed HTTP request: a chunk's head is too long");
    }
  }
  if (!parser_->is_done()) return ReadBody();
  deadline_ = std::chrono::steady_clock::time_point::max();
  HandOver();
}

void Connection::OnParseError(const Error& error) {
  if (error == beast::http::error::body_limit) {
    return Refuse(413, fmt::format("the body has more than {} bytes", core_->options.body_bytes_max));
  }
  Refuse(400, "malformed HTTP request: " + error.message());
}

void Connection::HandOver() {
  auto message = parser_->release();
  keep_alive_ = message.keep_alive();
  request_.body = std::move(message.body());
  if (request_.Header("content-encoding").find("gzip") != std::string_view::npos) {
    auto plain = Inflate(request_.body, core_->options.inflated_bytes_max);
    if (!plain) return Refuse(plain.error().code == Code::kResourceExhausted ? 413 : 400, plain.error().message);
    request_.body = std::move(*plain);
  }
  answering_ = true;
  auto reply = std::make_shared<Reply>(weak_from_this());
  core_->handler(std::move(request_), [reply](Response response) { reply->Send(std::move(response)); });
}

void Connection::Refuse(int status, const std::string& message) {
  Refuse({.status = status, .content_type = "text/plain", .body = message + "\n"});
}

// What the client sends on is not read any more: where it ends may be unknown.
void Connection::Refuse(Response response) {
  keep_alive_ = false;
  Write(std::move(response));
}

void Connection::Write(Response response) {
  keep_alive_ = keep_alive_ && !core_->stopping && !OldEnough();
  response_.emplace();
  response_->result(static_cast<unsigned>(response.status));
  response_->set(beast::http::field::content_type, response.content_type);
  if (core_->options.gzip_bytes_min > 0 && response.body.size() >= core_->options.gzip_bytes_min) {
    response.headers.emplace_back("Vary", "Accept-Encoding");
    if (takes_gzip_) Compress(&response);
  }
  for (const auto& [name, value] : response.headers) response_->set(name, value);
  response_->keep_alive(keep_alive_);
  response_->content_length(response.body.size());
  if (!head_) response_->body() = std::move(response.body);
  Arm(TimeFor(response_->body().size()));
  beast::http::async_write(stream_, *response_,
                           [self = shared_from_this()](const Error& error, size_t) { self->OnWritten(error); });
}

void Connection::OnWritten(const Error& error) {
  response_.reset();
  if (error) return Close();
  if (keep_alive_) return AwaitRequest();
  Arm(kLingerTimeout);
  if (!stream_.encrypted()) return SayGoodbye();
  stream_.EndTls([self = shared_from_this()](const Error&) { self->SayGoodbye(); });
}

void Connection::SayGoodbye() {
  if (closed_) return;
  Error ignored;
  stream_.socket().shutdown(Stream::Socket::shutdown_send, ignored);
  Linger();
}

// Reads on until the client closes: closing with unread bytes would reset the connection, and the client might lose
// the answer.
void Connection::Linger() {
  buffer_.clear();
  stream_.socket().async_read_some(buffer_.prepare(kReadBytes),
                                   [self = shared_from_this()](const Error& error, size_t) {
                                     if (error) return self->Close();
                                     self->Linger();
                                   });
}

// From now on the connection is closed when nothing re-arms in time.
void Connection::Arm(std::chrono::milliseconds timeout) {
  if (closed_) return;  // What completed before the close may still arrive after it.
  const auto before = std::exchange(deadline_, std::chrono::steady_clock::now() + timeout);
  if (watched_ && before <= deadline_) return;  // The timer will find the new one.
  AwaitDeadline();
}

// A deadline that moves on needs no new timer: the one that runs looks again when it ends.
void Connection::AwaitDeadline() {
  watched_ = true;
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](const Error& error) {
    if (error || self->closed_) return;
    if (self->deadline_ <= std::chrono::steady_clock::now()) return self->Close();
    self->watched_ = false;
    if (self->deadline_ != std::chrono::steady_clock::time_point::max()) self->AwaitDeadline();
  });
}

// How long a client may take for so many bytes.
std::chrono::milliseconds Connection::TimeFor(size_t bytes) const {
  const size_t rate = std::max<size_t>(1, core_->options.bytes_per_second_min);
  return core_->options.transfer_grace + std::chrono::milliseconds(bytes / rate * 1000);
}

void Connection::Close() {
  if (std::exchange(closed_, true)) return;
  Error ignored;
  stream_.socket().close(ignored);
  timer_.cancel();
  std::lock_guard lock(core_->mutex);
  core_->connections.erase(shared_from_this());
  if (core_->connections.empty()) core_->none_left.notify_all();
}

bool Connection::OldEnough() const { return std::chrono::steady_clock::now() >= leaves_at_; }

}  // namespace longshore::http

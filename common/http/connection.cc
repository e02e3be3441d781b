#include "common/http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <cctype>
#include <random>

#include "common/http/inflate.h"

namespace longshore::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;

constexpr size_t kReadBytes = size_t{64} << 10;
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
      socket_(strand_),
      timer_(strand_),
      leaves_at_(LeavesAt(core_->options)) {
  socket_.assign(protocol, fd);
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void Connection::Start() {
  asio::post(strand_, [self = shared_from_this()] { self->AwaitRequest(); });
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

void Connection::AwaitRequest() {
  head_ = false;
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(core_->options.header_bytes_max));
  parser_->body_limit(core_->options.body_bytes_max);
  if (buffer_.size() > 0) return ReadHeader();
  idle_ = true;
  Arm(core_->stopping ? core_->options.stop_grace : core_->options.idle_timeout);
  socket_.async_read_some(buffer_.prepare(kReadBytes), [self = shared_from_this()](const Error& error, size_t bytes) {
    self->idle_ = false;
    if (error) return self->Close();
    self->buffer_.commit(bytes);
    self->ReadHeader();
  });
}

void Connection::ReadHeader() {
  Arm(core_->options.read_timeout);
  beast::http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](const Error& error, size_t) {
    if (error) return self->OnReadError(error);
    self->OnHeader();
  });
}

void Connection::OnHeader() {
  if (!beast::iequals(parser_->get()[beast::http::field::expect], "100-continue")) return ReadBody();
  static constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket_, asio::buffer(kContinue, sizeof kContinue - 1),
                    [self = shared_from_this()](const Error& error, size_t) {
                      if (error) return self->Close();
                      self->ReadBody();
                    });
}

void Connection::ReadBody() {
  beast::http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](const Error& error, size_t) {
    if (error) return self->OnReadError(error);
    self->timer_.cancel();
    self->HandOver();
  });
}

void Connection::OnReadError(const Error& error) {
  if (error == beast::http::error::body_limit) {
    return Refuse(413, fmt::format("the body has more than {} bytes", core_->options.body_bytes_max));
  }
  if (error == beast::http::error::header_limit) {
    return Refuse(431, fmt::format("the header has more than {} bytes", core_->options.header_bytes_max));
  }
  const bool malformed = error.category() == beast::http::make_error_code(beast::http::error::bad_method).category() &&
                         error != beast::http::error::end_of_stream && error != beast::http::error::partial_message;
  if (malformed) return Refuse(400, "malformed HTTP request: " + error.message());
  Close();
}

void Connection::HandOver() {
  auto message = parser_->release();
  keep_alive_ = message.keep_alive();
  head_ = message.method() == beast::http::verb::head;
  Request request{.method = std::string(message.method_string()),
                  .target = std::string(message.target()),
                  .body = std::move(message.body())};
  for (const auto& field : message) {
    request.headers.emplace_back(LowerCase(field.name_string()), std::string(field.value()));
  }
  if (request.Header("content-encoding").find("gzip") != std::string_view::npos) {
    auto plain = Inflate(request.body, core_->options.inflated_bytes_max);
    if (!plain) return Refuse(plain.error().code == Code::kResourceExhausted ? 413 : 400, plain.error().message);
    request.body = std::move(*plain);
  }
  answering_ = true;
  auto reply = std::make_shared<Reply>(weak_from_this());
  core_->handler(std::move(request), [reply](Response response) { reply->Send(std::move(response)); });
}

void Connection::Refuse(int status, const std::string& message) {
  keep_alive_ = false;
  Write({.status = status, .content_type = "text/plain", .body = message + "\n"});
}

void Connection::Write(Response response) {
  keep_alive_ = keep_alive_ && !core_->stopping && !OldEnough();
  response_.emplace();
  response_->result(static_cast<unsigned>(response.status));
  response_->set(beast::http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers) response_->set(name, value);
  response_->keep_alive(keep_alive_);
  response_->content_length(response.body.size());
  if (!head_) response_->body() = std::move(response.body);
  Arm(core_->options.read_timeout);
  beast::http::async_write(socket_, *response_,
                           [self = shared_from_this()](const Error& error, size_t) { self->OnWritten(error); });
}

void Connection::OnWritten(const Error& error) {
  response_.reset();
  if (error) return Close();
  if (keep_alive_) return AwaitRequest();
  Error ignored;
  socket_.shutdown(Protocol::socket::shutdown_send, ignored);
  Arm(kLingerTimeout);
  Linger();
}

// Reads on until the client closes: closing with unread bytes would reset the connection, and the client might lose
// the answer.
void Connection::Linger() {
  buffer_.clear();
  socket_.async_read_some(buffer_.prepare(kReadBytes), [self = shared_from_this()](const Error& error, size_t) {
    if (error) return self->Close();
    self->Linger();
  });
}

// From now on the connection is closed when nothing re-arms in time.
void Connection::Arm(std::chrono::milliseconds timeout) {
  if (closed_) return;  // What completed before the close may still arrive after it.
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this()](const Error& error) {
    const bool re_armed = self->timer_.expiry() > std::chrono::steady_clock::now();
    if (!error && !re_armed) self->Close();
  });
}

void Connection::Close() {
  if (std::exchange(closed_, true)) return;
  Error ignored;
  socket_.close(ignored);
  timer_.cancel();
  std::lock_guard lock(core_->mutex);
  core_->connections.erase(shared_from_this());
  if (core_->connections.empty()) core_->none_left.notify_all();
}

bool Connection::OldEnough() const { return std::chrono::steady_clock::now() >= leaves_at_; }

}  // namespace longshore::http

#include "common/net/http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <random>

#include "common/net/http/response_head.h"
#include "common/os/log.h"

namespace longshore::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kReadBytes = size_t{8} << 10;    // Maximum per read.
constexpr size_t kWriteBytes = size_t{64} << 10;  // Maximum per write.
constexpr auto kLingerTimeout = milliseconds(1000);
constexpr auto kProbeAfter = milliseconds(100);
constexpr auto kAnswerLost = ServerState::TimePoint::min();
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// The handler's side of one request. Answers 500 if the handler drops the request without an answer.
class Reply {
 public:
  Reply(std::weak_ptr<Connection> connection, HeldBytes held)
      : connection_(std::move(connection)), held_(std::move(held)) {}
  ~Reply() {
    if (!sent_) Send(TextResponse(500, "the request was dropped without an answer"));
  }
  void Send(Response response) {
    if (sent_.exchange(true)) return;
    HeldBytes held = std::move(held_);
    if (auto connection = connection_.lock()) connection->Answer(std::move(response), std::move(held));
  }
  void Cancel() { sent_ = true; }

 private:
  std::weak_ptr<Connection> connection_;
  HeldBytes held_;  // The request's memory; outlives the connection and the server if necessary.
  std::atomic<bool> sent_ = false;
};

// Compresses the body if this makes it smaller.
void Compress(Compression compression, Response* response) {
  if (compression == Compression::kNone) return;
  const bool is_gzip = compression == Compression::kGzip;
  std::string packed = is_gzip ? Gzip(response->body) : Deflate(response->body);
  if (packed.empty() || packed.size() >= response->body.size()) return;
  response->body = std::move(packed);
  response->headers.emplace_back("Content-Encoding", is_gzip ? "gzip" : "deflate");
}

ServerState::TimePoint AgesOutAt(const Options& options) {
  if (options.connection_age_max.count() == 0) return ServerState::TimePoint::max();
  std::minstd_rand random{std::random_device{}()};
  const double jitter = std::uniform_real_distribution<double>(0.9, 1.1)(random);
  return steady_clock::now() + std::chrono::duration_cast<milliseconds>(options.connection_age_max * jitter);
}

}  // namespace

// Wraps a callback so that an exception in it affects only this connection.
template <typename Work>
auto Connection::Guarded(Work work) {
  return [self = shared_from_this(), work = std::move(work)](auto&&... arguments) mutable {
    try {
      std::invoke(work, *self, std::forward<decltype(arguments)>(arguments)...);
    } catch (const std::bad_alloc&) {
      self->OnException(503, "memory does not suffice for this request");
    } catch (const std::exception& error) {
      spdlog::error("an HTTP request failed: {}", error.what());
      self->OnException(500, "the request failed");
    }
  };
}

Connection::Connection(std::shared_ptr<asio::io_context> context, std::shared_ptr<ServerState> server,
                       Protocol protocol, int fd)
    : context_(std::move(context)),
      server_(std::move(server)),
      ages_out_at_(AgesOutAt(server_->options)),
      reader_(server_->options, server_->bodies),
      held_(server_->bodies),
      strand_(context_->get_executor()),
      stream_(strand_, protocol, fd) {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void Connection::Start() { asio::post(strand_, Guarded(&Connection::Begin)); }

void Connection::CloseWhenIdle() {
  asio::post(strand_, Guarded([](Connection& self) {
               if (self.state_ == State::kIdle) self.Arm(self.server_->options.stop_grace);
               self.deadline_ = std::min(self.deadline_.load(), self.server_->stops_by.load());
               const bool awaits_probe = self.input_ended_ && !self.probed_;
               // While the handler works, the connection has no deadline: the handler limits its own time.
               if (self.state_ == State::kHandling && !awaits_probe) self.deadline_ = TimePoint::max();
             }));
}

void Connection::AskToEnd() { ages_out_at_ = TimePoint::min(); }

void Connection::Cut() { asio::post(strand_, Guarded(&Connection::Close)); }

void Connection::CheckDeadline(TimePoint now) {
  requests_.Forget(now);
  if (deadline_.load() <= now) asio::post(strand_, Guarded(&Connection::OnDeadline));
}

void Connection::Answer(Response response, HeldBytes held) {
  try {
    // A weak reference, because the connection owns the queue: a strong one in the queue would keep both alive forever.
    asio::dispatch(strand_,
                   [weak = weak_from_this(), response = std::move(response), held = std::move(held)]() mutable {
                     const auto self = weak.lock();
                     if (!self || self->state_ != State::kHandling) return;
                     self->held_ = std::move(held);
                     self->Guarded([&response](Connection& connection) { connection.Write(std::move(response)); })();
                   });
  } catch (const std::exception&) {
    deadline_ = kAnswerLost;  // No memory to post the answer: the next CheckDeadline closes the connection.
  }
}

void Connection::OnException(int status, const std::string& message) {
  if (state_ != State::kReading && state_ != State::kHandling) return Close();
  try {
    Refuse(status == 503 ? TryLater(message) : TextResponse(status, message));
  } catch (const std::exception&) {
    Close();
  }
}

void Connection::Begin() {
  if (!server_->options.tls) return AwaitRequest();
  const auto context = server_->tls.Current(*server_->options.tls);
  if (!context) return Close();
  Arm(server_->options.header_timeout);
  stream_.Handshake(*context, Guarded([](Connection& self, const Error& error) {
    if (error) return self.Close();
    self.AwaitRequest();
  }));
}

void Connection::AwaitRequest() {
  if (state_ == State::kClosed) return;
  reader_.Begin();
  compression_ = Compression::kNone;
  if (buffer_.size() > 0) {
    state_ = State::kReading;
    Arm(server_->options.header_timeout);
    return Advance();
  }
  state_ = State::kIdle;
  Arm(server_->stopping ? server_->options.stop_grace : server_->options.idle_timeout);
  Read();
}

void Connection::Read() {
  if (std::exchange(is_reading_, true)) return;
  stream_.async_read_some(buffer_.prepare(kReadBytes), Guarded(&Connection::OnRead));
}

void Connection::OnRead(const Error& error, size_t bytes) {
  is_reading_ = false;
  if (state_ == State::kClosed) return;
  if (error && (state_ == State::kHandling || state_ == State::kWriting)) return OnEndOfInput(error);
  if (state_ == State::kLingering) return stream_.encrypted() ? EndStream() : Discard(error);
  if (error) return Close();
  buffer_.commit(bytes);
  if (state_ == State::kHandling || state_ == State::kWriting) return;  // A pipelined request waits in the buffer.
  if (std::exchange(state_, State::kReading) == State::kIdle) Arm(server_->options.header_timeout);
  if (reader_.has_head()) AwaitBody(bytes);
  Advance();
}

// Sets the deadline for receiving the body: each byte extends it by the time that the byte takes at the required
// minimum rate.
void Connection::AwaitBody(size_t more_bytes) {
  body_bytes_ += more_bytes;
  deadline_ = std::min(body_began_at_ + TransferTimeMax(body_bytes_), server_->stops_by.load());
}

void Connection::Advance() {
  const auto progress = reader_.Put(buffer_);
  if (!progress) return Refuse(progress.error());
  switch (*progress) {
    case RequestReader::Progress::kMore: return Read();
    case RequestReader::Progress::kHead: return OnHead();
    case RequestReader::Progress::kEnd: return CallHandler();
  }
}

void Connection::OnHead() {
  const Request& head = reader_.head();
  compression_ = CompressionFor(head.Header("accept-encoding"));
  if (server_->options.admit) {
    if (auto refusal = server_->options.admit(head)) return Refuse(std::move(*refusal));
  }
  body_bytes_ = 0;
  body_began_at_ = steady_clock::now();
  AwaitBody(0);
  if (!reader_.awaits_continue()) return Advance();
  asio::async_write(stream_, asio::buffer(kContinue), Guarded([](Connection& self, const Error& error, size_t) {
                      if (error) return self.Close();
                      if (self.state_ != State::kClosed) self.Advance();
                    }));
}

void Connection::CallHandler() {
  auto request = reader_.Take();
  if (!request) return Refuse(std::move(request.error()));
  requests_.Add();
  keep_alive_ = reader_.keep_alive();
  deadline_ = TimePoint::max();
  state_ = State::kHandling;
  gone_ = std::stop_source();
  request->gone = gone_.get_token();
  const auto reply = std::make_shared<Reply>(weak_from_this(), reader_.TakeHeld());
  try {
    server_->handler(std::move(*request), [reply](Response response) { reply->Send(std::move(response)); });
  } catch (const std::exception&) {
    reply->Cancel();
    throw;
  }
  if (state_ == State::kHandling && buffer_.size() == 0) Read();
}

// Called when the client ends its input, or the connection breaks, while the answer is computed or written.
void Connection::OnEndOfInput(const Error& error) {
  input_ended_ = true;
  if (state_ == State::kWriting) return;
  if (error != asio::error::eof || stream_.encrypted()) return Close();
  if (reader_.is_http_1_1()) deadline_ = steady_clock::now() + kProbeAfter;
}

void Connection::OnDeadline() {
  if (deadline_.load() > steady_clock::now()) return;
  const bool awaits_probe = state_ == State::kHandling && input_ended_ && !probed_ && deadline_.load() != kAnswerLost;
  if (awaits_probe) return ProbeClient();
  if (state_ != State::kWriting) return Close();
  deadline_ = AnswerDeadline();
  if (deadline_.load() <= steady_clock::now()) Close();
}

// Finds out whether the client is gone by sending a "100 Continue": a client that has closed its socket answers with a
// reset, one that has only shut down its sending side ignores it.
void Connection::ProbeClient() {
  probed_ = true;
  deadline_ = TimePoint::max();
  const auto sent =
      send(stream_.socket().native_handle(), kContinue.data(), kContinue.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno == EAGAIN) return;  // The send buffer is full: the client may still be reading earlier answers.
  if (sent != static_cast<ssize_t>(kContinue.size())) return Close();
  stream_.socket().async_wait(Stream::Socket::wait_error, Guarded([](Connection& self, const Error& error) {
                                if (!error && self.state_ == State::kHandling) self.Close();
                              }));
}

// Writes the answer and closes the connection. Further input is discarded, because the end of this request may be
// unknown.
void Connection::Refuse(Response response) {
  keep_alive_ = false;
  Write(std::move(response));
}

void Connection::Write(Response response) {
  reader_.Release();
  keep_alive_ = keep_alive_ && !server_->stopping && !input_ended_ && !IsPastAgeMax();
  if (server_->options.gzip_bytes_min > 0 && response.body.size() >= server_->options.gzip_bytes_min) {
    response.headers.emplace_back("Vary", "Accept-Encoding");
    Compress(compression_, &response);
  }
  head_ = ResponseHead(response, keep_alive_);
  body_ = reader_.wants_no_body() ? std::string() : std::move(response.body);
  until_written_ = std::move(response.until_written);
  answer_began_at_ = steady_clock::now();
  answer_bytes_written_ = 0;
  deadline_ = AnswerDeadline();  // OnDeadline extends it while the client reads.
  state_ = State::kWriting;
  Send();
}

// First writes as much of the answer as the socket accepts without waiting; this completes a short answer. The rest is
// written asynchronously. If pipelined requests wait, OnWritten is called asynchronously too: otherwise the next
// request would begin inside this call.
void Connection::Send() {
  using Buffers = std::array<asio::const_buffer, 2>;
  const size_t sent = stream_.TrySend(Buffers{asio::buffer(head_), asio::buffer(body_)});
  if (sent == head_.size() + body_.size() && buffer_.size() == 0) return OnWritten({});
  answer_bytes_written_ = sent;
  const size_t of_head = std::min(sent, head_.size());
  // Asio calls `count` before each write with the number of bytes written so far. It returns the maximum size of the
  // next write.
  const auto count = [self = shared_from_this(), sent](const Error& error, size_t more) -> size_t {
    self->answer_bytes_written_ = sent + more;
    return error ? 0 : kWriteBytes;
  };
  asio::async_write(stream_, Buffers{asio::buffer(head_) + of_head, asio::buffer(body_) + (sent - of_head)}, count,
                    Guarded([](Connection& self, const Error& error, size_t) { self.OnWritten(error); }));
}

void Connection::OnWritten(const Error& error) {
  head_.clear();
  body_ = {};
  ReleaseAnswer();
  if (state_ == State::kClosed) return;
  if (error) return Close();
  if (keep_alive_ && !input_ended_) return AwaitRequest();
  state_ = State::kLingering;
  Arm(kLingerTimeout);
  if (!stream_.encrypted() || !is_reading_) return EndStream();
  Error ignored;
  stream_.socket().cancel(ignored);  // TLS can be shut down only when no read is in progress.
}

void Connection::ReleaseAnswer() {
  held_.Release();
  until_written_.reset();
}

void Connection::EndStream() {
  if (!stream_.encrypted()) return Linger();
  stream_.EndTls(Guarded([](Connection& self, const Error&) { self.Linger(); }));
}

// Discards input until the client closes: closing a socket with unread bytes resets the connection, and the client
// could lose the answer.
void Connection::Linger() {
  if (state_ == State::kClosed) return;
  Error ignored;
  stream_.socket().shutdown(Stream::Socket::shutdown_send, ignored);
  Discard({});
}

void Connection::Discard(const Error& error) {
  if (state_ == State::kClosed) return;
  if (error) return Close();
  if (is_reading_) return;  // When the read in progress has ended, OnRead calls Discard again.
  buffer_.clear();
  stream_.socket().async_read_some(buffer_.prepare(kReadBytes),
                                   Guarded([](Connection& self, const Error& next, size_t) { self.Discard(next); }));
}

// Sets the deadline to `timeout` from now: the connection is closed then, unless its deadline is set again before.
// While the server stops, the deadline is also limited by stops_by, but the last answer still gets stop_grace.
void Connection::Arm(milliseconds timeout) {
  const auto now = steady_clock::now();
  deadline_ = std::min(now + timeout, std::max(server_->stops_by.load(), now + server_->options.stop_grace));
}

// How long a client may take to transfer these bytes.
milliseconds Connection::TransferTimeMax(size_t bytes) const {
  const size_t rate = std::max<size_t>(1, server_->options.bytes_per_second_min);
  return server_->options.transfer_grace + milliseconds(bytes * 1000 / rate);
}

// The time by which the client must have received more of the answer than it has now. Written bytes can wait in the
// buffers of this machine, so only those count that the client's machine has acknowledged. While the server stops, the
// time is limited as in Arm.
ServerState::TimePoint Connection::AnswerDeadline() {
  const size_t received =  // Most answers are written at once, and need no system call here.
      answer_bytes_written_ == 0
          ? 0
          : answer_bytes_written_ - std::min(answer_bytes_written_, stream_.UnacknowledgedBytes());
  return std::min(answer_began_at_ + TransferTimeMax(received),
                  std::max(server_->stops_by.load(), answer_began_at_ + server_->options.stop_grace));
}

void Connection::Close() {
  const State before = std::exchange(state_, State::kClosed);
  if (before == State::kClosed) return;
  Error ignored;
  stream_.socket().close(ignored);
  reader_.Release();
  ReleaseAnswer();
  {
    const std::lock_guard lock(server_->mutex);
    server_->connections.erase(shared_from_this());
    if (server_->connections.empty()) server_->no_connections.notify_all();
  }
  if (before == State::kHandling) gone_.request_stop();
}

bool Connection::IsPastAgeMax() const {
  const TimePoint ages_out_at = ages_out_at_;
  return ages_out_at != TimePoint::max() && steady_clock::now() >= ages_out_at;
}

}  // namespace longshore::http

#include "common/http/connection.h"

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

#include "common/http/deflate.h"
#include "common/http/response_head.h"
#include "common/log.h"

namespace longshore::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kReadBytes = size_t{8} << 10;    // Of each read.
constexpr size_t kWriteBytes = size_t{64} << 10;  // Of each write, at most.
constexpr auto kLingerTimeout = milliseconds(1000);
constexpr auto kProbeAfter = milliseconds(100);
constexpr auto kAnswerLost = Core::TimePoint::min();
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// The handler's side of one request. Answers 500 when nobody else did.
class Reply {
 public:
  Reply(std::weak_ptr<Connection> connection, HeldBytes held)
      : connection_(std::move(connection)), held_(std::move(held)) {}
  ~Reply() {
    if (!sent_) Send(TextResponse(500, "the request was dropped"));
  }
  void Send(Response response) {
    if (sent_.exchange(true)) return;
    HeldBytes held = std::move(held_);
    if (auto connection = connection_.lock()) connection->Answer(std::move(response), std::move(held));
  }
  void Forget() { sent_ = true; }

 private:
  std::weak_ptr<Connection> connection_;
  HeldBytes held_;  // By the request, also when its connection, or the server, is gone.
  std::atomic<bool> sent_ = false;
};

// Only what gets smaller by it.
void Compress(Response* response) {
  std::string packed = Gzip(response->body);
  if (packed.empty() || packed.size() >= response->body.size()) return;
  response->body = std::move(packed);
  response->headers.emplace_back("Content-Encoding", "gzip");
}

Core::TimePoint LeavesAt(const Options& options) {
  if (options.connection_age_max.count() == 0) return Core::TimePoint::max();
  std::minstd_rand random{std::random_device{}()};
  const double jitter = std::uniform_real_distribution<double>(0.9, 1.1)(random);
  return steady_clock::now() + std::chrono::duration_cast<milliseconds>(options.connection_age_max * jitter);
}

}  // namespace

// What throws while it works for a connection costs that connection alone.
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

Connection::Connection(std::shared_ptr<asio::io_context> context, std::shared_ptr<Core> core, Protocol protocol, int fd)
    : context_(std::move(context)),
      core_(std::move(core)),
      leaves_at_(LeavesAt(core_->options)),
      reader_(core_->options, core_->bodies),
      held_(core_->bodies),
      strand_(context_->get_executor()),
      stream_(strand_, protocol, fd) {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void Connection::Start() { asio::post(strand_, Guarded(&Connection::Greet)); }

void Connection::Leave() {
  asio::post(strand_, Guarded([](Connection& self) {
               if (self.state_ == State::kIdle) self.Arm(self.core_->options.stop_grace);
               self.deadline_ = std::min(self.deadline_.load(), self.core_->stops_by.load());
               const bool to_be_probed = self.input_ended_ && !self.probed_;
               // The handler knows its own.
               if (self.state_ == State::kHandling && !to_be_probed) self.deadline_ = TimePoint::max();
             }));
}

void Connection::Cut() { asio::post(strand_, Guarded(&Connection::Close)); }

void Connection::LookAtClock(TimePoint now) {
  if (deadline_.load() <= now) asio::post(strand_, Guarded(&Connection::OnLate));
}

void Connection::Answer(Response response, HeldBytes held) {
  try {
    // Weak: were the server gone, a queued strong reference would keep itself alive through its own queue.
    asio::dispatch(strand_,
                   [weak = weak_from_this(), response = std::move(response), held = std::move(held)]() mutable {
                     const auto self = weak.lock();
                     if (!self || self->state_ != State::kHandling) return;
                     self->held_ = std::move(held);
                     self->Guarded([&response](Connection& connection) { connection.Write(std::move(response)); })();
                   });
  } catch (const std::exception&) {
    deadline_ = kAnswerLost;  // Without memory to say so, the connection ends at the clock's next look.
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

void Connection::Greet() {
  if (!core_->options.tls) return AwaitRequest();
  const auto context = core_->tls.Current(*core_->options.tls);
  if (!context) return Close();
  Arm(core_->options.header_timeout);
  stream_.Handshake(*context, Guarded([](Connection& self, const Error& error) {
    if (error) return self.Close();
    self.AwaitRequest();
  }));
}

void Connection::AwaitRequest() {
  if (state_ == State::kClosed) return;
  reader_.Begin();
  takes_gzip_ = false;
  if (buffer_.size() > 0) {
    state_ = State::kReading;
    Arm(core_->options.header_timeout);
    return Advance();
  }
  state_ = State::kIdle;
  Arm(core_->stopping ? core_->options.stop_grace : core_->options.idle_timeout);
  Read();
}

void Connection::Read() {
  if (std::exchange(is_read_, true)) return;
  stream_.async_read_some(buffer_.prepare(kReadBytes), Guarded(&Connection::OnRead));
}

void Connection::OnRead(const Error& error, size_t bytes) {
  is_read_ = false;
  if (state_ == State::kClosed) return;
  if (error && (state_ == State::kHandling || state_ == State::kWriting)) return OnEndOfInput(error);
  if (state_ == State::kEnding) return stream_.encrypted() ? SayGoodbye() : OnReadAway(error);
  if (error) return Close();
  buffer_.commit(bytes);
  if (state_ == State::kHandling || state_ == State::kWriting) return;  // Sent ahead: it waits.
  if (std::exchange(state_, State::kReading) == State::kIdle) Arm(core_->options.header_timeout);
  if (reader_.has_head()) AwaitBody(bytes);
  Advance();
}

// As long as it takes, at the rate that is asked for at least.
void Connection::AwaitBody(size_t more_bytes) {
  body_bytes_ += more_bytes;
  deadline_ = std::min(body_began_at_ + TimeFor(body_bytes_), core_->stops_by.load());
}

void Connection::Advance() {
  const auto seen = reader_.Put(buffer_);
  if (!seen) return Refuse(seen.error());
  switch (*seen) {
    case RequestReader::Seen::kMore: return Read();
    case RequestReader::Seen::kHead: return OnHead();
    case RequestReader::Seen::kEnd: return HandOver();
  }
}

void Connection::OnHead() {
  const Request& head = reader_.head();
  takes_gzip_ = AcceptsGzip(head.Header("accept-encoding"));
  if (core_->options.admit) {
    if (auto refusal = core_->options.admit(head)) return Refuse(std::move(*refusal));
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

void Connection::HandOver() {
  auto request = reader_.Take();
  if (!request) return Refuse(std::move(request.error()));
  keep_alive_ = reader_.keep_alive();
  deadline_ = TimePoint::max();
  state_ = State::kHandling;
  gone_ = std::stop_source();
  request->gone = gone_.get_token();
  const auto reply = std::make_shared<Reply>(weak_from_this(), reader_.TakeHeld());
  try {
    core_->handler(std::move(*request), [reply](Response response) { reply->Send(std::move(response)); });
  } catch (const std::exception&) {
    reply->Forget();
    throw;
  }
  if (state_ == State::kHandling && buffer_.size() == 0) Read();
}

// Nothing follows what the client has sent, or the connection is broken, while its answer is made or written.
void Connection::OnEndOfInput(const Error& error) {
  input_ended_ = true;
  if (state_ == State::kWriting) return;
  if (error != asio::error::eof || stream_.encrypted()) return Close();
  if (reader_.is_http_1_1()) deadline_ = steady_clock::now() + kProbeAfter;
}

void Connection::OnLate() {
  if (deadline_.load() > steady_clock::now()) return;
  const bool asks = state_ == State::kHandling && input_ended_ && !probed_ && deadline_.load() != kAnswerLost;
  if (asks) return Probe();
  if (state_ != State::kWriting) return Close();
  deadline_ = AnswerDeadline();
  if (deadline_.load() <= steady_clock::now()) Close();
}

// To a socket that is closed at its other end this means a reset soon; to one that is closed for sending, nothing.
void Connection::Probe() {
  probed_ = true;
  deadline_ = TimePoint::max();
  const auto sent =
      send(stream_.socket().native_handle(), kContinue.data(), kContinue.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno == EAGAIN) return;  // It has answers to read yet.
  if (sent != static_cast<ssize_t>(kContinue.size())) return Close();
  stream_.socket().async_wait(Stream::Socket::wait_error, Guarded([](Connection& self, const Error& error) {
                                if (!error && self.state_ == State::kHandling) self.Close();
                              }));
}

// What the client sends on is not read any more: where it ends may be unknown.
void Connection::Refuse(Response response) {
  keep_alive_ = false;
  Write(std::move(response));
}

void Connection::Write(Response response) {
  reader_.Release();
  keep_alive_ = keep_alive_ && !core_->stopping && !input_ended_ && !OldEnough();
  if (core_->options.gzip_bytes_min > 0 && response.body.size() >= core_->options.gzip_bytes_min) {
    response.headers.emplace_back("Vary", "Accept-Encoding");
    if (takes_gzip_) Compress(&response);
  }
  head_ = ResponseHead(response, keep_alive_);
  body_ = reader_.wants_no_body() ? std::string() : std::move(response.body);
  until_written_ = std::move(response.until_written);
  answer_began_at_ = steady_clock::now();
  answer_bytes_written_ = 0;
  deadline_ = AnswerDeadline();  // Later as the client reads: see OnLate.
  state_ = State::kWriting;
  Send();
}

// At once as far as the socket takes it, which is all of a short answer: no way through the queue then, unless further
// requests wait, one of which would begin within another.
void Connection::Send() {
  using Buffers = std::array<asio::const_buffer, 2>;
  const size_t sent = stream_.TrySend(Buffers{asio::buffer(head_), asio::buffer(body_)});
  if (sent == head_.size() + body_.size() && buffer_.size() == 0) return OnWritten({});
  answer_bytes_written_ = sent;
  const size_t of_head = std::min(sent, head_.size());
  // Asked before each write how many bytes it may take, and told how many were written before.
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
  state_ = State::kEnding;
  Arm(kLingerTimeout);
  if (!stream_.encrypted() || !is_read_) return SayGoodbye();
  Error ignored;
  stream_.socket().cancel(ignored);  // TLS ends when nobody reads.
}

void Connection::ReleaseAnswer() {
  held_.Release();
  until_written_.reset();
}

void Connection::SayGoodbye() {
  if (!stream_.encrypted()) return Linger();
  stream_.EndTls(Guarded([](Connection& self, const Error&) { self.Linger(); }));
}

// Reads on until the client closes: closing with unread bytes would reset the connection, and the client might lose
// the answer.
void Connection::Linger() {
  if (state_ == State::kClosed) return;
  Error ignored;
  stream_.socket().shutdown(Stream::Socket::shutdown_send, ignored);
  OnReadAway({});
}

void Connection::OnReadAway(const Error& error) {
  if (state_ == State::kClosed) return;
  if (error) return Close();
  if (is_read_) return;  // OnRead goes on.
  buffer_.clear();
  stream_.socket().async_read_some(buffer_.prepare(kReadBytes),
                                   Guarded([](Connection& self, const Error& next, size_t) { self.OnReadAway(next); }));
}

// From now on the connection is closed when nothing re-arms in time. Once stopping, what has to be said last gets its
// time all the same.
void Connection::Arm(milliseconds timeout) {
  const auto now = steady_clock::now();
  deadline_ = std::min(now + timeout, std::max(core_->stops_by.load(), now + core_->options.stop_grace));
}

// How long a client may take for so many bytes.
milliseconds Connection::TimeFor(size_t bytes) const {
  const size_t rate = std::max<size_t>(1, core_->options.bytes_per_second_min);
  return core_->options.transfer_grace + milliseconds(bytes * 1000 / rate);
}

// Until when the client may take no more of the answer than it has taken: written bytes wait in this system's buffers,
// so those count that the client's system has acknowledged. As for Arm once stopping.
Core::TimePoint Connection::AnswerDeadline() {
  const size_t taken = answer_bytes_written_ - std::min(answer_bytes_written_, stream_.UnacknowledgedBytes());
  return std::min(answer_began_at_ + TimeFor(taken),
                  std::max(core_->stops_by.load(), answer_began_at_ + core_->options.stop_grace));
}

void Connection::Close() {
  const State before = std::exchange(state_, State::kClosed);
  if (before == State::kClosed) return;
  Error ignored;
  stream_.socket().close(ignored);
  reader_.Release();
  ReleaseAnswer();
  {
    const std::lock_guard lock(core_->mutex);
    core_->connections.erase(shared_from_this());
    if (core_->connections.empty()) core_->none_left.notify_all();
  }
  if (before == State::kHandling) gone_.request_stop();
}

bool Connection::OldEnough() const { return leaves_at_ != TimePoint::max() && steady_clock::now() >= leaves_at_; }

}  // namespace longshore::http

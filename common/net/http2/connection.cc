#include "common/net/http2/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/container/static_vector.hpp>
#include <cerrno>
#include <functional>
#include <random>
#include <string_view>

#include "common/net/http2/address.h"
#include "common/os/log.h"

namespace longshore::http2 {
namespace {

namespace asio = boost::asio;

constexpr int kReadsMax = 4;                           // Per turn, so that one connection does not keep others waiting.
constexpr int kBatchesMax = 8;                         // Per turn, for the same reason.
constexpr size_t kPartsMax = 64;                       // Per system call.
constexpr size_t kTlsPartsMax = 1;                     // OpenSSL encrypts one piece of memory at a time.
constexpr int kPauseBytes = 64 << 10;                  // In a pause, the kernel does not report fewer bytes.
constexpr size_t kTlsTurnBytesMax = size_t{64} << 10;  // Between two pauses.
constexpr size_t kWaitingFrames = 4;  // For each stream that may be open. If more wait, nothing is read.
constexpr auto kLingerTime = milliseconds(1000);
constexpr auto kAnnounceTime = milliseconds(3000);  // The client gets so long to answer the announcement of the end.

double RandomBetween(double low, double high) {
  std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(low, high)(random);
}

TimePoint After(milliseconds time, double factor) {
  return Clock::now() + std::chrono::duration_cast<milliseconds>(time * factor);
}

TimePoint AgesOutAt(const Options& options) {
  if (options.connection_age_max.count() == 0) return TimePoint::max();
  return After(options.connection_age_max, RandomBetween(0.9, 1.1));
}

}  // namespace

// Wraps a callback so that an exception in it closes only this connection.
template <typename Work>
auto Connection::Guarded(Work work) {
  return [self = shared_from_this(), work = std::move(work)](auto&&... arguments) mutable {
    try {
      std::invoke(work, *self, std::forward<decltype(arguments)>(arguments)...);
    } catch (const std::exception& error) {
      spdlog::error("an HTTP/2 connection failed: {}", error.what());
      self->Close();
    }
  };
}

class Connection::StrandWaker final : public Waker {
 public:
  explicit StrandWaker(Connection& connection)
      : context_(connection.context_), strand_(connection.strand_), connection_(connection.weak_from_this()) {}

  bool IsOnStrand() const override { return strand_.running_in_this_thread(); }
  void Wake() override {
    // A weak reference, because the connection owns the queue: a strong one in the queue would keep both alive forever.
    asio::post(strand_, [weak = connection_] {
      if (const auto self = weak.lock()) self->Guarded (&Connection::OnWoken)();
    });
  }

 private:
  const std::shared_ptr<asio::io_context> context_;  // Must outlive the strand.
  const asio::strand<asio::io_context::executor_type> strand_;
  const std::weak_ptr<Connection> connection_;
};

Connection::Connection(std::shared_ptr<asio::io_context> context, std::shared_ptr<ServerState> server,
                       Protocol protocol, int fd)
    : context_(std::move(context)),
      server_(std::move(server)),
      ages_out_at_(AgesOutAt(server_->options)),
      check_at_(began_at_),
      strand_(context_->get_executor()),
      timer_(strand_),
      pause_timer_(strand_),
      stream_(strand_, protocol, fd) {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void Connection::Start() { asio::post(strand_, Guarded(&Connection::Begin)); }

void Connection::End(TimePoint until) {
  asio::post(strand_, Guarded([until](Connection& self) {
               const bool ends_by_age = self.ages_out_at_ != TimePoint::max();
               ends_by_age ? self.EndBy(until) : self.Announce(until);
             }));
}

void Connection::EndWithin(milliseconds spread, TimePoint until) {
  asio::post(strand_, Guarded([spread, until](Connection& self) {
               if (spread.count() == 0) return self.Announce(until);
               self.ages_out_at_ = std::min(self.ages_out_at_, After(spread, RandomBetween(0, 1)));
               self.EndBy(until);
               self.CheckBy(self.ages_out_at_);
             }));
}

void Connection::Cut() { asio::post(strand_, Guarded(&Connection::Close)); }

void Connection::CheckTime(TimePoint now) {
  requests_.Forget(now);
  if (check_at_.load() <= now) asio::post(strand_, Guarded([now](Connection& self) { self.Check(now); }));
}

void Connection::Begin() {
  if (state_ == State::kClosed) return;
  if (!server_->options.tls) return Open();
  const auto context = server_->tls.Current(*server_->options.tls);
  if (!context) return Close();
  stream_.Handshake(*context, Guarded([](Connection& self, const Error& error) {
    if (error) return self.Close();
    const unsigned char* protocol = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(self.stream_.tls(), &protocol, &size);
    if (size == 0) return self.Close();  // HTTP/2 requires ALPN (RFC 9113, section 3.2).
    self.Open();
  }));
}

std::shared_ptr<const Peer> Connection::MakePeer() {
  return std::make_shared<const Peer>(
      Peer{.address = PeerAddress(stream_.socket().native_handle()),
           .dns_names = stream_.encrypted() ? tls::VerifiedDnsNames(stream_.tls()) : std::vector<std::string>()});
}

void Connection::Open() {
  if (state_ == State::kClosed) return;
  state_ = State::kOpen;
  const auto notifications = std::make_shared<Notifications>(std::make_shared<StrandWaker>(*this));
  const auto make = [this](const std::shared_ptr<const Peer>& peer) {
    requests_.Add();
    return server_->make(peer);
  };
  session_ = std::make_unique<Session>(server_->options.limits, make, MakePeer(), notifications, server_->pool);
  if (is_ending_) AnnounceNow();
  CheckBy(Clock::now());  // Other limits hold from now on.
  Flush();
  Read();
}

// Whether the client does not read what was written for it.
bool Connection::IsFull() const {
  if (state_ != State::kOpen || !is_writing_) return false;
  const Limits& limits = server_->options.limits;
  return session_->waiting_frames() > kWaitingFrames * limits.streams_max ||
         (session_->queue().size() > limits.unsent_bytes_max && !has_written_);
}

// Reads more, unless the client does not read its answers. Has no effect during a pause, after which it is called
// again.
void Connection::Read() {
  if (state_ != State::kOpen || is_reading_ || is_paused_ || IsFull()) return;
  if (TakePauseIfDue()) return PauseReading();
  is_reading_ = true;
  has_written_ = false;
  if (!stream_.encrypted()) {
    return stream_.socket().async_wait(http::Stream::Socket::wait_read, Guarded(&Connection::OnReadable));
  }
  tls_buffer_ = server_->buffers.Take();
  const auto room = tls_buffer_->room();
  stream_.async_read_some(asio::buffer(room.data(), room.size()), Guarded(&Connection::OnTlsRead));
}

// A read over TLS returns one record, which may hold a single request. So a pause waits until all records were read
// that have arrived in OpenSSL, unless they have more than kTlsTurnBytesMax bytes.
bool Connection::TakePauseIfDue() {
  if (stream_.encrypted() && turn_bytes_ < kTlsTurnBytesMax && stream_.HasReceived()) return false;
  turn_bytes_ = 0;
  return session_->TakePause();
}

// The pauses of all connections end together, so that one wake-up of the thread serves them all. Asio watches the
// socket all the time, so the kernel must not report every few bytes.
void Connection::PauseReading() {
  is_paused_ = true;
  ReportFrom(kPauseBytes);
  pause_timer_.expires_at(std::chrono::ceil<milliseconds>(Clock::now()));
  pause_timer_.async_wait(Guarded([](Connection& self, const Error& error) {
    self.is_paused_ = false;
    if (error || self.state_ == State::kClosed) return;
    self.ReportFrom(1);
    self.session_->TakePause();  // Each pause follows a read, so that streams which end without one cannot prolong it.
    self.Read();
  }));
}

// Lets the kernel report received bytes when there are so many.
void Connection::ReportFrom(int bytes) {
  setsockopt(stream_.socket().native_handle(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
}

void Connection::OnReadable(const Error& error) {
  is_reading_ = false;
  if (state_ == State::kClosed) return;
  if (error) return Close();
  if (state_ == State::kLingering) return Discard({});
  for (int reads = 0; reads < kReadsMax && ReceiveOnce(); ++reads) {
  }
  if (state_ == State::kClosed) return;
  Flush();
  Read();
}

// Returns whether more bytes may be waiting.
bool Connection::ReceiveOnce() {
  auto buffer = server_->buffers.Take();
  const auto room = buffer->room();
  const ssize_t size = recv(stream_.socket().native_handle(), room.data(), room.size(), MSG_DONTWAIT);
  const bool failed = size < 0 && errno != EAGAIN && errno != EINTR;
  if (size > 0) {
    received_at_ = Clock::now();
    session_->Receive({room.data(), static_cast<size_t>(size)}, *buffer, received_at_);
  }
  server_->buffers.Return(std::move(buffer), static_cast<size_t>(std::max<ssize_t>(0, size)));
  if (size == 0 || failed) Close();
  return size > 0 && static_cast<size_t>(size) == room.size();
}

void Connection::OnTlsRead(const Error& error, size_t bytes) {
  is_reading_ = false;
  const auto buffer = std::exchange(tls_buffer_, nullptr);
  if (state_ == State::kClosed) return;
  if (state_ == State::kLingering) return ShutDown();
  if (error) return Close();
  turn_bytes_ += bytes;
  received_at_ = Clock::now();
  session_->Receive({buffer->room().data(), bytes}, *buffer, received_at_);
  server_->buffers.Return(buffer, bytes);
  Flush();
  Read();
}

void Connection::OnWoken() {
  if (state_ != State::kOpen) return;
  session_->RunNotified(Clock::now());
  Flush();
  Read();
}

// Writes all frames, as far as the socket accepts them.
void Connection::Flush() {
  for (int batches = 0; state_ == State::kOpen && !is_writing_; ++batches) {
    if (batches == kBatchesMax) return FlushLater();
    session_->Fill(Clock::now());
    if (session_->queue().empty()) break;
    if (!Send()) break;
  }
  if (state_ != State::kOpen) return;
  if (session_->is_over() && session_->queue().empty()) return Linger();
  ArmDeadline();
}

// Goes on after other connections have had their turn.
void Connection::FlushLater() {
  ArmDeadline();
  if (std::exchange(flushes_later_, true)) return;
  asio::post(strand_, Guarded([](Connection& self) {
               self.flushes_later_ = false;
               self.Flush();
             }));
}

// Returns false if the socket accepts no more, or if the connection was closed.
bool Connection::Send() {
  if (!stream_.encrypted()) return SendPlain();
  SendTls();
  return false;
}

bool Connection::SendPlain() {
  SendQueue& queue = session_->queue();
  std::array<iovec, kPartsMax> parts;
  while (!queue.empty()) {
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = queue.Peek(parts);
    const ssize_t sent = sendmsg(stream_.socket().native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      OnSent(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      AwaitWritten();
      stream_.socket().async_wait(http::Stream::Socket::wait_write, Guarded(&Connection::OnWritable));
      return false;
    } else if (errno != EINTR) {
      Close();
      return false;
    }
  }
  return true;
}

void Connection::SendTls() {
  std::array<iovec, kTlsPartsMax> parts;
  session_->queue().Peek(parts);
  AwaitWritten();
  stream_.async_write_some(asio::buffer(parts[0].iov_base, parts[0].iov_len),
                           Guarded([](Connection& self, const Error& error, size_t bytes) {
                             if (!error && self.state_ == State::kOpen) self.OnSent(bytes);
                             self.OnWritable(error);
                           }));
}

void Connection::OnSent(size_t bytes) {
  session_->queue().Consume(bytes);
  session_->OnSent(Clock::now());
}

void Connection::AwaitWritten() {
  if (writing_since_ == TimePoint{}) {
    writing_since_ = Clock::now();
    written_before_ = session_->queue().sent();
    unacknowledged_before_ = stream_.UnacknowledgedBytes();
    CheckBy(WrittenBy());
  }
  is_writing_ = true;
}

void Connection::OnWritable(const Error& error) {
  is_writing_ = false;
  if (state_ == State::kClosed) return;
  if (error) return Close();
  if (state_ != State::kOpen) return;
  has_written_ = true;
  Flush();
  if (!is_writing_) writing_since_ = {};
  Read();
}

// The time by which the client must have received more than it has now. Written bytes can wait in the buffers of this
// machine, so only those count that the client's machine has acknowledged.
TimePoint Connection::WrittenBy() {
  const size_t sent = unacknowledged_before_ + (session_->queue().sent() - written_before_);
  const size_t received = sent - std::min(sent, stream_.UnacknowledgedBytes());
  return writing_since_ + server_->options.limits.answer_time.For(received);
}

void Connection::EndBy(TimePoint until) {
  ends_by_ = std::min(ends_by_, until);
  CheckBy(ends_by_);
}

void Connection::Announce(TimePoint until) {
  if (state_ == State::kClosed) return;
  EndBy(until);
  if (is_ending_.exchange(true) || state_ != State::kOpen) return;
  AnnounceNow();
  Flush();
}

void Connection::AnnounceNow() {
  session_->AnnounceEnd();
  announced_at_ = Clock::now();
  CheckBy(announced_at_ + kAnnounceTime);
}

// Sets the timer to the earliest deadline of a stream. It fires too early if that stream has ended in the meantime:
// streams usually end long before, and setting the timer for each of them would cost more.
void Connection::ArmDeadline() {
  if (state_ != State::kOpen || session_->next_deadline() >= armed_) return;
  armed_ = session_->next_deadline();
  timer_.expires_at(armed_);
  timer_.async_wait(Guarded([](Connection& self, const Error& error) {
    if (error || self.state_ != State::kOpen) return;
    self.armed_ = TimePoint::max();
    self.session_->CheckDeadlines(Clock::now());
    self.Flush();
  }));
}

// Acts on the limits that have passed, and sets the time of the next check.
void Connection::Check(TimePoint now) {
  if (state_ == State::kClosed) return;
  check_at_ = TimePoint::max();
  const Options& options = server_->options;
  if (ends_by_ <= now) return Close();
  CheckBy(ends_by_);
  if (state_ == State::kHandshake || (state_ == State::kOpen && !session_->is_ready())) {
    if (now - began_at_ >= options.handshake_timeout) return Close();
    CheckBy(began_at_ + options.handshake_timeout);
  }
  if (state_ != State::kOpen) return;
  if (writing_since_ != TimePoint{}) {
    if (WrittenBy() <= now) return Close();
    CheckBy(WrittenBy());
  }
  const TimePoint ping_at = received_at_ + options.keepalive_time;
  if (now < ping_at || received_at_ > pinged_at_) pinged_at_ = TimePoint::max();
  if (pinged_at_ != TimePoint::max() && now - pinged_at_ >= options.keepalive_timeout) return Close();
  if (now >= ping_at && pinged_at_ == TimePoint::max()) {
    pinged_at_ = now;
    session_->Ping();
  }
  CheckBy(pinged_at_ != TimePoint::max() ? pinged_at_ + options.keepalive_timeout : ping_at);
  CheckIdle(now);
  if (state_ != State::kOpen) return;
  if (announced_at_ != TimePoint::max()) {
    if (now >= announced_at_ + kAnnounceTime && session_->streams() == 0) session_->End();
    CheckBy(now + kAnnounceTime);
  }
  if (ages_out_at_ <= now) Announce(now + options.connection_age_grace);
  if (ages_out_at_ > now) CheckBy(ages_out_at_);
  Flush();
}

// A request that crosses with the announcement of the end gets as much time as any other.
void Connection::CheckIdle(TimePoint now) {
  const Options& options = server_->options;
  if (options.idle_timeout.count() == 0 || announced_at_ != TimePoint::max()) return;
  const TimePoint idle_since = session_->streams() > 0 ? now : std::max(began_at_, session_->last_stream_ended_at());
  if (now - idle_since >= options.idle_timeout) return Announce(now + options.connection_age_grace);
  CheckBy(idle_since + options.idle_timeout);
}

void Connection::CheckBy(TimePoint time) { check_at_ = std::min(check_at_.load(), time); }

// Ends the connection after its last byte was written.
void Connection::Linger() {
  state_ = State::kLingering;
  session_->Close();
  EndBy(Clock::now() + kLingerTime);
  Error ignored;
  timer_.cancel();
  if (!stream_.encrypted() || !is_reading_) return ShutDown();
  stream_.socket().cancel(ignored);  // TLS can be shut down only when no read is in progress.
}

// Closing a socket with unread bytes resets the connection, and the client could lose the last answers. So input is
// discarded until the client closes.
void Connection::ShutDown() {
  const auto end = [](Connection& self, const Error&) {
    if (self.state_ == State::kClosed) return;
    Error ignored;
    self.stream_.socket().shutdown(http::Stream::Socket::shutdown_send, ignored);
    self.Discard({});
  };
  stream_.encrypted() ? stream_.EndTls(Guarded(end)) : end(*this, {});
}

void Connection::Discard(const Error& error) {
  if (state_ == State::kClosed) return;
  if (error) return Close();
  std::array<char, 4096> discarded;
  ssize_t size = 1;
  for (int reads = 0; reads < kReadsMax && size > 0; ++reads) {
    size = recv(stream_.socket().native_handle(), discarded.data(), discarded.size(), MSG_DONTWAIT);
  }
  if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return Close();
  if (std::exchange(is_reading_, true)) return;  // OnReadable calls this function again.
  stream_.socket().async_wait(http::Stream::Socket::wait_read, Guarded([](Connection& self, const Error& next) {
                                self.is_reading_ = false;
                                self.Discard(next);
                              }));
}

void Connection::Close() {
  if (std::exchange(state_, State::kClosed) == State::kClosed) return;
  const auto self = shared_from_this();
  Error ignored;
  stream_.socket().close(ignored);
  timer_.cancel();
  pause_timer_.cancel();
  if (session_) session_->Close();
  const std::lock_guard lock(server_->mutex);
  server_->connections.erase(self);
  if (server_->connections.empty()) server_->no_connections.notify_all();
}

}  // namespace longshore::http2

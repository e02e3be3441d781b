// One connection of the HTTP server: read a request, hand it over, write the answer, again.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <unordered_set>

#include "common/http/held_bytes.h"
#include "common/http/request_reader.h"
#include "common/http/server.h"
#include "common/http/stream.h"

namespace longshore::http {

class Connection;

// What the connections of a server share.
struct Core {
  using TimePoint = std::chrono::steady_clock::time_point;

  Core(Options server_options, Handler server_handler)
      : options(std::move(server_options)),
        handler(std::move(server_handler)),
        bodies(std::make_shared<BytePool>(options.bodies_bytes_max)) {}

  const Options options;
  const Handler handler;
  const std::shared_ptr<BytePool> bodies;
  std::atomic<bool> stopping = false;
  std::atomic<TimePoint> stops_by = TimePoint::max();  // When transfers end, once stopping.
  TlsContexts tls;
  std::mutex mutex;
  std::condition_variable none_left;
  std::unordered_set<std::shared_ptr<Connection>> connections;  // Keeps them alive while a handler works.
};

// All members run on the strand, except Start, Leave, Cut, LookAtClock and Answer, which may be called from any thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Protocol = Stream::Protocol;
  using TimePoint = Core::TimePoint;

  // Takes the descriptor. The context must outlive every connection, also one that a late responder still holds: hence
  // shared.
  Connection(std::shared_ptr<boost::asio::io_context> context, std::shared_ptr<Core> core, Protocol protocol, int fd);

  void Start();
  void Leave();                     // The server stops: close when idle for stop_grace.
  void Cut();                       // Close now.
  void LookAtClock(TimePoint now);  // Whoever is too late is closed: called again and again by the server.
  // Of the request that was handed to the handler. `held`: the request's share of memory, kept until the answer has
  // been written or the connection is closed.
  void Answer(Response response, HeldBytes held);

 private:
  using Error = boost::system::error_code;
  enum class State {
    kGreeting,  // TLS.
    kIdle,      // Waits for the first byte of a request.
    kReading,
    kHandling,  // The handler has the request.
    kWriting,
    kEnding,  // Nothing is answered any more; reads on until the client closes.
    kClosed,
  };

  template <typename Work>
  auto Guarded(Work work);
  void OnException(int status, const std::string& message);
  void Greet();
  void AwaitRequest();
  void Read();
  void OnRead(const Error& error, size_t bytes);
  void AwaitBody(size_t more_bytes);
  void Advance();
  void OnHead();
  void HandOver();
  void OnEndOfInput(const Error& error);
  void OnLate();
  void Probe();
  void Refuse(Response response);
  void Write(Response response);
  void Send();
  void OnWritten(const Error& error);
  void ReleaseAnswer();
  TimePoint AnswerDeadline();
  void SayGoodbye();
  void Linger();
  void OnReadAway(const Error& error);
  void Arm(std::chrono::milliseconds timeout);
  void Close();
  bool OldEnough() const;
  std::chrono::milliseconds TimeFor(size_t bytes) const;

  const std::shared_ptr<boost::asio::io_context> context_;
  const std::shared_ptr<Core> core_;
  const TimePoint leaves_at_;
  RequestReader reader_;
  boost::beast::flat_buffer buffer_;  // Only read into while it is empty, or while nobody looks at it.
  std::string head_, body_;           // Of the answer that is written.
  HeldBytes held_;                    // Given back when the answer has been written, as is the next.
  std::shared_ptr<const void> until_written_;
  std::stop_source gone_{std::nostopstate};  // Of the request that the handler has.
  std::atomic<TimePoint> deadline_ = TimePoint::max();
  TimePoint answer_began_at_;
  size_t answer_bytes_written_ = 0;  // To the socket.
  TimePoint body_began_at_;
  size_t body_bytes_ = 0;  // That came of it, as sent.
  State state_ = State::kGreeting;
  bool is_read_ = false;      // A read is under way.
  bool input_ended_ = false;  // Nothing comes from the client any more.
  bool probed_ = false;       // Whether it is gone too.
  bool keep_alive_ = false;
  bool takes_gzip_ = false;
  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  Stream stream_;  // Last: it owns the descriptor once it was made.
};

}  // namespace longshore::http

// One connection of the HTTP server. Repeatedly reads a request, passes it to the handler and writes the answer.
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

#include "common/net/http/deflate.h"
#include "common/net/http/held_bytes.h"
#include "common/net/http/open_connection.h"
#include "common/net/http/request_reader.h"
#include "common/net/http/stream.h"
#include "common/net/http/types.h"

namespace longshore::http {

class Connection;

// The state that the connections of a server share.
struct ServerState {
  using TimePoint = std::chrono::steady_clock::time_point;

  ServerState(Options server_options, Handler server_handler)
      : options(std::move(server_options)),
        handler(std::move(server_handler)),
        bodies(std::make_shared<BytePool>(options.bodies_bytes_max)) {}

  const Options options;
  const Handler handler;
  const std::shared_ptr<BytePool> bodies;
  std::atomic<bool> stopping = false;
  std::atomic<TimePoint> stops_by = TimePoint::max();  // While the server stops: the time when transfers are cut off.
  TlsContexts tls;
  std::mutex mutex;
  std::condition_variable no_connections;
  std::unordered_set<std::shared_ptr<Connection>> connections;  // Keeps the connections alive while a handler runs.
};

// The public members are thread-safe. All others must run on the strand.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Protocol = Stream::Protocol;
  using TimePoint = ServerState::TimePoint;

  // Owns the descriptor. The context is shared, because it must outlive every connection, and a responder that is
  // called late may still use a connection.
  Connection(std::shared_ptr<boost::asio::io_context> context, std::shared_ptr<ServerState> server, Protocol protocol,
             int fd);

  void Start();
  void CloseWhenIdle();  // Called when the server stops: closes the connection after it was idle for stop_grace.
  void AskToEnd();       // Closes the connection after its next answer, as at its maximum age.
  void Cut();            // Closes the connection now.
  bool IsPastAgeMax() const;
  double RequestsPerSecond(TimePoint now) const { return requests_.PerSecond(now); }
  // Closes the connection if its deadline has passed. The server calls it periodically.
  void CheckDeadline(TimePoint now);
  // Answers the request that the handler has. `held`: the request's share of memory, released when the answer has been
  // written or the connection is closed.
  void Answer(Response response, HeldBytes held);

 private:
  using Error = boost::system::error_code;
  enum class State {
    kHandshake,  // TLS.
    kIdle,       // Waits for the first byte of a request.
    kReading,
    kHandling,  // The handler has the request.
    kWriting,
    kLingering,  // No further answers; discards input until the client closes.
    kClosed,
  };

  template <typename Work>
  auto Guarded(Work work);
  void OnException(int status, const std::string& message);
  void Begin();
  void AwaitRequest();
  void Read();
  void OnRead(const Error& error, size_t bytes);
  void AwaitBody(size_t more_bytes);
  void Advance();
  void OnHead();
  void CallHandler();
  void OnEndOfInput(const Error& error);
  void OnDeadline();
  void ProbeClient();
  void Refuse(Response response);
  void Write(Response response);
  void Send();
  void OnWritten(const Error& error);
  void ReleaseAnswer();
  TimePoint AnswerDeadline();
  void EndStream();
  void Linger();
  void Discard(const Error& error);
  void Arm(std::chrono::milliseconds timeout);
  void Close();
  std::chrono::milliseconds TransferTimeMax(size_t bytes) const;

  const std::shared_ptr<boost::asio::io_context> context_;
  const std::shared_ptr<ServerState> server_;
  std::atomic<TimePoint> ages_out_at_;
  RequestRate requests_;
  RequestReader reader_;
  boost::beast::flat_buffer buffer_;  // Not parsed while a read of more bytes is in progress.
  std::string head_, body_;           // The answer that is being written.
  HeldBytes held_;                    // Memory of the request; released with until_written_ when the answer is written.
  std::shared_ptr<const void> until_written_;
  std::stop_source gone_{std::nostopstate};  // Tells the handler that the client of its request is gone.
  std::atomic<TimePoint> deadline_ = TimePoint::max();
  TimePoint answer_began_at_;
  size_t answer_bytes_written_ = 0;  // Bytes written to the socket.
  TimePoint body_began_at_;
  size_t body_bytes_ = 0;  // Received bytes of the body, before decompression.
  State state_ = State::kHandshake;
  bool is_reading_ = false;   // Whether a read is in progress.
  bool input_ended_ = false;  // Whether the client has ended its input.
  bool probed_ = false;       // Whether ProbeClient was called.
  bool keep_alive_ = false;
  Compression compression_ = Compression::kNone;
  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  Stream stream_;  // The last member, because it owns the descriptor: nothing after its construction may throw.
};

}  // namespace longshore::http

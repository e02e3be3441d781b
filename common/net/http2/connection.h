// One connection: its socket, plain or TLS, and its session.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "common/net/http/open_connection.h"
#include "common/net/http/stream.h"
#include "common/net/http2/options.h"
#include "common/net/http2/receive_buffer.h"
#include "common/net/http2/session.h"

namespace longshore::http2 {

class Connection;

// What the connections of a server share.
struct ServerState {
  ServerState(Options server_options, MakeStream make_stream)
      : options(std::move(server_options)),
        make(std::move(make_stream)),
        pool(std::make_shared<http::BytePool>(options.bytes_max)),
        buffers(pool, static_cast<size_t>(options.threads) + 1) {}

  const Options options;
  const MakeStream make;
  const std::shared_ptr<http::BytePool> pool;
  ReceiveBuffers buffers;
  http::TlsContexts tls{tls::Protocol::kHttp2};
  std::mutex mutex;
  std::condition_variable no_connections;
  std::unordered_set<std::shared_ptr<Connection>> connections;  // Guarded by the mutex.
};

// The public members are thread-safe. All others must run on the strand.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Protocol = http::Stream::Protocol;

  // Owns the descriptor. The context is shared, because it must outlive every connection, and a stream that is used
  // late may still refer to its connection.
  Connection(std::shared_ptr<boost::asio::io_context> context, std::shared_ptr<ServerState> server, Protocol protocol,
             int fd);

  void Start();
  // Asks the client to open no further streams, when the connection reaches its maximum age, or now if it has none.
  // Closes the connection when the last stream has ended, at the latest at `until`.
  void End(TimePoint until);
  // As End, but asks at a random moment within `spread`, if the connection does not reach its maximum age earlier.
  void EndWithin(milliseconds spread, TimePoint until);
  void Cut();                                    // Closes the connection now.
  bool is_ending() const { return is_ending_; }  // Whether the client was asked.
  double RequestsPerSecond(TimePoint now) const { return requests_.PerSecond(now); }
  // Acts if a time limit of the connection has passed. The server calls it periodically.
  void CheckTime(TimePoint now);

 private:
  using Error = boost::system::error_code;
  enum class State {
    kHandshake,  // TLS.
    kOpen,
    kLingering,  // Sends nothing more; discards input until the client closes.
    kClosed,
  };
  class StrandWaker;

  template <typename Work>
  auto Guarded(Work work);
  void Begin();
  void Open();
  std::shared_ptr<const Peer> MakePeer();
  bool IsFull() const;
  void Read();
  bool TakePauseIfDue();
  void PauseReading();
  void ReportFrom(int bytes);
  void OnReadable(const Error& error);
  void OnTlsRead(const Error& error, size_t bytes);
  bool ReceiveOnce();
  void OnWoken();
  void Flush();
  void FlushLater();
  bool Send();
  bool SendPlain();
  void SendTls();
  void OnSent(size_t bytes);
  void OnWritable(const Error& error);
  void AwaitWritten();
  void EndBy(TimePoint until);
  void Announce(TimePoint until);
  void AnnounceNow();
  void ArmDeadline();
  void Check(TimePoint now);
  void CheckIdle(TimePoint now);
  TimePoint WrittenBy();
  void Linger();
  void ShutDown();
  void Discard(const Error& error);
  void CheckBy(TimePoint time);
  void Close();

  const std::shared_ptr<boost::asio::io_context> context_;
  const std::shared_ptr<ServerState> server_;
  const TimePoint began_at_ = Clock::now();
  TimePoint ages_out_at_;  // When the client is asked.
  http::RequestRate requests_;
  std::unique_ptr<Session> session_;                // Null during the handshake.
  std::shared_ptr<ReceiveBuffer> tls_buffer_ = {};  // While a TLS read is in progress.
  State state_ = State::kHandshake;
  bool is_reading_ = false;  // A read, or a wait for it, is in progress.
  bool is_paused_ = false;   // Nothing is read until pause_timer_ fires.
  size_t turn_bytes_ = 0;    // Read over TLS since a pause was possible.
  bool is_writing_ = false;
  std::atomic<bool> is_ending_ = false;  // The end was announced to the client, or will be when the connection is open.
  bool flushes_later_ = false;
  bool has_written_ = false;  // The socket has accepted bytes since the last read began.
  TimePoint received_at_ = began_at_;
  TimePoint pinged_at_ = TimePoint::max();     // When a ping was sent, if nothing was received since.
  TimePoint ends_by_ = TimePoint::max();       // After End: when the connection is closed; or the end of lingering.
  TimePoint announced_at_ = TimePoint::max();  // When the end was announced to the client.
  TimePoint writing_since_{};                  // The socket accepts no more bytes since this time,
  uint64_t written_before_ = 0;                // had accepted so many by then,
  size_t unacknowledged_before_ = 0;           // of which the client's machine had not acknowledged so many.
  std::atomic<TimePoint> check_at_;            // When Check has to run next.
  TimePoint armed_ = TimePoint::max();         // When the timer fires.
  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  boost::asio::steady_timer timer_;  // For the deadlines of streams, which are more exact than the other limits.
  boost::asio::steady_timer pause_timer_;
  http::Stream stream_;  // The last member, because it owns the descriptor: nothing after its construction may throw.
};

}  // namespace longshore::http2

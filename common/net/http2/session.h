// The protocol of one HTTP/2 connection, without its socket: bytes in, frames out. Only this folder uses nghttp2.
//
// nghttp2 checks the frames and keeps the windows. The session adds the limits that protect a server: of header fields,
// of frames that are cheap for the client, of memory, of time.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/net/http/held_bytes.h"
#include "common/net/http2/notifications.h"
#include "common/net/http2/options.h"
#include "common/net/http2/receive_buffer.h"
#include "common/net/http2/send_queue.h"
#include "common/net/http2/stream.h"
#include "common/net/http2/strikes.h"

namespace longshore::http2 {

// Not thread-safe: all functions run on the strand of the connection. After each of them, the caller calls Fill and
// writes the queue to the socket.
class Session {
 public:
  // `pool`: limits the received bodies of all connections. `limits` must outlive the session.
  Session(const Limits& limits, MakeStream make, std::shared_ptr<const Peer> peer,
          std::shared_ptr<Notifications> notifications, std::shared_ptr<http::BytePool> pool);
  ~Session();  // Requires that Close was called.
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Handles bytes that the client has sent; they lie in `buffer`.
  void Receive(std::string_view bytes, ReceiveBuffer& buffer, TimePoint now);
  // Runs OnNotified of the streams that other threads have notified.
  void RunNotified(TimePoint now);
  // Runs the deadlines that have passed.
  void CheckDeadlines(TimePoint now);
  // The earliest deadline of a stream. Some of the streams may have ended in the meantime.
  TimePoint next_deadline() const { return next_deadline_; }

  // Moves frames to the queue, as long as it is short.
  void Fill(TimePoint now);
  SendQueue& queue() { return queue_; }
  // Must be called after bytes of the queue were consumed.
  void OnSent(TimePoint now);

  // Sends a ping, which the client answers.
  void Ping();
  // Asks the client to open no further streams, in two steps, so that no stream is lost that the client opens meanwhile
  // (RFC 9113, section 6.8). is_over() follows when the last stream has ended.
  void AnnounceEnd();
  // The second step, for a client that does not answer the ping of the first one: streams that it opens from now on are
  // lost. Only the first call has an effect.
  void End() { End(NGHTTP2_NO_ERROR, {}); }
  // Whether the connection should be closed when the queue is empty.
  bool is_over() const;
  bool is_ready() const { return is_ready_; }  // The client has sent its first frame.
  size_t streams() const { return streams_; }  // That are open, or whose answer is still in the queue.
  TimePoint last_stream_ended_at() const { return last_stream_ended_at_; }
  // Frames without a body that wait for Fill. A client can cause them without reading anything.
  size_t waiting_frames() const { return nghttp2_session_get_outbound_queue_size(session_); }

  // Whether a stream has called PauseReading since the last call of this function.
  bool TakePause() { return std::exchange(pauses_, false); }

  // Ends all streams. Requires that no other function of the session is running.
  void Close();

 private:
  friend class Stream;
  friend struct SessionCallbacks;
  class Batch;
  struct Written {
    uint64_t position;  // Where the answer ends, counted from the first byte of the queue.
    std::shared_ptr<Stream> stream;
  };

  Stream* Find(int32_t id) { return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session_, id)); }
  void Configure();
  void End(uint32_t error, std::string_view why);
  void Abort(uint32_t error, std::string_view why = {});
  void SendGoaway(uint32_t error, std::string_view why);
  void Strike();
  void OnReset(int32_t id);
  void Refuse(int32_t id);

  void OnBeginFrame(const nghttp2_frame_hd& head);
  void OnBeginHeaders(const nghttp2_frame& frame);
  bool HoldHead(Stream& stream, size_t bytes);
  void OnHeader(Stream& stream, std::string_view name, std::string_view value);
  void OnFrame(const nghttp2_frame& frame);
  void OnMessageFrame(const nghttp2_frame& frame);
  void OnPing(const nghttp2_frame& frame);
  void OnPingAnswer(const uint8_t* payload);
  void OnData(int32_t id, std::string_view bytes);
  void OnFrameSent(const nghttp2_frame& frame);
  void OnFrameNotSent(const nghttp2_frame& frame, int error);
  void OnStreamClosed(int32_t id);
  void RememberEnded(const Stream& stream);
  void CheckAnswer(Stream& stream);
  ssize_t ReadBody(Stream& stream, size_t room, uint32_t* flags);
  void WriteBody(Stream& stream, std::string_view frame_head, size_t bytes);
  std::shared_ptr<const void> HoldBody(Stream& stream, std::string_view bytes);
  void Link(std::shared_ptr<Stream> stream);
  std::shared_ptr<Stream> Unlink(Stream& stream);
  void ReleaseBody(Stream& stream, size_t bytes);
  void Watch(TimePoint deadline) { next_deadline_ = std::min(next_deadline_, deadline); }

  const Limits& limits_;
  const MakeStream make_;
  const std::shared_ptr<const Peer> peer_;
  const std::shared_ptr<Notifications> notifications_;
  const std::shared_ptr<http::BytePool> pool_;
  nghttp2_session* session_ = nullptr;
  SendQueue queue_;
  ReceiveBuffer* buffer_ = nullptr;  // While Receive runs.
  TimePoint now_{};                  // When the current batch began.
  bool in_batch_ = false;
  bool is_ready_ = false;
  bool is_failed_ = false;   // nghttp2 cannot go on.
  bool is_aborted_ = false;  // GOAWAY with an error was submitted by this class.
  bool is_ended_ = false;    // GOAWAY was submitted after which the client opens no streams.
  bool awaits_end_ = false;  // The client has to answer the first step.
  bool pauses_ = false;
  int pings_out_ = 0;  // Pings that the client has to answer.
  size_t streams_ = 0;
  TimePoint last_stream_ended_at_{};
  Stream* first_ = nullptr;  // The first of the streams that nghttp2 knows.
  std::deque<Written> written_;
  std::vector<std::shared_ptr<Stream>> notified_;
  size_t heads_bytes_ = 0;
  size_t held_bytes_ = 0;  // Received bodies, and answers that were not taken for sending.
  TimePoint next_deadline_ = TimePoint::max();
  Strikes strikes_;
  Strikes refusals_;  // Streams that were refused without a strike.
  PingLimit pings_;
  int32_t newest_id_ = 0;
  int32_t last_allowed_id_ = std::numeric_limits<int32_t>::max();  // In the GOAWAY that was submitted.
  std::array<int32_t, 64> ended_ids_{};  // Streams that the client has ended or reset: the last ones.
  size_t ended_count_ = 0;
  std::deque<int32_t> cut_ids_;  // Streams that the server has ended before their clients: the last ones.
};

}  // namespace longshore::http2

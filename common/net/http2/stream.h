// One request of a client and its answer: a stream of HTTP/2 (RFC 9113). A protocol above HTTP/2 derives its calls from
// this class, so that a call is one object.
//
// All functions run on the strand of the connection, except Notify. Events are called by the session; they may call all
// functions of the section "Answer". An exception that leaves an event closes the connection.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "common/base/pieces.h"
#include "common/net/http/held_bytes.h"
#include "common/net/http2/head.h"
#include "common/net/http2/options.h"

namespace longshore::http2 {

class Notifications;
class Session;
struct SessionCallbacks;

// A header field of an answer.
struct Field {
  std::string_view name;  // In lower case.
  std::string_view value;
  bool is_constant = false;  // Whether both are constants of the program: then they are not copied.
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream() = default;
  virtual ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Thread-safe. Lets OnNotified run on the strand: at once if the caller runs in an event of the connection, otherwise
  // soon. Calls of many streams wake the connection only once. Has no effect after the connection was closed.
  void Notify();

 protected:
  // --- Events. ---
  // The head is complete.
  virtual void OnHead() = 0;
  // Bytes of the body arrived. `owner` keeps them alive; if it is null, they must be copied before the return. The
  // client may send stream_window_bytes more than were consumed; so call Consume for every byte at some time.
  virtual void OnBody(std::string_view bytes, const std::shared_ptr<const void>& owner) = 0;
  // The body is complete.
  virtual void OnEnd() = 0;
  // The bytes that the connection, or all connections, hold are at their limit. Nothing of the body is delivered any
  // more; what was delivered counts until it is released. Without OnHead before, head() has only the first fields.
  virtual void OnOverload() = 0;
  virtual void OnNotified() {}
  virtual void OnDeadline() {}
  // All bytes that SendBody added were taken for sending, or, after EndBody, will be with the next frame. After EndBody
  // the event may call SendTrailers; otherwise the answer ends without trailers.
  virtual void OnBodyTaken() = 0;
  // The last event. Either the last byte of the answer was given to the operating system, or the client has reset the
  // stream, or its connection was closed.
  virtual void OnClosed(bool is_answered) noexcept = 0;

  // --- Request. ---
  const Head& head() const { return head_; }
  // Whether the header fields exceed Limits::header_bytes_max. Then head() has only the first ones.
  bool head_too_large() const { return head_bytes_ > head_bytes_max_; }
  bool request_ended() const { return request_ended_; }
  bool is_open() const { return session_ != nullptr; }  // False from OnClosed on.
  // Lets the client send as many further bytes of the body.
  void Consume(size_t bytes);
  // So many bytes of the received body are not counted as memory any more. Other bytes count until the stream is
  // destroyed.
  void ReleaseBody(size_t bytes);
  // Counts, as memory of the connection, bytes that were made of the body, such as decompressed ones. Replaces the
  // number of the call before. Returns false if the connection then holds more than its limit.
  bool HoldMade(size_t bytes);
  // The memory of all requests of the server. Requires: is_open().
  const std::shared_ptr<http::BytePool>& pool() const;
  // Lets OnDeadline run once at this time; replaces the time that was set before. TimePoint::max(): never.
  void SetDeadline(TimePoint deadline);
  TimePoint now() const;  // When the current event began.

  // --- Answer. ---
  // The header fields of an answer may have about 60 KiB; the stream of a larger one is reset with INTERNAL_ERROR.
  //
  // Sends the header fields of the answer; the first one must be ":status". With `ends`, the answer has no body.
  void SendHead(std::span<const Field> fields, bool ends);
  // Appends to the body: `prefix`, at most kPrefixBytesMax bytes, which are copied, and `body`, which is referred to.
  // Requires that SendHead was called without `ends`.
  void SendBody(std::string_view prefix, const Pieces& body);
  // Ends the body. OnBodyTaken follows, which may send trailers.
  void EndBody();
  // Ends the stream with header fields behind the body. Only in OnBodyTaken, after EndBody.
  void SendTrailers(std::span<const Field> fields);
  // Ends the stream with an error code (RFC 9113, section 7). OnClosed follows.
  void Reset(uint32_t error);
  // Lets the connection wait up to a millisecond before it reads more. For a request that is refused because the server
  // has too much work: waking up for each of them would cost more than refusing it.
  void PauseReading();

  static constexpr size_t kPrefixBytesMax = 8;

 private:
  friend class Session;
  friend struct SessionCallbacks;

  struct Part {
    char prefix[kPrefixBytesMax];
    uint32_t prefix_size;  // 0: the part is a piece.
    Pieces::Piece piece;
    std::string_view bytes() const { return prefix_size > 0 ? std::string_view(prefix, prefix_size) : piece.bytes; }
  };

  // The session of the stream; null before the head began and after OnClosed.
  Session* session_ = nullptr;
  std::shared_ptr<Notifications> notifications_;
  std::shared_ptr<Stream> self_;  // Keeps the stream alive while the session has it.
  Stream* next_ = nullptr;        // The neighbours in the list of the session.
  Stream* previous_ = nullptr;
  int32_t id_ = 0;
  TimePoint began_at_{};  // When the head began.

  Head head_;
  size_t head_bytes_ = 0;
  size_t head_bytes_max_ = 0;
  size_t kept_head_bytes_ = 0;            // Those in head_.
  std::shared_ptr<http::BytePool> pool_;  // Null if nothing was taken from it.
  size_t pool_head_bytes_ = 0;            // Taken from the pool for the head.
  size_t held_bytes_ = 0;                 // Of the body, as counted by the session,
  size_t copied_bytes_ = 0;               // and those of them that were taken from the pool.
  size_t made_bytes_ = 0;                 // The bytes of the last HoldMade.
  TimePoint deadline_ = TimePoint::max();
  bool head_complete_ = false;
  bool request_ended_ = false;
  bool is_overloaded_ = false;

  boost::container::small_vector<Part, 2> parts_;  // The body of the answer.
  size_t first_part_ = 0;
  size_t part_taken_ = 0;    // Bytes of the first part that were taken.
  size_t unsent_bytes_ = 0;  // The bytes of the answer's body that were not taken.
  size_t answer_bytes_ = 0;  // Since answer_began_at_.
  TimePoint answer_began_at_{};
  uint64_t sent_before_ = 0;  // By the connection, before answer_began_at_.
  TimePoint answer_deadline_ = TimePoint::max();
  bool is_answered_ = false;  // The head of the answer was taken for sending.
  bool body_ended_ = false;
  bool has_trailers_ = false;
  bool is_deferred_ = false;   // The session waits for more of the body.
  bool answer_ended_ = false;  // The frame that ends the stream was taken.
  bool is_reset_ = false;      // Reset was called.
};

}  // namespace longshore::http2

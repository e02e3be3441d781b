#include "common/net/http2/session.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "common/os/log.h"

namespace longshore::http2 {
namespace {

constexpr size_t kBatchBytesMax = size_t{256} << 10;  // Frames are made until the queue has so many bytes.
constexpr uint32_t kFrameBytesMax = 1 << 20;          // The largest DATA frame to send, if the client allows it.
// Larger received frames would allow larger headers, too, before their limit is known to be exceeded.
constexpr uint32_t kReceivedFrameBytesMax = 16384;
constexpr size_t kFieldBytes = 32;  // What a header field counts besides its texts (RFC 9113, section 6.5.2).
constexpr size_t kUncountedHeadBytes = size_t{4} << 10;  // A head with fewer bytes is not counted in the pool.
constexpr size_t kDroppedHeadRatio = 4;  // A head with this many times header_bytes_max is not answered, but reset.
constexpr uint8_t kEndPing[] = {'l', 'a', 's', 't', 'p', 'i', 'n', 'g'};

// Whether nghttp2 resets a stream with this code because of an invalid frame. The other codes are those of an
// application, and of streams that are refused (Session::Refuse).
bool IsErrorOfClient(uint32_t code) {
  return code != NGHTTP2_NO_ERROR && code != NGHTTP2_CANCEL && code != NGHTTP2_REFUSED_STREAM &&
         code != NGHTTP2_ENHANCE_YOUR_CALM;
}

}  // namespace

// nghttp2's callbacks. No exception may pass through nghttp2.
struct SessionCallbacks {
  template <typename Work>
  static int Guarded(void* user, const Work& work) noexcept {
    auto& session = *static_cast<Session*>(user);
    try {
      work(session);
      return 0;
    } catch (const std::exception& error) {
      spdlog::error("an HTTP/2 connection failed: {}", error.what());
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }
  static std::string_view Text(const uint8_t* bytes, size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }

  static int OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
    return Guarded(user, [&](Session& session) { session.OnBeginFrame(*head); });
  }
  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return Guarded(user, [&](Session& session) { session.OnBeginHeaders(*frame); });
  }
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* user) {
    bool is_dropped = false;
    const int failed = Guarded(user, [&](Session& session) {
      if (Stream* stream = session.Find(frame->hd.stream_id)) {
        session.OnHeader(*stream, Text(name, name_size), Text(value, value_size));
        is_dropped = stream->head_bytes_ / kDroppedHeadRatio > stream->head_bytes_max_;
      }
    });
    // Resets the stream. nghttp2 then only updates its HPACK table from the rest of the head, which costs little.
    return is_dropped ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : failed;
  }
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return Guarded(user, [&](Session& session) { session.OnFrame(*frame); });
  }
  static int OnData(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size, void* user) {
    return Guarded(user, [&](Session& session) { session.OnData(id, Text(bytes, size)); });
  }
  static int OnStreamClosed(nghttp2_session*, int32_t id, uint32_t, void* user) {
    return Guarded(user, [&](Session& session) { session.OnStreamClosed(id); });
  }
  static int OnFrameSent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    return Guarded(user, [&](Session& session) { session.OnFrameSent(*frame); });
  }
  static int OnFrameNotSent(nghttp2_session*, const nghttp2_frame* frame, int error, void* user) {
    return Guarded(user, [&](Session& session) { session.OnFrameNotSent(*frame, error); });
  }
  static int SendData(nghttp2_session*, nghttp2_frame*, const uint8_t* head, size_t bytes, nghttp2_data_source* source,
                      void* user) {
    constexpr size_t kFrameHeadBytes = 9;
    return Guarded(user, [&](Session& session) {
      session.WriteBody(*static_cast<Stream*>(source->ptr), Text(head, kFrameHeadBytes), bytes);
    });
  }
  static ssize_t DataLength(nghttp2_session*, uint8_t, int32_t, int32_t connection_window, int32_t stream_window,
                            uint32_t frame_bytes_max, void*) {
    const auto window = static_cast<uint32_t>(std::max(1, std::min(connection_window, stream_window)));
    return std::min({window, frame_bytes_max, kFrameBytesMax});
  }

  static const nghttp2_session_callbacks* All() {
    static const nghttp2_session_callbacks* const all = [] {
      nghttp2_session_callbacks* made = nullptr;
      if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
      nghttp2_session_callbacks_set_on_begin_frame_callback(made, OnBeginFrame);
      nghttp2_session_callbacks_set_on_begin_headers_callback(made, OnBeginHeaders);
      nghttp2_session_callbacks_set_on_header_callback(made, OnHeader);
      nghttp2_session_callbacks_set_on_frame_recv_callback(made, OnFrame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, OnData);
      nghttp2_session_callbacks_set_on_stream_close_callback(made, OnStreamClosed);
      nghttp2_session_callbacks_set_on_frame_send_callback(made, OnFrameSent);
      nghttp2_session_callbacks_set_on_frame_not_send_callback(made, OnFrameNotSent);
      nghttp2_session_callbacks_set_send_data_callback(made, SendData);
      nghttp2_session_callbacks_set_data_source_read_length_callback(made, DataLength);
      return made;
    }();
    return all;
  }

  static const nghttp2_option* SessionOptions() {
    static const nghttp2_option* const options = [] {
      nghttp2_option* made = nullptr;
      if (nghttp2_option_new(&made) != 0) throw std::bad_alloc();
      nghttp2_option_set_no_auto_window_update(made, 1);
      // nghttp2_option_set_no_closed_streams is not set, although nghttp2 keeps up to streams_max ended streams of 260
      // bytes each: without them it would ignore DATA frames of ended streams, and not tell Session::OnBeginFrame.

      // Clients of gRPC send the metadata that a program gives them, and gRPC C++ accepts them.
      nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(made, 1);
      nghttp2_option_set_stream_reset_rate_limit(made, 1u << 30, 1u << 30);  // Session::Strike limits resets.
      return made;
    }();
    return options;
  }
};

// While a batch runs, streams may be notified directly, because the caller fills the queue afterwards.
class Session::Batch {
 public:
  Batch(Session& session, TimePoint now) : session_(session) {
    session_.now_ = now;
    session_.in_batch_ = true;
  }
  ~Batch() { session_.in_batch_ = false; }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

 private:
  Session& session_;
};

Session::Session(const Limits& limits, MakeStream make, std::shared_ptr<const Peer> peer,
                 std::shared_ptr<Notifications> notifications, std::shared_ptr<http::BytePool> pool)
    : limits_(limits),
      make_(std::move(make)),
      peer_(std::move(peer)),
      notifications_(std::move(notifications)),
      pool_(std::move(pool)),
      strikes_(limits.strikes_max, limits.strikes_per_second),
      refusals_(limits.strikes_max, limits.strikes_max),
      pings_(limits.ping_interval_min) {
  if (nghttp2_session_server_new2(&session_, SessionCallbacks::All(), this, SessionCallbacks::SessionOptions()) != 0) {
    throw std::bad_alloc();
  }
  Configure();
}

Session::~Session() { CHECK(session_ == nullptr); }

void Session::Configure() {
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams_max},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.stream_window_bytes},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kReceivedFrameBytesMax},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(limits_.header_bytes_max)}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, limits_.connection_window_bytes);
}

void Session::Receive(std::string_view bytes, ReceiveBuffer& buffer, TimePoint now) {
  if (is_failed_ || is_aborted_) return;
  const Batch batch(*this, now);
  buffer_ = &buffer;
  const ssize_t taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  buffer_ = nullptr;
  if (taken < 0) is_failed_ = true;
}

void Session::RunNotified(TimePoint now) {
  const Batch batch(*this, now);
  notifications_->Take(notified_);
  for (const auto& stream : notified_) {
    if (stream->session_ != nullptr) stream->OnNotified();
  }
  notified_.clear();
}

void Session::CheckDeadlines(TimePoint now) {
  const Batch batch(*this, now);
  next_deadline_ = TimePoint::max();
  for (Stream* stream = first_; stream != nullptr; stream = stream->next_) {
    if (stream->answer_deadline_ <= now) CheckAnswer(*stream);
    if (stream->deadline_ <= now) {
      stream->deadline_ = TimePoint::max();
      stream->OnDeadline();
    }
    Watch(std::min(stream->deadline_, stream->answer_deadline_));
  }
}

// An answer was not sent within its time. Resets the stream if its client is the cause: if it lets no more be sent, and
// reads what the connection has sent more slowly than the minimum. Otherwise the answer waits for other streams, or for
// the socket, which has a limit of its own.
void Session::CheckAnswer(Stream& stream) {
  const bool is_stopped = nghttp2_session_get_stream_remote_window_size(session_, stream.id_) <= 0 ||
                          nghttp2_session_get_remote_window_size(session_) <= 0;
  const TimePoint slowest =
      stream.answer_began_at_ + limits_.answer_time.For(static_cast<size_t>(queue_.sent() - stream.sent_before_));
  if (!is_stopped || slowest > now_) {
    stream.answer_deadline_ = std::max(slowest, now_ + limits_.answer_time.grace);
    return;
  }
  stream.answer_deadline_ = TimePoint::max();
  stream.Reset(NGHTTP2_CANCEL);
}

void Session::Fill(TimePoint now) {
  const Batch batch(*this, now);
  while (!is_failed_ && queue_.size() < kBatchBytesMax) {
    const uint8_t* bytes = nullptr;
    const size_t written = written_.size();
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) is_failed_ = true;
    if (size <= 0) return;
    queue_.Copy(SessionCallbacks::Text(bytes, static_cast<size_t>(size)));
    // nghttp2 closes a stream before it returns the frame that ends it.
    for (size_t i = written; i < written_.size(); ++i) written_[i].position = queue_.queued();
  }
}

void Session::OnSent(TimePoint now) {
  const Batch batch(*this, now);
  while (!written_.empty() && written_.front().position <= queue_.sent()) {
    const std::shared_ptr<Stream> stream = std::move(written_.front().stream);
    written_.pop_front();
    --streams_;
    last_stream_ended_at_ = now_;
    stream->OnClosed(true);
  }
}

void Session::Ping() {
  ++pings_out_;
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
}

void Session::AnnounceEnd() {
  awaits_end_ = true;
  nghttp2_submit_shutdown_notice(session_);
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, kEndPing);
}

void Session::End(uint32_t error, std::string_view why) {
  if (std::exchange(is_ended_, true)) return;
  SendGoaway(error, why);
}

bool Session::is_over() const {
  return is_failed_ || is_aborted_ ||
         (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

void Session::Close() {
  if (session_ == nullptr) return;
  notifications_->Close();
  nghttp2_session_del(std::exchange(session_, nullptr));  // Runs no callbacks.
  while (first_ != nullptr) Unlink(*first_)->OnClosed(false);
  for (const Written& answer : std::exchange(written_, {})) answer.stream->OnClosed(false);
  streams_ = 0;  // The queue keeps its bytes: TLS may still be writing them.
}

void Session::Abort(uint32_t error, std::string_view why) {
  if (std::exchange(is_aborted_, true)) return;
  SendGoaway(error, why);
}

void Session::SendGoaway(uint32_t error, std::string_view why) {
  if (error != NGHTTP2_NO_ERROR) {
    spdlog::warn("the HTTP/2 connection of {} ends: {} {}", peer_->address, nghttp2_http2_strerror(error), why);
  }
  // A later GOAWAY must not allow more streams (RFC 9113, section 6.8).
  last_allowed_id_ = std::min(last_allowed_id_, nghttp2_session_get_last_proc_stream_id(session_));
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last_allowed_id_, error,
                        reinterpret_cast<const uint8_t*>(why.data()), why.size());
}

// In two steps, so that a client that is only unlucky loses no running stream.
void Session::Strike() {
  constexpr std::string_view kWhy = "too many resets, pings, settings or empty frames";
  switch (strikes_.Add(now_)) {
    case Strikes::Verdict::kNone: return;
    case Strikes::Verdict::kEnd: return End(NGHTTP2_ENHANCE_YOUR_CALM, kWhy);
    case Strikes::Verdict::kAbort: return Abort(NGHTTP2_ENHANCE_YOUR_CALM, kWhy);
  }
}

// The client has reset a stream.
void Session::OnReset(int32_t id) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;
  stream->request_ended_ = true;
  if (IsStrike({.began_at = stream->began_at_, .deadline = stream->deadline_, .is_answered = stream->is_answered_},
               now_)) {
    Strike();
  }
}

// Refusing is cheap and often not the client's fault, so it is a strike only if it is frequent: above strikes_max at
// once, and as many per second. A client that retries at a higher rate ignores the refusals.
void Session::Refuse(int32_t id) {
  if (refusals_.Add(now_) != Strikes::Verdict::kNone) Strike();
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
}

// nghttp2 ignores frames of streams that have ended. This ends the connection if the client knew that.
void Session::OnBeginFrame(const nghttp2_frame_hd& head) {
  if (head.type != NGHTTP2_HEADERS && head.type != NGHTTP2_DATA) return;
  if (head.stream_id > newest_id_) {
    if (head.type != NGHTTP2_HEADERS) return;
    newest_id_ = head.stream_id;
    return is_ended_ ? Strike() : void();  // nghttp2 decodes and ignores it.
  }
  if (Find(head.stream_id) != nullptr) return;
  if (std::find(ended_ids_.begin(), ended_ids_.end(), head.stream_id) != ended_ids_.end()) {
    Abort(NGHTTP2_STREAM_CLOSED);
  } else if (head.type == NGHTTP2_HEADERS &&
             std::find(cut_ids_.begin(), cut_ids_.end(), head.stream_id) == cut_ids_.end()) {
    Abort(NGHTTP2_PROTOCOL_ERROR);  // They are not trailers that were on their way.
  }
}

void Session::OnBeginHeaders(const nghttp2_frame& frame) {
  if (frame.hd.type != NGHTTP2_HEADERS || frame.headers.cat != NGHTTP2_HCAT_REQUEST || is_aborted_) return;
  // A stream that was reset may still be used by its handler. A client could open streams again and again meanwhile.
  if (notifications_->streams_alive >= 2 * limits_.streams_max) {
    return Refuse(frame.hd.stream_id);
  }
  std::shared_ptr<Stream> stream = make_(peer_);
  stream->id_ = frame.hd.stream_id;
  Link(std::move(stream));
}

void Session::Link(std::shared_ptr<Stream> stream) {
  stream->session_ = this;
  stream->began_at_ = now_;
  stream->notifications_ = notifications_;
  stream->head_bytes_max_ = limits_.header_bytes_max;
  ++notifications_->streams_alive;
  ++streams_;
  stream->next_ = first_;
  if (first_ != nullptr) first_->previous_ = stream.get();
  first_ = stream.get();
  nghttp2_session_set_stream_user_data(session_, stream->id_, stream.get());
  Stream& linked = *stream;
  linked.self_ = std::move(stream);
}

std::shared_ptr<Stream> Session::Unlink(Stream& stream) {
  (stream.previous_ != nullptr ? stream.previous_->next_ : first_) = stream.next_;
  if (stream.next_ != nullptr) stream.next_->previous_ = stream.previous_;
  stream.next_ = stream.previous_ = nullptr;
  // The handler may still use the body, so what was taken from the pool is returned when the stream is destroyed.
  held_bytes_ -= stream.held_bytes_ + stream.made_bytes_ + stream.unsent_bytes_;
  stream.held_bytes_ = 0;
  heads_bytes_ -= stream.kept_head_bytes_;
  stream.parts_.clear();
  stream.session_ = nullptr;
  return std::move(stream.self_);
}

void Session::OnHeader(Stream& stream, std::string_view name, std::string_view value) {
  if (stream.head_complete_) return;  // A trailer of the client.
  constexpr size_t kUsualHeadBytes = 512;
  if (stream.head_bytes_ == 0) stream.head_.Reserve(kUsualHeadBytes);
  const size_t bytes = name.size() + value.size() + kFieldBytes;
  stream.head_bytes_ += bytes;
  if (stream.head_too_large() || stream.is_overloaded_) return;
  stream.is_overloaded_ = !HoldHead(stream, bytes);
  if (!stream.is_overloaded_) stream.head_.Add(name, value);
}

// Counts a field of a head. A usual head does not touch the pool, which all threads share; heads_bytes_max limits
// those.
bool Session::HoldHead(Stream& stream, size_t bytes) {
  if (heads_bytes_ + bytes > limits_.heads_bytes_max) return false;
  const size_t kept = stream.kept_head_bytes_ + bytes;
  if (kept > kUncountedHeadBytes) {
    if (!pool_->Take(kept - stream.pool_head_bytes_)) return false;
    stream.pool_ = pool_;
    stream.pool_head_bytes_ = kept;
  }
  stream.kept_head_bytes_ = kept;
  heads_bytes_ += bytes;
  return true;
}

void Session::OnFrame(const nghttp2_frame& frame) {
  is_ready_ = true;
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA: return OnMessageFrame(frame);
    case NGHTTP2_PING: return OnPing(frame);
    case NGHTTP2_RST_STREAM: return OnReset(frame.hd.stream_id);
    case NGHTTP2_SETTINGS:
    case NGHTTP2_PRIORITY: return Strike();
    default: return;
  }
}

void Session::OnPing(const nghttp2_frame& frame) {
  const bool is_answer = (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0;
  if (is_answer) return OnPingAnswer(frame.ping.opaque_data);
  Strike();
  if (!pings_.Add(now_)) Abort(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings");  // gRPC's clients know this text.
}

// An answer to a ping that was not sent is a strike.
void Session::OnPingAnswer(const uint8_t* payload) {
  if (std::equal(std::begin(kEndPing), std::end(kEndPing), payload)) {
    std::exchange(awaits_end_, false) ? End() : Strike();
  } else if (pings_out_ > 0) {
    --pings_out_;
  } else {
    Strike();
  }
}

void Session::OnMessageFrame(const nghttp2_frame& frame) {
  Stream* stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return;
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (frame.hd.type == NGHTTP2_DATA && frame.hd.length == 0 && !ends) Strike();
  if (ends) stream->request_ended_ = true;
  if (!std::exchange(stream->head_complete_, true)) {
    stream->is_overloaded_ = stream->is_overloaded_ || held_bytes_ > limits_.bytes_max;
    stream->is_overloaded_ ? stream->OnOverload() : stream->OnHead();
  }
  if (ends && !stream->is_overloaded_) stream->OnEnd();
}

// Counts received bytes. Returns their owner, or null if they must be copied. Sets is_overloaded_ if a limit is
// reached.
std::shared_ptr<const void> Session::HoldBody(Stream& stream, std::string_view bytes) {
  stream.is_overloaded_ = held_bytes_ + bytes.size() > limits_.bytes_max;
  if (stream.is_overloaded_) return nullptr;
  std::shared_ptr<const void> owner;
  if (bytes.size() >= ReceiveBuffer::kReferredBytesMin) owner = buffer_->Pin();
  if (owner == nullptr) {
    stream.is_overloaded_ = !pool_->Take(bytes.size());
    if (stream.is_overloaded_) return nullptr;
    if (!stream.pool_) stream.pool_ = pool_;
    stream.copied_bytes_ += bytes.size();
  }
  stream.held_bytes_ += bytes.size();
  held_bytes_ += bytes.size();
  return owner;
}

void Session::ReleaseBody(Stream& stream, size_t bytes) {
  const size_t held = std::min(bytes, stream.held_bytes_);
  const size_t copied = std::min(bytes, stream.copied_bytes_);
  stream.held_bytes_ -= held;
  stream.copied_bytes_ -= copied;
  held_bytes_ -= held;
  if (copied > 0) pool_->Return(copied);
}

void Session::OnData(int32_t id, std::string_view bytes) {
  nghttp2_session_consume_connection(session_, bytes.size());
  Stream* stream = Find(id);
  if (stream == nullptr || stream->is_overloaded_) {
    nghttp2_session_consume_stream(session_, id, bytes.size());
    return;
  }
  const std::shared_ptr<const void> owner = HoldBody(*stream, bytes);
  if (!stream->is_overloaded_) return stream->OnBody(bytes, owner);
  stream->Consume(bytes.size());
  stream->OnOverload();
}

// nghttp2 drops header fields that it cannot send, for example more than 64 KiB. The stream is reset then, because the
// client would wait forever for an answer.
void Session::OnFrameNotSent(const nghttp2_frame& frame, int error) {
  Stream* stream = frame.hd.type == NGHTTP2_HEADERS ? Find(frame.hd.stream_id) : nullptr;
  if (stream == nullptr) return;
  if (error == NGHTTP2_ERR_STREAM_CLOSING) return;  // nghttp2 resets the stream already, because of the client.
  if (error == NGHTTP2_ERR_FRAME_SIZE_ERROR) {
    spdlog::error("the header fields of an answer to {} are too large",
                  ForLog(stream->head_.Find(":path").value_or("")));
  }
  stream->Reset(NGHTTP2_INTERNAL_ERROR);
}

void Session::OnFrameSent(const nghttp2_frame& frame) {
  Stream* stream = Find(frame.hd.stream_id);
  const bool is_reset_by_server = stream != nullptr && stream->is_reset_;
  if (frame.hd.type == NGHTTP2_RST_STREAM && IsErrorOfClient(frame.rst_stream.error_code) && !is_reset_by_server) {
    return Strike();
  }
  if (frame.hd.type == NGHTTP2_WINDOW_UPDATE) pings_.OnAnswer();
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  pings_.OnAnswer();
  if (stream == nullptr) return;
  stream->is_answered_ = true;
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  stream->answer_ended_ = true;
  strikes_.OnAnswer();
  // The rest of the request is not needed.
  if (!stream->request_ended_) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, frame.hd.stream_id, NGHTTP2_NO_ERROR);
  }
}

void Session::RememberEnded(const Stream& stream) {
  if (stream.request_ended_) {
    ended_ids_[ended_count_++ % ended_ids_.size()] = stream.id_;
    return;
  }
  cut_ids_.push_back(stream.id_);
  if (cut_ids_.size() > limits_.streams_max) cut_ids_.pop_front();
}

void Session::OnStreamClosed(int32_t id) {
  Stream* stream = Find(id);
  if (stream == nullptr) return;
  nghttp2_session_set_stream_user_data(session_, id, nullptr);
  RememberEnded(*stream);
  std::shared_ptr<Stream> ended = Unlink(*stream);
  if (ended->answer_ended_) {
    written_.push_back({queue_.queued(), std::move(ended)});
    return;
  }
  --streams_;
  last_stream_ended_at_ = now_;
  ended->OnClosed(false);
}

ssize_t Session::ReadBody(Stream& stream, size_t room, uint32_t* flags) {
  if (stream.unsent_bytes_ == 0 && !stream.body_ended_) {
    stream.is_deferred_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (stream.unsent_bytes_ > room) return static_cast<ssize_t>(room);
  if (stream.body_ended_) {
    const int failed = SessionCallbacks::Guarded(this, [&](Session&) { stream.OnBodyTaken(); });
    if (failed != 0) return failed;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (stream.has_trailers_) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
  }
  return static_cast<ssize_t>(stream.unsent_bytes_);
}

void Session::WriteBody(Stream& stream, std::string_view frame_head, size_t bytes) {
  queue_.Copy(frame_head);
  stream.unsent_bytes_ -= bytes;
  held_bytes_ -= bytes;
  while (bytes > 0) {
    Stream::Part& part = stream.parts_[stream.first_part_];
    const std::string_view taken = part.bytes().substr(stream.part_taken_, bytes);
    queue_.Refer(taken, part.piece.owner);
    bytes -= taken.size();
    stream.part_taken_ += taken.size();
    if (stream.part_taken_ < part.bytes().size()) continue;
    part.piece.owner.reset();
    ++stream.first_part_;
    stream.part_taken_ = 0;
  }
  if (stream.unsent_bytes_ > 0) return;
  stream.answer_deadline_ = TimePoint::max();
  if (!stream.body_ended_) stream.OnBodyTaken();
}

}  // namespace longshore::http2

// The functions of Stream: they change the session of the stream.
#include <array>
#include <cstring>

#include "common/net/http2/session.h"
#include "common/net/http2/stream.h"

namespace longshore::http2 {
namespace {

constexpr size_t kFieldsMax = 64;

// nghttp2's view of the fields.
class Fields {
 public:
  explicit Fields(std::span<const Field> fields) {
    CHECK(fields.size() <= kFieldsMax);
    for (const Field& field : fields) {
      const int flags =
          field.is_constant ? NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE : NGHTTP2_NV_FLAG_NONE;
      all_[count_++] = {Bytes(field.name), Bytes(field.value), field.name.size(), field.value.size(),
                        static_cast<uint8_t>(flags)};
    }
  }
  const nghttp2_nv* data() const { return all_.data(); }
  size_t size() const { return count_; }

 private:
  static uint8_t* Bytes(std::string_view text) { return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data())); }

  std::array<nghttp2_nv, kFieldsMax> all_;
  size_t count_ = 0;
};

}  // namespace

Stream::~Stream() {
  if (notifications_) --notifications_->streams_alive;
  if (pool_) pool_->Return(pool_head_bytes_ + copied_bytes_);
}

void Stream::Notify() {
  if (notifications_->IsOnStrand()) {
    if (session_ == nullptr) return;
    if (session_->in_batch_) return OnNotified();
  }
  notifications_->Add(shared_from_this());
}

void Stream::Consume(size_t bytes) {
  if (session_ != nullptr) nghttp2_session_consume_stream(session_->session_, id_, bytes);
}

void Stream::ReleaseBody(size_t bytes) {
  if (session_ != nullptr) session_->ReleaseBody(*this, bytes);
}

bool Stream::HoldMade(size_t bytes) {
  if (session_ == nullptr) return true;
  session_->held_bytes_ += bytes - made_bytes_;
  made_bytes_ = bytes;
  return session_->held_bytes_ <= session_->limits_.bytes_max;
}

const std::shared_ptr<http::BytePool>& Stream::pool() const { return session_->pool_; }

void Stream::SetDeadline(TimePoint deadline) {
  deadline_ = deadline;
  if (session_ != nullptr) session_->Watch(deadline);
}

TimePoint Stream::now() const { return session_ != nullptr ? session_->now_ : Clock::now(); }

void Stream::SendHead(std::span<const Field> fields, bool ends) {
  if (session_ == nullptr) return;
  const Fields all(fields);
  nghttp2_data_provider provider{};
  provider.source.ptr = this;
  provider.read_callback = [](nghttp2_session*, int32_t, uint8_t*, size_t room, uint32_t* flags,
                              nghttp2_data_source* source, void* session) {
    return static_cast<Session*>(session)->ReadBody(*static_cast<Stream*>(source->ptr), room, flags);
  };
  nghttp2_submit_response(session_->session_, id_, all.data(), all.size(), ends ? nullptr : &provider);
}

void Stream::SendBody(std::string_view prefix, const Pieces& body) {
  if (session_ == nullptr) return;
  CHECK(prefix.size() <= kPrefixBytesMax);
  if (unsent_bytes_ == 0) {
    parts_.clear();
    first_part_ = answer_bytes_ = 0;
    answer_began_at_ = session_->now_;
    sent_before_ = session_->queue_.sent();
  }
  const size_t bytes = prefix.size() + body.size();
  if (!prefix.empty()) {
    Part& part = parts_.emplace_back();
    part.prefix_size = static_cast<uint32_t>(prefix.size());
    std::memcpy(part.prefix, prefix.data(), prefix.size());
  }
  for (const Pieces::Piece& piece : body.all()) parts_.push_back({.prefix = {}, .prefix_size = 0, .piece = piece});
  unsent_bytes_ += bytes;
  answer_bytes_ += bytes;
  session_->held_bytes_ += bytes;
  answer_deadline_ = answer_began_at_ + session_->limits_.answer_time.For(answer_bytes_);
  session_->Watch(answer_deadline_);
  if (std::exchange(is_deferred_, false)) nghttp2_session_resume_data(session_->session_, id_);
}

void Stream::EndBody() {
  if (session_ == nullptr) return;
  body_ended_ = true;
  if (std::exchange(is_deferred_, false)) nghttp2_session_resume_data(session_->session_, id_);
}

void Stream::SendTrailers(std::span<const Field> fields) {
  if (session_ == nullptr) return;
  const Fields all(fields);
  has_trailers_ = true;
  nghttp2_submit_trailer(session_->session_, id_, all.data(), all.size());
}

void Stream::PauseReading() {
  if (session_ != nullptr) session_->pauses_ = true;
}

void Stream::Reset(uint32_t error) {
  if (session_ == nullptr) return;
  is_reset_ = true;
  nghttp2_submit_rst_stream(session_->session_, NGHTTP2_FLAG_NONE, id_, error);
}

}  // namespace longshore::http2

// Helpers for tests: a session without a socket, and a client that speaks HTTP/2 with it through memory.
#pragma once

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/net/http2/session.h"

namespace longshore::http2 {

// A strand that is always the caller's.
class TestWaker final : public Waker {
 public:
  bool IsOnStrand() const override { return is_on_strand; }
  void Wake() override { ++wakes; }
  bool is_on_strand = true;
  int wakes = 0;
};

// What a client has received on a stream.
struct Received {
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  bool has_ended = false;
  int reset = -1;  // The error code.
};

// A client whose frames nghttp2 makes; Raw adds any bytes.
class TestClient {
 public:
  explicit TestClient(uint32_t window_bytes = 65535) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
    nghttp2_option* options = nullptr;
    nghttp2_option_new(&options);
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_session_client_new2(&session_, callbacks, this, options);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window_bytes}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
  }
  ~TestClient() { nghttp2_session_del(session_); }
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  using Fields = std::vector<std::pair<std::string, std::string>>;
  // Opens a stream and sends this body. With `ends`, the body is then complete. Returns the number of the stream.
  int32_t Request(const std::string& path, std::string body, const Fields& more = {}, bool ends = true) {
    Fields all = {{":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "h"}};
    all.insert(all.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> fields;
    for (auto& [name, value] : all) {
      fields.push_back({reinterpret_cast<uint8_t*>(name.data()), reinterpret_cast<uint8_t*>(value.data()), name.size(),
                        value.size(), NGHTTP2_NV_FLAG_NONE});
    }
    bodies_.push_back({std::move(body), ends});
    nghttp2_data_provider provider{.source = {.ptr = &bodies_.back()}, .read_callback = ReadBody};
    return nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), &provider, nullptr);
  }
  void Reset(int32_t id) { nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL); }
  void Consume(int32_t id, size_t bytes) { nghttp2_session_consume(session_, id, bytes); }
  void Raw(std::string_view bytes) { raw_ += bytes; }

  std::string TakeSent() {
    std::string sent;
    const uint8_t* bytes = nullptr;
    for (ssize_t size = 0; (size = nghttp2_session_mem_send(session_, &bytes)) > 0;) {
      sent.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    return sent + std::exchange(raw_, {});
  }
  void Receive(std::string_view bytes) {
    nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }

  std::string method = "POST";  // The method of the next requests.
  std::map<int32_t, Received> streams;
  std::vector<uint32_t> goaways;  // The error codes.

 private:
  struct Body {
    std::string text;
    bool ends;
  };
  static TestClient& Of(void* user) { return *static_cast<TestClient*>(user); }
  static std::string Text(const uint8_t* bytes, size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* user) {
    Of(user).streams[frame->hd.stream_id].fields.emplace_back(Text(name, name_size), Text(value, value_size));
    return 0;
  }
  static int OnData(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size, void* user) {
    Of(user).streams[id].body += Text(bytes, size);
    return 0;
  }
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) Of(user).goaways.push_back(frame->goaway.error_code);
    if (frame->hd.type == NGHTTP2_RST_STREAM) {
      Of(user).streams[frame->hd.stream_id].reset = static_cast<int>(frame->rst_stream.error_code);
    }
    const bool is_message = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (is_message && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      Of(user).streams[frame->hd.stream_id].has_ended = true;
    }
    return 0;
  }
  static ssize_t ReadBody(nghttp2_session*, int32_t, uint8_t* room, size_t size, uint32_t* flags,
                          nghttp2_data_source* source, void*) {
    auto& [text, ends] = *static_cast<Body*>(source->ptr);
    if (text.empty() && !ends) return NGHTTP2_ERR_DEFERRED;
    const size_t taken = text.copy(reinterpret_cast<char*>(room), size);
    text.erase(0, taken);
    if (text.empty() && ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(taken);
  }

  nghttp2_session* session_ = nullptr;
  std::deque<Body> bodies_;
  std::string raw_;
};

// A session, and the client at its other end.
class TestConnection {
 public:
  TestConnection(const Limits& limits, MakeStream make, size_t pool_bytes = size_t{1} << 30)
      : pool(std::make_shared<http::BytePool>(pool_bytes)),
        session(limits, std::move(make), std::make_shared<Peer>(), std::make_shared<Notifications>(waker), pool) {}
  ~TestConnection() { session.Close(); }

  // Exchanges bytes until both sides are quiet.
  void Run() {
    for (bool is_busy = true; is_busy;) {
      is_busy = ToServer(client.TakeSent());
      is_busy = ToClient() || is_busy;
    }
  }
  bool ToServer(std::string_view bytes) {
    const bool has_bytes = !bytes.empty();
    while (!bytes.empty()) {
      const auto buffer = std::make_shared<ReceiveBuffer>(pool);
      const size_t size = std::min(bytes.size(), buffer->room().size());
      bytes.copy(buffer->room().data(), size);
      session.Receive({buffer->room().data(), size}, *buffer, now);
      bytes.remove_prefix(size);
    }
    return has_bytes;
  }
  bool ToClient() {
    std::string sent;
    for (session.Fill(now); !session.queue().empty(); session.Fill(now)) {
      iovec part;
      session.queue().Peek({&part, 1});
      sent.append(static_cast<const char*>(part.iov_base), part.iov_len);
      session.queue().Consume(part.iov_len);
      session.OnSent(now);
    }
    client.Receive(sent);
    return !sent.empty();
  }

  TimePoint now = TimePoint(std::chrono::hours(1));
  TestClient client;
  std::shared_ptr<TestWaker> waker = std::make_shared<TestWaker>();
  std::shared_ptr<http::BytePool> pool;
  Session session;
};

}  // namespace longshore::http2

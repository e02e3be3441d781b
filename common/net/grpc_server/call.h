// One call of a gRPC method.
//
//   service.Add("/test.Echo/Say", {.handler = [](const std::shared_ptr<Call>& call) {
//     call->Finish({}, call->TakeRequest());
//   }});
//
// All public functions are thread-safe, unless they say otherwise. A call may be kept and used after it has ended; an
// answer then has no effect.
#pragma once

#include <atomic>
#include <boost/container/small_vector.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/base64.h"
#include "common/base/error.h"
#include "common/base/pieces.h"
#include "common/net/grpc_server/message_reader.h"
#include "common/net/grpc_server/service.h"
#include "common/net/grpc_server/wire.h"
#include "common/net/http2/stream.h"

namespace longshore::grpc_server {

class Call final : public http2::Stream {
 public:
  using TimePoint = http2::TimePoint;

  Call(std::shared_ptr<const Service> service, std::shared_ptr<const http2::Peer> peer);
  ~Call() override;

  // --- Request. ---
  std::string_view path() const { return path_; }
  const http2::Peer& peer() const { return *peer_; }
  TimePoint began_at() const { return began_at_; }  // When the head arrived.
  TimePoint deadline() const { return deadline_; }  // TimePoint::max(): none. Then the call ends by itself.
  // Returns the first value of the metadata; nullopt if it was not sent. If the name ends with "-bin", the value is
  // decoded; nullopt if it is not valid Base64.
  std::optional<std::string> Metadata(std::string_view name) const;
  // Calls use(name, value) for each metadata that a client has sent. Binary values are decoded; those that are not
  // valid Base64 are left out, and so are header fields that belong to HTTP/2 or gRPC.
  template <typename Use>
  void ForEachMetadata(const Use& use) const {
    head().ForEach([&](std::string_view name, std::string_view value) {
      if (IsReserved(name)) return;
      if (!IsBinary(name)) return use(name, value);
      if (const auto bytes = FromBase64(value)) use(name, std::string_view(*bytes));
    });
  }
  // Returns the message of a unary call. Only in the handler, once.
  Pieces TakeRequest() { return std::exchange(request_, {}); }
  // A stop is requested when the client has reset the call, when its connection was closed, or when the deadline has
  // passed, unless the whole answer was sent before. The first call of this function must be in the handler.
  std::stop_token cancelled();

  // --- Answer. ---
  // Adds a header field of the answer. The name is in lower case; if it ends with "-bin", the value may have any bytes.
  // Call it before the first Write and before Finish. If the metadata have more than about 60 KiB, the client gets the
  // status INTERNAL instead of the answer.
  void AddInitialMetadata(std::string name, std::string_view value);
  // The same for the end of the answer, behind the messages. Call it before Finish.
  void AddTrailingMetadata(std::string name, std::string_view value);
  // Ends the call. Only the first call of this function has an effect. A unary call without an error is answered with
  // the message. `until_closed` is released when the last byte of the answer was given to the operating system, or when
  // the call has ended in another way: for example, an object that counts the memory of the answer.
  void Finish(Status status, Pieces answer = {}, std::shared_ptr<const void> until_closed = {});

  // --- Messages of a streaming call. ---
  // Calls `done` on the strand of the connection with the next message, or with nullopt if the client has sent its last
  // one or the call has ended. If it had ended before, `done` is called at once. Requires: no other Read is waiting.
  // While none is waiting, the client can send at most as many bytes as the window of the stream allows.
  using Received = std::function<void(std::optional<Pieces> message)>;
  void Read(Received done);
  // Sends a message. Calls `done` like Read: with true when the message was taken for sending, with false when the call
  // has ended. Requires: no other Write is waiting.
  using Written = std::function<void(bool ok)>;
  void Write(Pieces message, Written done);
  // Calls `ended` once, on the strand of the connection, when the call has ended; at once if it had ended before.
  // Replaces the function of an earlier call.
  void AfterEnd(std::function<void()> ended);

 private:
  enum class Ending {
    kNone,     // The call has no answer yet.
    kClaimed,  // One thread is making the answer; others no longer can.
    kReady,    // The answer is complete.
    kSent,     // The strand has taken the answer.
  };
  using MetadataList = std::vector<std::pair<std::string, std::string>>;
  using FieldList = boost::container::small_vector<http2::Field, 8>;
  struct Checked;
  struct Streaming;

  static bool IsReserved(std::string_view name);

  void OnHead() override;
  void OnBody(std::string_view bytes, const std::shared_ptr<const void>& owner) override;
  void OnEnd() override;
  void OnOverload() override;
  void OnNotified() override;
  void OnDeadline() override;
  void OnBodyTaken() override;
  void OnClosed(bool is_answered) noexcept override;

  Checked ReadHead();
  Status Check(const Checked& head);
  void Handle(const Handler& handler);
  void Refuse(const Error& error);
  void SendHttpRefusal();
  bool is_plain_http() const { return !http_refusal_.status.empty(); }
  bool Claim();
  Result<Pieces> Plain(ReceivedMessage message);
  void ReleaseRequest();
  void TakeUnary(std::string_view bytes, const std::shared_ptr<const void>& owner);
  void SendFirstHead();
  void SendAnswer();
  void SendError();
  void AddTrailers(FieldList& fields, const std::string& message) const;
  void Deliver();
  Result<bool> DeliverOne();
  Result<std::optional<Pieces>> NextMessage();
  void SendWritten();
  void EndStreaming();
  TimePoint ReceiveBy() const { return began_at_ + service_->receive_time.For(received_bytes_); }
  bool is_over() const { return ending_ == Ending::kReady || ending_ == Ending::kSent || !is_open(); }

  const std::shared_ptr<const Service> service_;
  const std::shared_ptr<const http2::Peer> peer_;
  const Method* method_ = nullptr;  // Null until the call was admitted.
  std::string_view path_;           // In the head.
  std::string_view encoding_;
  TimePoint began_at_{};
  TimePoint deadline_ = TimePoint::max();
  MessageReader reader_;
  Pieces request_;
  bool is_request_compressed_ = false;
  bool has_request_ = false;
  size_t received_bytes_ = 0;  // How many bytes of the body of a unary call have arrived.
  bool is_head_sent_ = false;
  // The answer to a request that is not gRPC; empty for others.
  struct {
    std::string_view status, text;
  } http_refusal_;

  std::atomic<Ending> ending_ = Ending::kNone;
  Status outcome_;
  Pieces answer_;
  mutable std::mutex mutex_;  // Guards the members below, and those of streaming_ that say so.
  MetadataList initial_metadata_;
  MetadataList trailing_metadata_;
  std::shared_ptr<const void> until_closed_;
  std::stop_source cancelled_{std::nostopstate};
  std::unique_ptr<Streaming> streaming_;  // Null for a unary call.
};

}  // namespace longshore::grpc_server

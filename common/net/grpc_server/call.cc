#include "common/net/grpc_server/call.h"

#include <algorithm>
#include <new>

#include "common/base/base64.h"
#include "common/net/grpc_server/wire.h"
#include "common/os/log.h"

namespace longshore::grpc_server {
namespace {

using http2::Field;

constexpr std::string_view kNoMemory = "the requests in progress use too much memory";
constexpr Field kStatusOk{":status", "200", true};
constexpr Field kContentType{"content-type", "application/grpc", true};
constexpr auto kPlainHttpTime = std::chrono::seconds(5);  // For the body of a request that is not gRPC.
constexpr Field kAcceptEncoding{"grpc-accept-encoding", "identity, deflate, gzip", true};

std::pair<std::string, std::string> Encoded(std::string name, std::string_view value) {
  std::string text = IsBinary(name) ? ToBase64(value) : std::string(value);
  return {std::move(name), std::move(text)};
}

// Whether a request that failed with this code was probably refused, or came too late, because of too much work. Other
// reasons for these codes are rare, and then cost a millisecond. A full node answers kAborted to another node.
bool MeansTooMuchWork(Code code) {
  return code == Code::kUnavailable || code == Code::kResourceExhausted || code == Code::kDeadlineExceeded ||
         code == Code::kAborted;
}

template <typename List>
void AddAll(const std::vector<std::pair<std::string, std::string>>& metadata, List& fields) {
  for (const auto& [name, value] : metadata) fields.push_back({name, value});
}

}  // namespace

// The fields of a head that gRPC needs.
struct Call::Checked {
  std::string_view method, scheme, content_type, te, timeout, authorization;
  bool has_te = false;
  bool has_timeout = false;
  int authorizations = 0;
};

struct Call::Streaming {
  // Guarded by the mutex of the call.
  Received reading;
  Pieces writing;
  Written written;
  std::function<void()> ended;
  bool has_ended = false;  // Reads and writes end at once.
  // Used only on the strand.
  PiecesBuilder arrived;     // The newest bytes of the body,
  Pieces bytes;              // and those before them, from which messages are taken:
  size_t piece = 0;          // the next byte is in this piece,
  size_t offset = 0;         // at this position.
  size_t message_bytes = 0;  // The bytes of the incomplete message, with its prefix,
  size_t given_bytes = 0;    // and those of the message that the last Read got.
  bool is_delivering = false;
  Written taking;  // Called when the message that is being sent was taken.
};

Call::Call(std::shared_ptr<const Service> service, std::shared_ptr<const http2::Peer> peer)
    : service_(std::move(service)), peer_(std::move(peer)) {}

Call::~Call() = default;

bool Call::IsReserved(std::string_view name) {
  return name.starts_with(':') || name.starts_with("grpc-") || name == "te" || name == "content-type";
}

std::optional<std::string> Call::Metadata(std::string_view name) const {
  const auto value = head().Find(name);
  if (!value) return std::nullopt;
  return IsBinary(name) ? FromBase64(*value) : std::string(*value);
}

std::stop_token Call::cancelled() {
  if (!cancelled_.stop_possible()) cancelled_ = std::stop_source();
  return cancelled_.get_token();
}

void Call::AddInitialMetadata(std::string name, std::string_view value) {
  const std::lock_guard lock(mutex_);
  initial_metadata_.push_back(Encoded(std::move(name), value));
}

void Call::AddTrailingMetadata(std::string name, std::string_view value) {
  const std::lock_guard lock(mutex_);
  trailing_metadata_.push_back(Encoded(std::move(name), value));
}

bool Call::Claim() {
  Ending expected = Ending::kNone;
  return ending_.compare_exchange_strong(expected, Ending::kClaimed);
}

void Call::Finish(Status status, Pieces answer, std::shared_ptr<const void> until_closed) {
  if (!Claim()) return;
  outcome_ = std::move(status);
  answer_ = std::move(answer);
  until_closed_ = std::move(until_closed);
  ending_ = Ending::kReady;
  Notify();
}

void Call::Read(Received done) {
  {
    const std::lock_guard lock(mutex_);
    CHECK(!streaming_->reading);
    if (!streaming_->has_ended) streaming_->reading = std::exchange(done, nullptr);
  }
  done ? done(std::nullopt) : Notify();
}

void Call::Write(Pieces message, Written done) {
  {
    const std::lock_guard lock(mutex_);
    CHECK(!streaming_->written);
    if (!streaming_->has_ended) {
      streaming_->writing = std::move(message);
      streaming_->written = std::exchange(done, nullptr);
    }
  }
  done ? done(false) : Notify();
}

void Call::AfterEnd(std::function<void()> ended) {
  {
    const std::lock_guard lock(mutex_);
    if (!streaming_->has_ended) streaming_->ended = std::exchange(ended, nullptr);
  }
  if (ended) ended();
}

// --- The request. ---

Call::Checked Call::ReadHead() {
  Checked seen;
  head().ForEach([&](std::string_view name, std::string_view value) {
    switch (name.size()) {
      case 2:
        if (name == "te") seen.te = value, seen.has_te = true;
        return;
      case 5:
        if (name == ":path") path_ = value;
        return;
      case 7:
        if (name == ":method") seen.method = value;
        if (name == ":scheme") seen.scheme = value;
        return;
      case 12:
        if (name == "content-type") seen.content_type = value;
        if (name == "grpc-timeout") seen.timeout = value, seen.has_timeout = true;
        return;
      case 13:
        if (name == "grpc-encoding") encoding_ = value;
        if (name == "authorization") seen.authorization = value, ++seen.authorizations;
        return;
      default: return;
    }
  });
  return seen;
}

// Returns why the call is not admitted. The codes and most texts are gRPC's.
Status Call::Check(const Checked& head) {
  if (head_too_large()) return ResourceExhausted("the metadata of the call are too large");
  if (head.scheme != "http" && head.scheme != "https") return Unknown("Bad :scheme header");
  if (!head.has_te) return Unknown("Missing :te header");
  if (head.te != "trailers") return Unknown("Bad :te header");
  if (head.has_timeout) {
    const auto timeout = ParseTimeout(head.timeout);
    if (!timeout) return Internal("the header grpc-timeout is malformed: \"{}\"", head.timeout.substr(0, 20));
    if (timeout->count() == 0) return DeadlineExceeded("Deadline Exceeded");
    deadline_ = began_at_ + *timeout;
  }
  if (head.authorizations > 1) return Fail(Code::kUnauthenticated, "the request has several authorization headers");
  if (service_->gate) RETURN_IF_ERROR(service_->gate({path_, head.authorization, *peer_}));
  method_ = service_->Find(path_);
  if (method_ == nullptr) return Unimplemented("unknown method: {}", path_.substr(0, 200));
  return {};
}

void Call::OnHead() {
  began_at_ = now();
  const Checked head = ReadHead();
  if (head.method != "POST") {
    http_refusal_ = {"405", "this port serves gRPC, with the method POST\n"};
  } else if (!IsGrpcContentType(head.content_type) && !head_too_large()) {  // A too large head is not complete.
    http_refusal_ = {"415", "this port serves gRPC: application/grpc\n"};
  }
  // The answer waits for the body, so that a client that sends first and reads later gets it.
  if (is_plain_http()) return SetDeadline(began_at_ + kPlainHttpTime);
  if (const Status admitted = Check(head); !admitted) return Refuse(admitted.error());
  if (method_->kind == Method::Kind::kUnary) {
    SetDeadline(std::min(deadline_, ReceiveBy()));
    if (method_->on_head) Handle(method_->on_head);
    return;
  }
  SetDeadline(deadline_);
  streaming_ = std::make_unique<Streaming>();
  Handle(method_->handler);
}

void Call::Handle(const Handler& handler) {
  try {
    handler(std::static_pointer_cast<Call>(shared_from_this()));
  } catch (const std::bad_alloc&) {
    Refuse({Code::kResourceExhausted, "memory does not suffice for this call"});
  } catch (const std::exception& error) {
    spdlog::error("a call of {} failed: {}", path_, error.what());
    Refuse({Code::kInternal, "the call failed"});
  }
}

void Call::OnBody(std::string_view bytes, const std::shared_ptr<const void>& owner) {
  if (is_over() || method_ == nullptr) {
    Consume(bytes.size());
    return ReleaseBody(bytes.size());
  }
  if (!streaming_) return TakeUnary(bytes, owner);
  owner != nullptr ? streaming_->arrived.Refer(bytes, owner) : void(streaming_->arrived.copied().append(bytes));
  Deliver();
}

void Call::TakeUnary(std::string_view bytes, const std::shared_ptr<const void>& owner) {
  Consume(bytes.size());
  received_bytes_ += bytes.size();
  while (!bytes.empty()) {
    auto message = reader_.Take(bytes, owner, service_->receive_bytes_max);
    if (!message) return Refuse(message.error());
    if (!*message) return;
    if (std::exchange(has_request_, true)) {
      return Refuse({Code::kUnimplemented, "a unary call has more than one message"});
    }
    is_request_compressed_ = (*message)->is_compressed;
    request_ = std::move((*message)->bytes);
  }
}

Result<Pieces> Call::Plain(ReceivedMessage message) {
  if (!message.is_compressed) return std::move(message.bytes);
  if (encoding_ == "gzip" || encoding_ == "deflate") {
    ASSIGN_OR_RETURN(Pieces plain, Decompress(message.bytes, service_->receive_bytes_max, pool()));
    if (!HoldMade(plain.size())) return ResourceExhausted("{}", kNoMemory);
    return plain;
  }
  if (encoding_.empty() || encoding_ == "identity") return Internal("a message is compressed without grpc-encoding");
  return Unimplemented("grpc-encoding \"{}\" is not supported", encoding_.substr(0, 50));
}

void Call::OnEnd() {
  if (is_plain_http()) return SendHttpRefusal();
  if (is_over() || method_ == nullptr) return;
  if (streaming_) return Deliver();
  if (!reader_.is_between_messages()) return Refuse({Code::kInternal, "the request ended within a message"});
  if (!has_request_) return Refuse({Code::kUnimplemented, "a unary call has no message"});
  SetDeadline(deadline_);
  if (is_request_compressed_) {
    auto plain = Plain({.is_compressed = true, .bytes = std::move(request_)});
    if (!plain) return Refuse(plain.error());
    request_ = std::move(*plain);
  }
  Handle(method_->handler);
}

// Gives messages, or the end, to the Read that waits. A Read that is called meanwhile is served by the loop. When the
// call is over, EndStreaming ends the Read: what is behind a wrong message must not be taken for a message.
void Call::Deliver() {
  if (is_over() || std::exchange(streaming_->is_delivering, true)) return;
  Result<bool> more = true;
  while (more && *more && !is_over()) more = DeliverOne();
  streaming_->is_delivering = false;
  if (!more) Refuse(more.error());
}

// Returns whether a Read was served.
Result<bool> Call::DeliverOne() {
  {
    const std::lock_guard lock(mutex_);
    if (!streaming_->reading) return false;
  }
  // A handler that reads again has handled the message before.
  ReleaseBody(std::exchange(streaming_->given_bytes, 0));
  HoldMade(0);
  ASSIGN_OR_RETURN(std::optional<Pieces> message, NextMessage());
  if (!message && !request_ended()) return false;
  if (!message && !reader_.is_between_messages()) return Internal("the request ended within a message");
  Received reading;
  {
    const std::lock_guard lock(mutex_);
    reading = std::exchange(streaming_->reading, nullptr);
  }
  if (reading) reading(std::move(message));
  return true;
}

// Takes the next message from the bytes that have arrived. All bytes that are taken let the client send further ones,
// so a message may be larger than the window. Returns nullopt if no message is complete.
Result<std::optional<Pieces>> Call::NextMessage() {
  Streaming& all = *streaming_;
  while (true) {
    if (all.piece == all.bytes.all().size()) {
      all.bytes = all.arrived.Build();
      all.piece = all.offset = 0;
      if (all.bytes.empty()) return std::nullopt;
    }
    const Pieces::Piece& piece = all.bytes.all()[all.piece];
    std::string_view rest = piece.bytes.substr(all.offset);
    auto message = reader_.Take(rest, piece.owner, service_->receive_bytes_max);
    const size_t taken = piece.bytes.size() - all.offset - rest.size();
    all.offset += taken;
    all.message_bytes += taken;
    if (rest.empty()) ++all.piece, all.offset = 0;
    Consume(taken);
    if (!message) return tl::make_unexpected(message.error());
    if (!*message) continue;
    all.given_bytes = std::exchange(all.message_bytes, 0);
    return Plain(std::move(**message));
  }
}

// --- The answer. ---

void Call::Refuse(const Error& error) { Finish(tl::make_unexpected(error)); }

// Answers a request that is not gRPC, with an HTTP status.
void Call::SendHttpRefusal() {
  if (!Claim()) return;
  ending_ = Ending::kSent;
  const Field fields[] = {{":status", http_refusal_.status, true}, {"content-type", "text/plain", true}};
  SendHead(fields, false);
  SendBody({}, Pieces(std::string(http_refusal_.text)));
  EndBody();
}

void Call::OnOverload() { Refuse({Code::kResourceExhausted, std::string(kNoMemory)}); }

void Call::OnNotified() {
  if (streaming_) {
    SendWritten();
    Deliver();
  }
  Ending expected = Ending::kReady;
  if (!ending_.compare_exchange_strong(expected, Ending::kSent)) return;
  ReleaseRequest();
  SendAnswer();
}

// Frees the request when its handler has answered. After a deadline the handler may still use it: then it counts as
// memory until the call is destroyed.
void Call::ReleaseRequest() {
  if (!reader_.is_between_messages()) reader_ = {};
  if (!request_.empty()) request_ = {};
  if (streaming_) {
    streaming_->arrived = {};
    streaming_->bytes = {};
    streaming_->piece = streaming_->offset = 0;
  }
  HoldMade(0);
  ReleaseBody(SIZE_MAX);
}

void Call::OnDeadline() {
  if (is_plain_http()) return SendHttpRefusal();
  const bool is_receiving = !streaming_ && !request_ended();
  const TimePoint end = is_receiving ? std::min(deadline_, ReceiveBy()) : deadline_;
  if (now() < end) return SetDeadline(end);  // More of the body has arrived.
  if (!Claim()) return;
  outcome_ = now() < deadline_ ? DeadlineExceeded("the request did not arrive in time")
                               : DeadlineExceeded("Deadline Exceeded");
  ending_ = Ending::kSent;
  SendAnswer();
  cancelled_.request_stop();
}

void Call::SendFirstHead() {
  if (std::exchange(is_head_sent_, true)) return;
  const std::lock_guard lock(mutex_);
  FieldList fields = {kStatusOk, kContentType, kAcceptEncoding};
  AddAll(initial_metadata_, fields);
  SendHead({fields.data(), fields.size()}, false);
}

void Call::SendAnswer() {
  if (!outcome_ && !is_head_sent_) return SendError();
  SendFirstHead();
  if (outcome_ && !streaming_) {
    const auto prefix = MessagePrefix(answer_.size());
    SendBody({prefix.data(), prefix.size()}, answer_);
    answer_ = {};
  }
  EndBody();
  EndStreaming();
}

// Sends an error before any message: as one header block, unless the handler has added metadata that must come first.
void Call::SendError() {
  if (MeansTooMuchWork(outcome_.error().code)) PauseReading();
  bool has_metadata = false;
  {
    const std::lock_guard lock(mutex_);
    has_metadata = !initial_metadata_.empty();
  }
  if (has_metadata) {
    SendFirstHead();
    EndBody();
  } else {
    FieldList fields = {kStatusOk, kContentType, kAcceptEncoding};
    const std::string message = EncodeMessage(outcome_.error().message);
    const std::lock_guard lock(mutex_);
    AddTrailers(fields, message);
    SendHead({fields.data(), fields.size()}, true);
  }
  EndStreaming();
}

// `message`: the encoded message of the status; must outlive the fields. Requires: mutex_ is held.
void Call::AddTrailers(FieldList& fields, const std::string& message) const {
  fields.push_back({"grpc-status", StatusText(outcome_ ? Code::kOk : outcome_.error().code), true});
  if (!message.empty()) fields.push_back({"grpc-message", message});
  AddAll(trailing_metadata_, fields);
}

void Call::OnBodyTaken() {
  if (is_plain_http()) return;
  if (ending_ == Ending::kSent) {
    const std::string message = outcome_ ? std::string() : EncodeMessage(outcome_.error().message);
    FieldList fields;
    const std::lock_guard lock(mutex_);
    AddTrailers(fields, message);
    SendTrailers({fields.data(), fields.size()});
  } else if (streaming_ && streaming_->taking) {
    std::exchange(streaming_->taking, nullptr)(true);
  }
}

// Sends the message of the Write that waits, if there is one.
void Call::SendWritten() {
  Pieces message;
  {
    const std::lock_guard lock(mutex_);
    if (!streaming_->written || streaming_->taking) return;
    message = std::exchange(streaming_->writing, {});
    streaming_->taking = std::exchange(streaming_->written, nullptr);
  }
  SendFirstHead();
  const auto prefix = MessagePrefix(message.size());
  SendBody({prefix.data(), prefix.size()}, message);
}

// Ends the Read and the Write that wait, and all later ones.
void Call::EndStreaming() {
  if (!streaming_) return;
  Received reading;
  Written written;
  std::function<void()> ended;
  {
    const std::lock_guard lock(mutex_);
    streaming_->has_ended = true;
    ended = std::exchange(streaming_->ended, nullptr);
    reading = std::exchange(streaming_->reading, nullptr);
    written = std::exchange(streaming_->written, nullptr);
  }
  Written taking = std::exchange(streaming_->taking, nullptr);
  if (reading) reading(std::nullopt);
  if (written) written(false);
  if (taking) taking(false);
  if (ended) ended();
}

void Call::OnClosed(bool is_answered) noexcept {
  if (!is_answered) Claim();
  EndStreaming();
  if (!is_answered) cancelled_.request_stop();
  if (ending_ == Ending::kSent || ending_ == Ending::kReady) until_closed_.reset();
}

}  // namespace longshore::grpc_server

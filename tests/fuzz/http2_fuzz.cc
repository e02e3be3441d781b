// Drives a session of a gRPC server without a socket, as Connection does. The input is a sequence of steps. The first
// byte of each step chooses an action (its lowest three bits) and a number from 0 to 31 (the others). The preface and
// the client's settings are received first, unless the first received bytes have a preface of their own.
#include "common/net/grpc_server/call.h"
#include "common/net/http2/session.h"
#include "common/os/log.h"
#include "tests/fuzz/fuzz.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance{.per_byte = 128, .fixed_bytes = size_t{256} << 10};

namespace longshore::fuzz {
namespace {

using grpc_server::Call;

enum Action : uint8_t {
  kReceive,   // 1 + 4 n² bytes of the input.
  kData,      // A DATA frame with one message of 1 + n % 16 KiB; above 15 it ends the stream. The next byte: which.
  kWrite,     // The socket accepts 1 + 64 n² bytes.
  kWait,      // 2^(n % 24) milliseconds.
  kEnd,       // n % 3 = 0: announces the end; 1: ends; 2: sends a ping.
  kContinue,  // The handler of the newest kept call goes on: n % 4 < 2: answers; 2: fails; 3: drops the call. An even
              // n: on the connection's strand.
  kReset,     // The client resets a stream. The next byte: which.
  kNotified,  // The streams are told that they were notified.
};

constexpr std::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

class Strand final : public http2::Waker {
 public:
  bool IsOnStrand() const override { return is_on_strand; }
  void Wake() override {}
  bool is_on_strand = true;
};

void EchoNext(const std::shared_ptr<Call>& call) {
  call->Read([call](std::optional<Pieces> message) {
    if (!message) return call->Finish({});
    call->Write(std::move(*message), [call](bool ok) {
      if (ok) EchoNext(call);
    });
  });
}

std::string Big(uint32_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i));
  return text;
}

std::string Frame(uint8_t kind, uint8_t flags, uint32_t stream, std::string_view payload) {
  return Big(static_cast<uint32_t>(payload.size()), 3) + Big(kind, 1) + Big(flags, 1) + Big(stream, 4) +
         std::string(payload);
}

class Connection {
 public:
  explicit Connection(std::string_view input) : rest_(input) {
    limits_.header_bytes_max = 4096;
    limits_.bytes_max = 65536;
    service_->receive_bytes_max = 32768;
    service_->Add("/e", {.handler = [](const auto& call) { call->Finish({}, call->TakeRequest()); }});
    service_->Add("/s", {.kind = grpc_server::Method::Kind::kStreaming, .handler = EchoNext});
    service_->Add("/k", {.handler = [this](const auto& call) { kept_.push_back({call, call->TakeRequest(), false}); }});
    service_->Add("/l", {.kind = grpc_server::Method::Kind::kStreaming, .handler = [this](const auto& call) {
                           kept_.push_back({call, {}, true});
                         }});
    session_.emplace(
        limits_, [this](const auto& peer) { return std::make_shared<Call>(service_, peer); },
        std::make_shared<http2::Peer>(), notifications_, pool_);
  }

  void Run() {
    const bool has_preface = rest_.size() > 3 && rest_.substr(1, 3) == "PRI";
    if (!has_preface) Receive(kPreface);
    while (!rest_.empty() && !(session_->is_over() && session_->queue().empty())) {
      const auto first = static_cast<uint8_t>(Take(1).front());
      Step(static_cast<Action>(first % 8), first / 8);
      session_->Fill(now_);
    }
    session_->CheckDeadlines(now_ + std::chrono::hours(1));
    Write(SIZE_MAX);
    End();
  }

 private:
  struct Kept {
    std::shared_ptr<Call> call;
    Pieces request;
    bool is_streaming;
  };

  std::string_view Take(size_t bytes) {
    const auto taken = rest_.substr(0, bytes);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  uint32_t TakeStream() { return rest_.empty() ? 1 : static_cast<uint8_t>(Take(1).front()); }

  void Step(Action action, size_t number) {
    switch (action) {
      case kReceive: return Receive(Take(1 + 4 * number * number));
      case kData: return ReceiveData(TakeStream(), 1024 * (1 + number % 16), number >= 16);
      case kWrite: return Write(1 + 64 * number * number);
      case kWait: now_ += std::chrono::milliseconds(1 << (number % 24)); return session_->CheckDeadlines(now_);
      case kEnd:
        return number % 3 == 0 ? session_->AnnounceEnd() : number % 3 == 1 ? session_->End() : session_->Ping();
      case kContinue: return Continue(number);
      case kReset: return Receive(Frame(NGHTTP2_RST_STREAM, 0, TakeStream(), Big(NGHTTP2_CANCEL, 4)));
      case kNotified: return session_->RunNotified(now_);
    }
  }

  void Receive(std::string_view bytes) {
    while (!bytes.empty()) {
      auto buffer = buffers_.Take();
      const auto room = buffer->room();
      const size_t size = bytes.copy(room.data(), room.size());
      session_->Receive({room.data(), size}, *buffer, now_);
      buffers_.Return(std::move(buffer), size);
      bytes.remove_prefix(size);
    }
  }

  void ReceiveData(uint32_t stream, size_t bytes, bool ends) {
    constexpr size_t kPrefixBytes = 5;
    const size_t message_bytes = bytes - kPrefixBytes;
    AddReceived(bytes);
    Receive(Frame(NGHTTP2_DATA, ends ? NGHTTP2_FLAG_END_STREAM : 0, stream,
                  '\0' + Big(static_cast<uint32_t>(message_bytes), 4) + std::string(message_bytes, 'm')));
  }

  void Write(size_t bytes_max) {
    for (session_->Fill(now_); bytes_max > 0 && !session_->queue().empty(); session_->Fill(now_)) {
      const size_t bytes = std::min(bytes_max, session_->queue().size());
      session_->queue().Consume(bytes);
      session_->OnSent(now_);
      bytes_max -= bytes;
    }
  }

  void Continue(size_t number) {
    if (kept_.empty()) return;
    Kept last = std::move(kept_.back());
    kept_.pop_back();
    strand_->is_on_strand = number % 2 == 0;
    if (number % 4 == 2) {
      last.call->Finish(Internal("failed"));
    } else if (number % 4 < 2) {
      last.is_streaming ? EchoNext(last.call) : last.call->Finish({}, std::move(last.request));
    }
    strand_->is_on_strand = true;
  }

  // All memory must be returned when the connection and its calls are gone.
  void End() {
    session_->Close();
    CHECK(session_->streams() == 0);
    session_.reset();
    while (!kept_.empty()) Continue(kept_.size());
    CHECK(notifications_->streams_alive == 0);
    CHECK(pool_->taken() == 0);
  }

  std::string_view rest_;
  http2::Limits limits_;
  http2::TimePoint now_{std::chrono::hours(1)};
  std::vector<Kept> kept_;
  const std::shared_ptr<grpc_server::Service> service_ = std::make_shared<grpc_server::Service>();
  const std::shared_ptr<Strand> strand_ = std::make_shared<Strand>();
  const std::shared_ptr<http2::Notifications> notifications_ = std::make_shared<http2::Notifications>(strand_);
  const std::shared_ptr<http::BytePool> pool_ = std::make_shared<http::BytePool>(size_t{1} << 20);
  http2::ReceiveBuffers buffers_{pool_, 2};
  std::optional<http2::Session> session_;
};

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  longshore::fuzz::Connection(longshore::fuzz::View(data, size)).Run();
  return 0;
}

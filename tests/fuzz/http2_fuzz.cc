// Sends the input to a gRPC server as the bytes of one HTTP/2 connection, in parts, through a session without a socket.
// The preface and the client's settings are put in front of inputs that do not have them.
#include "common/net/grpc_server/call.h"
#include "common/net/http2/session.h"
#include "tests/fuzz/fuzz.h"

const longshore::fuzz::Allowance longshore::fuzz::kAllowance{.per_byte = 128, .fixed_bytes = size_t{256} << 10};

namespace longshore::fuzz {
namespace {

class NoStrand final : public http2::Waker {
 public:
  bool IsOnStrand() const override { return true; }
  void Wake() override {}
};

void EchoNext(const std::shared_ptr<grpc_server::Call>& call) {
  call->Read([call](std::optional<Pieces> message) {
    if (!message) return call->Finish({});
    call->Write(std::move(*message), [call](bool ok) {
      if (ok) EchoNext(call);
    });
  });
}

std::shared_ptr<const grpc_server::Service> MakeService() {
  auto service = std::make_shared<grpc_server::Service>();
  service->receive_bytes_max = 2048;
  service->Add("/e", {.handler = [](const auto& call) { call->Finish({}, call->TakeRequest()); }});
  service->Add("/s", {.kind = grpc_server::Method::Kind::kStreaming, .handler = EchoNext});
  return service;
}

void Send(http2::Session& session, http2::TimePoint now) {
  for (session.Fill(now); !session.queue().empty(); session.Fill(now)) {
    session.queue().Consume(session.queue().size());
    session.OnSent(now);
  }
}

void Serve(std::string_view bytes) {
  static const auto service = MakeService();
  http2::Limits limits;
  limits.header_bytes_max = 4096;
  limits.bytes_max = 65536;
  const auto pool = std::make_shared<http::BytePool>(size_t{1} << 20);
  const auto buffer = std::make_shared<http2::ReceiveBuffer>(pool);
  http2::Session session(
      limits, [](const auto& peer) { return std::make_shared<grpc_server::Call>(service, peer); },
      std::make_shared<http2::Peer>(), std::make_shared<http2::Notifications>(std::make_shared<NoStrand>()), pool);
  static constexpr std::string_view kBegin("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  std::string all(bytes.starts_with("PRI") ? "" : kBegin);
  all += bytes;
  http2::TimePoint now(std::chrono::hours(1));
  for (std::string_view rest = all; !rest.empty() && !session.is_over();) {
    // The part's size depends on its first byte, so that frames are split at many places.
    const size_t size = std::min<size_t>(rest.size(), 1 + 8 * static_cast<unsigned char>(rest.front()));
    rest.substr(0, size).copy(buffer->room().data(), size);
    session.Receive({buffer->room().data(), size}, *buffer, now);
    rest.remove_prefix(size);
    Send(session, now);
    session.RunNotified(now);
    Send(session, now);
  }
  session.CheckDeadlines(now + std::chrono::hours(1));
  Send(session, now);
  session.Close();
}

}  // namespace
}  // namespace longshore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  longshore::fuzz::Serve(longshore::fuzz::View(data, size));
  return 0;
}

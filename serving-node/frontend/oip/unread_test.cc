// Tests that the call of a client that does not read its answer ends, for every method of
// every gRPC service that has one request.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <cstdint>

#include "common/net/http/testing.h"
#include "grpc/health.grpc.pb.h"
#include "inference/service.grpc.pb.h"
#include "longshore/peer.grpc.pb.h"
#include "serving-node/frontend/grpc_server.h"
#include "serving-node/frontend/oip/grpc_service.h"
#include "serving-node/frontend/oip/testing.h"
#include "serving-node/observe/profiling/recorder.h"
#include "serving-node/routing/peer_service.h"
#include "tensorflow/profiler_service.grpc.pb.h"
#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::frontend::oip {
namespace {

using google::protobuf::Message;

constexpr http2::AnswerTime kAnswerTime{.grace = std::chrono::milliseconds(20)};

// A number in network byte order.
std::string Number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = bytes; i > 0; --i) text.push_back(static_cast<char>(value >> (8 * (i - 1)) & 0xff));
  return text;
}

// A client of HTTP/2 (RFC 9113) with one call, whose flow-control window is closed from the beginning: the server
// cannot send a single byte of the answer.
class ClosedWindow {
 public:
  ClosedWindow(int port, const std::string& method, const std::string& request) : connection_(port) {
    constexpr uint8_t kSettings = 4, kHeaders = 1, kData = 0, kEndHeaders = 4, kEndStream = 1;
    std::string fields;
    for (const auto& [name, value] : {std::pair<std::string, std::string>{":method", "POST"},
                                      {":scheme", "http"},
                                      {":path", method},
                                      {":authority", "h"},
                                      {"content-type", "application/grpc"},
                                      {"te", "trailers"}}) {
      // A literal field without indexing (RFC 7541).
      fields += Number(0, 1) + Number(name.size(), 1) + name + Number(value.size(), 1) + value;
    }
    const std::string window = Number(4, 2) + Number(0, 4);  // SETTINGS_INITIAL_WINDOW_SIZE is 0.
    const std::string message = Number(0, 1) + Number(request.size(), 4) + request;
    connection_.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, window) +
                     Frame(kHeaders, kEndHeaders, 1, fields) + Frame(kData, kEndStream, 1, message));
  }

  // Returns whether the server ends the call: with a status, or by a reset of the stream.
  bool Ends() {
    constexpr uint8_t kReset = 3, kHeaders = 1, kEndStream = 1;
    for (;;) {
      const std::string head = connection_.Read(9);
      if (head.size() < 9) return false;
      const auto at = [&head](size_t i) { return static_cast<uint8_t>(head[i]); };
      connection_.Read(size_t{at(0)} << 16 | size_t{at(1)} << 8 | at(2));
      const bool of_call = at(8) == 1;
      if (of_call && (at(3) == kReset || (at(3) == kHeaders && (at(4) & kEndStream) != 0))) return true;
    }
  }

 private:
  static std::string Frame(uint8_t type, uint8_t flags, uint32_t stream, const std::string& payload) {
    return Number(payload.size(), 3) + Number(type, 1) + Number(flags, 1) + Number(stream, 4) + payload;
  }

  http::RawClient connection_;
};

std::string PredictOfDigits() {
  tensorflow::serving::PredictRequest request;
  request.mutable_model_spec()->set_name("digits");
  tensor::ToProto(tensor::Tensor::Of<float>({1}, {1}), &(*request.mutable_inputs())["x"]);
  return request.SerializeAsString();
}

std::string InferOfDigits() {
  ::inference::ModelInferRequest request;
  request.set_model_name("digits");
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype("FP32");
  input.add_shape(1);
  input.mutable_contents()->add_fp32_contents(1);
  return request.SerializeAsString();
}

void SetIfPresent(Message* message, const char* field, const std::string& value) {
  const auto* found = message->GetDescriptor()->FindFieldByName(field);
  if (found != nullptr) message->GetReflection()->SetString(message, found, value);
}

// Returns a request of this type that names the model and the fleet of the test, so that most methods have an answer.
std::string RequestOf(const google::protobuf::Descriptor& type) {
  if (type.name() == "PredictRequest") return PredictOfDigits();
  if (type.name() == "ModelInferRequest") return InferOfDigits();
  auto* factory = google::protobuf::MessageFactory::generated_factory();
  const std::unique_ptr<Message> request(factory->GetPrototype(&type)->New());
  SetIfPresent(request.get(), "name", "digits");
  SetIfPresent(request.get(), "model_name", "digits");
  SetIfPresent(request.get(), "fleet", "f");
  if (const auto* spec = type.FindFieldByName("model_spec"); spec != nullptr) {
    SetIfPresent(request->GetReflection()->MutableMessage(request.get(), spec), "name", "digits");
  }
  return request->SerializeAsString();
}

class UnreadAnswers : public testing::Test, protected FakeMethods {
 protected:
  UnreadAnswers() {
    GrpcOptions options{.listen = "127.0.0.1:0", .profiles = &recorder_, .answer_time = kAnswerTime};
    options.add_methods = [this](grpc_server::Service& service) {
      peer_.AddTo(service);
      oip_.AddTo(service);
    };
    auto started = GrpcServer::Start(std::move(options), predictor_, catalog_);
    CHECK(started);
    server_ = std::move(*started);
  }

  // Whether the call ends although its client reads nothing of the answer.
  bool Ends(const google::protobuf::MethodDescriptor& method) const {
    return ClosedWindow(server_->port(), fmt::format("/{}/{}", method.service()->full_name(), method.name()),
                        RequestOf(*method.input_type()))
        .Ends();
  }

  SystemClock clock_;
  SteadyClock timer_;
  profiling::Recorder recorder_{clock_, timer_};
  routing::PeerService peer_{"f", [] { return routing::PeerLoad{.running = 1}; }};
  GrpcService oip_{methods_, {}};
  std::unique_ptr<GrpcServer> server_;
};

TEST_F(UnreadAnswers, EndTheCallOfEveryMethodWithOneRequest) {
  for (const char* name :
       {tensorflow::serving::PredictionService::service_full_name(),
        tensorflow::serving::ModelService::service_full_name(), ::grpc::health::v1::Health::service_full_name(),
        tensorflow::ProfilerService::service_full_name(), ::inference::GRPCInferenceService::service_full_name(),
        peer::Peer::service_full_name()}) {
    const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i) {
      const auto& method = *service->method(i);
      EXPECT_TRUE(method.client_streaming() || Ends(method)) << method.full_name();
    }
  }
}

}  // namespace
}  // namespace longshore::frontend::oip

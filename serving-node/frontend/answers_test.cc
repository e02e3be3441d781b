// Tests that an answer holds its resources until its client has read it, and that clients that do not read are
// disconnected, for gRPC and REST.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>

#include <array>
#include <future>
#include <thread>

#include "common/net/http/testing.h"
#include "serving-node/frontend/grpc_server.h"
#include "serving-node/frontend/rest_server.h"
#include "serving-node/frontend/testing.h"
#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::frontend {
namespace {

using std::chrono::milliseconds;
using tensorflow::serving::PredictionService;
using tensorflow::serving::PredictRequest;
using tensorflow::serving::PredictResponse;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr milliseconds kNever = std::chrono::hours(1);
constexpr size_t kLongElements = size_t{4} << 20;  // Far more bytes than the buffers of a connection hold.

PredictRequest RequestOf(size_t elements) {
  PredictRequest request;
  request.mutable_model_spec()->set_name("digits");
  const std::vector<float> values(elements, 1);
  tensor::ToProto(tensor::Tensor::Of<float>({static_cast<int64_t>(elements)}, values),
                  &(*request.mutable_inputs())["x"], tensor::Encoding::kContent);
  return request;
}

std::shared_ptr<::grpc::Channel> ChannelToPort(int port) { return ChannelTo("127.0.0.1:" + std::to_string(port)); }

// A prediction whose client does not read the answer: after the first 64 KiB, the flow-control window of the HTTP/2
// stream is closed.
class UnreadCall {
 public:
  explicit UnreadCall(int port, size_t elements = kLongElements) : channel_(ChannelToPort(port)) {
    reader_ = PredictionService::NewStub(channel_)->AsyncPredict(&context_, RequestOf(elements), &queue_);
    reader_->ReadInitialMetadata(nullptr);  // This sends the request.
    thread_ = std::thread([this] {
      void* tag = nullptr;
      for (bool ok = false; queue_.Next(&tag, &ok);) {
        if (tag == this) ended_.set_value();
      }
    });
  }
  ~UnreadCall() {
    context_.TryCancel();
    queue_.Shutdown();
    thread_.join();
  }
  ::grpc::Status Finish() {
    reader_->Finish(&response_, &status_, this);
    ended_.get_future().wait();
    return status_;
  }

 private:
  std::shared_ptr<::grpc::Channel> channel_;
  ::grpc::ClientContext context_;
  ::grpc::CompletionQueue queue_;
  std::unique_ptr<::grpc::ClientAsyncResponseReader<PredictResponse>> reader_;
  PredictResponse response_;
  ::grpc::Status status_;
  std::promise<void> ended_;
  std::thread thread_;
};

class GrpcAnswers : public testing::Test {
 protected:
  void Start(GrpcOptions options) {
    options.listen = "127.0.0.1:0";
    options.in_flight = &in_flight_;
    auto started = GrpcServer::Start(std::move(options), predictor_, catalog_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  ::grpc::Status Ask(size_t elements = 1) {
    PredictResponse response;
    ::grpc::ClientContext context;
    return PredictionService::NewStub(ChannelToPort(server_->port()))
        ->Predict(&context, RequestOf(elements), &response);
  }
  // A client may see the end of a call before the server has released the slot of the call.
  ::grpc::Status AskWhenASlotIsFree() {
    ::grpc::Status status;
    do {
      status = Ask();
    } while (status.error_code() == ::grpc::StatusCode::RESOURCE_EXHAUSTED);
    return status;
  }
  void AwaitCalls(size_t count) const {
    while (predictor_.calls() < count) std::this_thread::yield();
  }

  FakePredictor predictor_;
  FakeCatalog catalog_;
  InFlight in_flight_{{.requests_max = 1, .answer_bytes_max = size_t{32} << 20}};
  std::unique_ptr<GrpcServer> server_;
};

TEST_F(GrpcAnswers, ARequestKeepsItsSlotUntilItsClientHasReadTheAnswer) {
  Start({.answer_time = {.grace = kNever}});
  UnreadCall unread(server_->port());
  AwaitCalls(1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Ask().error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_TRUE(unread.Finish().ok());
  EXPECT_TRUE(AskWhenASlotIsFree().ok());
}

TEST_F(GrpcAnswers, AnAnswerThatIsNotReadInTimeEndsItsCallAndReleasesItsSlot) {
  Start({.answer_time = {.grace = milliseconds(20), .bytes_per_second_min = size_t{1} << 30}});
  UnreadCall unread(server_->port());
  AwaitCalls(1);
  EXPECT_TRUE(AskWhenASlotIsFree().ok());
  EXPECT_FALSE(unread.Finish().ok());
}

TEST_F(GrpcAnswers, AnAnswerBeyondTheLimitOfAllAnswersIsDropped) {
  Start({});
  const ::grpc::Status status = Ask(size_t{10} << 20);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("not read yet exceed"));
  EXPECT_TRUE(AskWhenASlotIsFree().ok());
}

TEST_F(GrpcAnswers, AStreamThatIsNotReadDelaysADrainByItsTimeoutAtMost) {
  for (const int64_t age_ms : {0, 20}) {
    Start({.connection_age_max_ms = age_ms, .drain_timeout = milliseconds(50), .answer_time = {.grace = kNever}});
    const size_t before = predictor_.calls();
    UnreadCall unread(server_->port());
    AwaitCalls(before + 1);
    server_->Drain();
    EXPECT_FALSE(unread.Finish().ok());
    server_.reset();
  }
}

// Calls a method with raw bytes as the request.
::grpc::Status AskRaw(int port, const std::string& method, const std::string& bytes) {
  ::grpc::GenericStub stub(ChannelToPort(port));
  ::grpc::ClientContext context;
  const ::grpc::Slice slice(bytes);
  const ::grpc::ByteBuffer request(&slice, 1);
  ::grpc::ByteBuffer response;
  std::promise<::grpc::Status> ended;
  stub.UnaryCall(&context, "/tensorflow.serving.PredictionService/" + method, {}, &request, &response,
                 [&ended](::grpc::Status status) { ended.set_value(std::move(status)); });
  return ended.get_future().get();
}

class Methods : public GrpcAnswers, public testing::WithParamInterface<std::string> {};

TEST_P(Methods, ARequestWithoutASlotIsRefusedBeforeItIsParsed) {
  Start({});
  const InFlight::Slot taken = *in_flight_.Enter();
  const ::grpc::Status refused = AskRaw(server_->port(), GetParam(), "\xff");
  EXPECT_EQ(refused.error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(), "too many requests are in flight on this node");
}

TEST_P(Methods, AMalformedRequestIsRefusedWithItsType) {
  Start({});
  const ::grpc::Status refused = AskRaw(server_->port(), GetParam(), "\xff");
  EXPECT_EQ(refused.error_code(), ::grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), AllOf(StartsWith("malformed "), testing::EndsWith("Request (1 bytes)")));
}

INSTANTIATE_TEST_SUITE_P(All, Methods, testing::Values("Predict", "Classify", "Regress", "MultiInference"));

// A catalog of a model that only another node can describe.
class LateCatalog final : public Catalog {
 public:
  Result<Described> Describe(const tensorflow::serving::ModelSpec&) const override { return Unavailable("not here"); }
  void DescribeElsewhere(const tensorflow::serving::ModelSpec&, std::chrono::steady_clock::time_point,
                         const DescribeDone& done) const override {
    asked_.set_value(done);
  }
  Result<std::vector<models::VersionStatus>> Versions(const std::string&) const override { return NotFound("none"); }
  DescribeDone Asked() { return asked_.get_future().get(); }

 private:
  mutable std::promise<DescribeDone> asked_;
};

std::string PostOf(const std::string& body) {
  return fmt::format("POST /v1/models/digits:predict HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", body.size(),
                     body);
}

// If the request used the destroyed server, AddressSanitizer would report it.
TEST(RestRequests, ARequestThatWaitsForAnotherNodeMayOutliveItsClientAndTheServer) {
  FakePredictor predictor;
  LateCatalog catalog;
  auto server = RestServer::Start({.listen = "127.0.0.1:0"}, predictor, catalog, nullptr);
  ASSERT_TRUE(server);
  auto client = std::make_unique<http::RawClient>((*server)->port());
  client->Send(PostOf(R"({"instances": [1]})"));
  const DescribeDone done = catalog.Asked();
  client.reset();
  while ((*server)->connections() > 0) std::this_thread::yield();
  server->reset();

  done(FakeCatalog().Describe(RequestOf(1).model_spec()));

  EXPECT_EQ(predictor.calls(), 1u);
}

class RestAnswers : public testing::Test {
 protected:
  void Start(RestOptions options) {
    options.listen = "127.0.0.1:0";
    options.in_flight = &in_flight_;
    auto started = RestServer::Start(std::move(options), predictor_, catalog_, nullptr);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  std::string Ask() { return Fetch(server_->port(), "POST", "/v1/models/digits:predict", R"({"instances": [1]})"); }
  // A client may have read an answer before the server has released the slot of the request.
  std::string AskWhenASlotIsFree() {
    std::string answer;
    do {
      answer = Ask();
    } while (answer.starts_with("HTTP/1.1 429 "));
    return answer;
  }

  FakePredictor predictor_;
  FakeCatalog catalog_;
  InFlight in_flight_{{.requests_max = 1, .answer_bytes_max = size_t{64} << 20}};
  std::unique_ptr<RestServer> server_;
};

std::string LongBody() {
  std::string body = R"({"instances": [1)";
  for (size_t i = 0; i < kLongElements; ++i) body += ",1";
  return body + "]}";
}

TEST_F(RestAnswers, ARequestKeepsItsSlotUntilItsAnswerIsWrittenOrItsClientIsGone) {
  Start({});
  auto slow = std::make_unique<http::RawClient>(server_->port());
  slow->Send(PostOf(LongBody()));
  slow->ReadUntil("2.0");
  EXPECT_THAT(Ask(), AllOf(StartsWith("HTTP/1.1 429 "), HasSubstr("too many requests are in flight on this node")));
  slow.reset();
  EXPECT_THAT(AskWhenASlotIsFree(), StartsWith("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace longshore::frontend

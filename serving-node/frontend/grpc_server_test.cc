#include "serving-node/frontend/grpc_server.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "common/net/grpc/status.h"
#include "common/os/process/descriptors.h"
#include "grpc/health.grpc.pb.h"
#include "serving-node/frontend/testing.h"
#include "serving-node/routing/forwarder.h"
#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::frontend {
namespace {

using std::chrono::milliseconds;
using tensorflow::serving::PredictionService;
using tensorflow::serving::PredictRequest;
using tensorflow::serving::PredictResponse;

PredictRequest RequestFor(const std::string& model, float x) {
  PredictRequest request;
  request.mutable_model_spec()->set_name(model);
  tensor::ToProto(tensor::Tensor::Of<float>({1}, {x}), &(*request.mutable_inputs())["x"]);
  return request;
}

class Grpc : public testing::Test {
 protected:
  void Start(GrpcOptions options = {}) {
    if (options.listen.empty() && options.listen_fd < 0) options.listen = "127.0.0.1:0";
    options.node = node_;
    auto started = GrpcServer::Start(options, predictor_, catalog_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
    channel_ = ChannelTo(options.listen.starts_with("unix:") ? options.listen
                                                             : "127.0.0.1:" + std::to_string(server_->port()));
  }

  std::string node_ = "n1";
  FakePredictor predictor_;
  FakeCatalog catalog_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<::grpc::Channel> channel_;
};

TEST_F(Grpc, ANodeWithoutANameSendsNoLongshoreMetadata) {
  node_ = "";
  Start();
  PredictResponse response;
  ::grpc::ClientContext context;
  ASSERT_TRUE(PredictionService::NewStub(channel_)->Predict(&context, RequestFor("digits", 1), &response).ok());
  EXPECT_EQ(response.model_spec().version().value(), kVersion);
  for (const auto& [name, value] : context.GetServerInitialMetadata()) {
    EXPECT_FALSE(name.starts_with("x-longshore")) << std::string(name.data(), name.size());
  }
}

TEST_F(Grpc, PredictKeepsBytesHeadersAndDeadlineAndNamesVersionAndNode) {
  Start();
  const PredictRequest request = RequestFor("digits", 1.5);
  PredictResponse response;
  ::grpc::ClientContext context;
  context.AddMetadata("x-user-id", "u7");
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));

  const auto status = PredictionService::NewStub(channel_)->Predict(&context, request, &response);

  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.outputs().at("y").float_val(0), 3.0f);
  EXPECT_EQ(response.model_spec().version().value(), kVersion);
  EXPECT_EQ(context.GetServerInitialMetadata().find("x-longshore-version")->second, "3");
  EXPECT_EQ(context.GetServerInitialMetadata().find("x-longshore-node")->second, "n1");
  const routing::PredictCall call = predictor_.last();
  EXPECT_EQ(call.request.ToPieces().ToString(), request.SerializeAsString());
  EXPECT_THAT(call.headers, testing::Contains(testing::Pair("x-user-id", "u7")));
  EXPECT_LT(call.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(61));
  EXPECT_EQ(call.protocol, routing::Protocol::kGrpc);
}

// A forwarder, which calls other nodes, must send the token that their gates require.
TEST_F(Grpc, TheGateRequiresATokenFromForwardersToo) {
  std::string seen;
  Start({.gate = [&seen](const grpc_server::CallHead& head) -> Status {
    seen = head.path;
    if (head.authorization == "Bearer of-nodes") return {};
    return Fail(Code::kUnauthenticated, "no");
  }});
  const auto forward = [&](routing::GrpcForwarderOptions options) {
    const auto forwarder = routing::MakeGrpcForwarder(std::move(options));
    routing::ForwardCall call;
    call.target = "127.0.0.1:" + std::to_string(server_->port());
    call.serialized = Pieces(RequestFor("digits", 1).SerializeAsString());
    std::promise<Result<Pieces>> answer;
    forwarder->Forward(call, [&](Result<Pieces> each) { answer.set_value(std::move(each)); });
    return answer.get_future().get();
  };
  const auto refused = forward({.fleet = "f"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (Error{Code::kUnauthenticated, "no"}));
  EXPECT_EQ(seen, "/tensorflow.serving.PredictionService/Predict");
  EXPECT_EQ(predictor_.calls(), 0u);
  EXPECT_TRUE(forward({.fleet = "f", .authorization = [] { return "Bearer of-nodes"; }}));
  EXPECT_EQ(predictor_.calls(), 1u);
}

TEST_F(Grpc, ErrorsKeepTheirCodeAndLongTextsAreTruncated) {
  Start();
  PredictResponse response;
  ::grpc::ClientContext context;
  const auto status =
      PredictionService::NewStub(channel_)->Predict(&context, RequestFor(std::string(2000, 'x'), 1), &response);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message().size(), 1024 + std::string("...TRUNCATED").size());
}

TEST_F(Grpc, AnAnswerAfterTheClientCancelledIsDropped) {
  Start({.connection_age_max_ms = 20});
  predictor_.Hold();
  PredictResponse response;
  ::grpc::ClientContext context;
  auto call = std::async(std::launch::async, [&] {
    return PredictionService::NewStub(channel_)->Predict(&context, RequestFor("digits", 1), &response);
  });
  while (predictor_.calls() == 0) std::this_thread::yield();
  context.TryCancel();
  EXPECT_EQ(call.get().error_code(), ::grpc::StatusCode::CANCELLED);
  server_->Drain();
  for (auto& done : predictor_.TakeHeld()) done(FakePredictor::Answer(RequestFor("digits", 1)));
}

// The code with which the only request was counted; "" before it was.
std::string CountedCode(const metrics::Registry& registry) {
  const std::string text = registry.Text();
  const std::string key = "longshore_requests_total{code=\"";
  const size_t found = text.find(key);
  if (found == text.npos) return "";
  const size_t begin = found + key.size();
  return text.substr(begin, text.find('"', begin) - begin);
}

// A server that counts its requests.
class CountedCall : public Grpc {
 protected:
  void SetUp() override { Restart(); }
  void TearDown() override { server_.reset(); }  // It uses the meter.
  ::grpc::Status Predict(milliseconds timeout) {
    context_->set_deadline(std::chrono::system_clock::now() + timeout);
    return PredictionService::NewStub(channel_)->Predict(context_.get(), RequestFor("digits", 1), &response_);
  }
  // A server recognizes the end of a call at the client's deadline only if the request came quickly. If a busy machine
  // delayed the request, it is sent again, to a new server.
  ::grpc::Status PredictQuickly(milliseconds timeout) {
    for (int attempts = 0; attempts < 50; ++attempts) {
      const auto latest = std::chrono::steady_clock::now() + timeout + timeout / 64 + milliseconds(5);
      const size_t before = predictor_.calls();
      auto status = Predict(timeout);
      if (predictor_.calls() > before && predictor_.last().deadline <= latest) return status;
      Restart();
    }
    ADD_FAILURE() << "no request came to the server within 5 ms";
    return {};
  }
  std::string AwaitCounted() const {
    while (CountedCode(*registry_).empty()) std::this_thread::yield();
    return CountedCode(*registry_);
  }

  std::unique_ptr<::grpc::ClientContext> context_;

 private:
  void Restart() {
    server_.reset();
    registry_ = std::make_unique<metrics::Registry>();
    meter_ = std::make_unique<RequestMeter>(*registry_, [](const std::string&) { return true; });
    context_ = std::make_unique<::grpc::ClientContext>();
    Start({.meter = meter_.get()});
    ASSERT_TRUE(channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(60)));
  }

  std::unique_ptr<metrics::Registry> registry_;
  std::unique_ptr<RequestMeter> meter_;
  PredictResponse response_;
};

TEST_F(CountedCall, IsCountedIfMemoryDoesNotSuffice) {
  predictor_.ThrowBadAlloc();
  EXPECT_EQ(Predict(std::chrono::seconds(60)).error_message(), "memory does not suffice for this request");
  EXPECT_EQ(AwaitCounted(), "RESOURCE_EXHAUSTED");
}

class UnansweredCall : public CountedCall, public testing::WithParamInterface<milliseconds> {};

// gRPC rounds each of these timeouts in another way when it sends it.
INSTANTIATE_TEST_SUITE_P(Timeouts, UnansweredCall,
                         testing::Values(milliseconds(50), milliseconds(201), milliseconds(1001)));

TEST_P(UnansweredCall, IsCountedAsLateIfItsDeadlinePasses) {
  predictor_.Hold();
  EXPECT_EQ(PredictQuickly(GetParam()).error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(AwaitCounted(), "DEADLINE_EXCEEDED");
}

// The queue's stop callback was registered later than that of the call, so it runs first.
TEST_P(UnansweredCall, IsCountedAsLateIfItsQueueDropsItAtTheDeadline) {
  predictor_.WaitForCancellation();
  EXPECT_EQ(PredictQuickly(GetParam()).error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(AwaitCounted(), "DEADLINE_EXCEEDED");
}

TEST_P(UnansweredCall, IsCountedAsCancelledIfItsClientCancelsItBefore) {
  predictor_.Hold();
  auto call = std::async(std::launch::async, [&] { return Predict(100 * GetParam()); });
  while (predictor_.calls() == 0) std::this_thread::yield();
  context_->TryCancel();
  EXPECT_EQ(call.get().error_code(), ::grpc::StatusCode::CANCELLED);
  EXPECT_EQ(AwaitCounted(), "CANCELLED");
}

TEST_F(Grpc, ReturnsStatusAndMetadata) {
  Start({});
  const auto models = tensorflow::serving::ModelService::NewStub(channel_);
  tensorflow::serving::GetModelStatusRequest ask;
  tensorflow::serving::GetModelStatusResponse answer;
  ask.mutable_model_spec()->set_name("digits");
  ::grpc::ClientContext first;
  ASSERT_TRUE(models->GetModelStatus(&first, ask, &answer).ok());
  ASSERT_EQ(answer.model_version_status_size(), 2);
  EXPECT_EQ(answer.model_version_status(1).state(), tensorflow::serving::ModelVersionStatus::AVAILABLE);

  tensorflow::serving::GetModelMetadataRequest about;
  tensorflow::serving::GetModelMetadataResponse metadata;
  about.mutable_model_spec()->set_name("digits");
  about.add_metadata_field("signature_def");
  ::grpc::ClientContext second;
  ASSERT_TRUE(PredictionService::NewStub(channel_)->GetModelMetadata(&second, about, &metadata).ok());
  EXPECT_EQ(second.GetServerInitialMetadata().count("x-longshore-node"), 1u);
  tensorflow::serving::SignatureDefMap signatures;
  ASSERT_TRUE(metadata.metadata().at("signature_def").UnpackTo(&signatures));
  EXPECT_EQ(signatures.signature_def().at("serving_default").inputs().at("x").dtype(), tensorflow::DT_FLOAT);

  tensorflow::serving::ReloadConfigResponse reloaded;
  ::grpc::ClientContext third;
  EXPECT_EQ(models->HandleReloadConfigRequest(&third, {}, &reloaded).error_code(),
            ::grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(Grpc, PassesAReloadOnAndReturnsItsResult) {
  Status outcome;
  std::string model;
  Start({.reload = [&](const tensorflow::serving::ModelServerConfig& config, auto, const auto& done) {
    model = config.model_config_list().config(0).name();
    done(outcome);
  }});
  const auto models = tensorflow::serving::ModelService::NewStub(channel_);
  tensorflow::serving::ReloadConfigRequest request;
  request.mutable_config()->mutable_model_config_list()->add_config()->set_name("other");
  const auto reload = [&] {
    ::grpc::ClientContext context;
    tensorflow::serving::ReloadConfigResponse response;
    return models->HandleReloadConfigRequest(&context, request, &response);
  };
  EXPECT_TRUE(reload().ok());
  EXPECT_EQ(model, "other");
  outcome = InvalidArgument("model \"other\" is configured twice");
  EXPECT_EQ(reload().error_message(), "model \"other\" is configured twice");
  request.add_metric_names("m");
  EXPECT_EQ(reload().error_code(), ::grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(Grpc, ServesAUnixSocket) {
  Start({.listen = "unix:" + testing::TempDir() + "peer_" + std::to_string(getpid()) + ".sock",
         .protocol = routing::Protocol::kPeer});
  PredictResponse response;
  ::grpc::ClientContext context;
  const auto status = PredictionService::NewStub(channel_)->Predict(&context, RequestFor("digits", 2), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(predictor_.last().protocol, routing::Protocol::kPeer);
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(Grpc, RefusesARequestThatIsTooLarge) {
  Start({.receive_bytes_max = 10'000});
  const auto stub = PredictionService::NewStub(channel_);
  PredictRequest request = RequestFor("digits", 1);
  (*request.mutable_inputs())["x"].set_tensor_content(std::string(10'000, 'x'));
  PredictResponse response;
  ::grpc::ClientContext large;
  EXPECT_EQ(stub->Predict(&large, request, &response).error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(predictor_.calls(), 0u);
  ::grpc::ClientContext small;
  EXPECT_TRUE(stub->Predict(&small, RequestFor("digits", 1), &response).ok());
}

TEST_F(Grpc, ConnectionsBeyondTheLimitWaitForOneToEnd) {
  Start({.connections_max = 1});
  const auto port = std::to_string(server_->port());
  const auto ask = [](const std::shared_ptr<::grpc::Channel>& channel, std::chrono::milliseconds time) {
    PredictResponse response;
    ::grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + time);
    return PredictionService::NewStub(channel)->Predict(&context, RequestFor("digits", 1), &response).error_code();
  };
  ASSERT_EQ(ask(channel_, std::chrono::seconds(60)), ::grpc::StatusCode::OK);
  const auto second = ChannelTo("127.0.0.1:" + port);
  EXPECT_EQ(ask(second, std::chrono::milliseconds(200)), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(server_->connections(), 1u);
  channel_.reset();
  EXPECT_EQ(ask(second, std::chrono::seconds(60)), ::grpc::StatusCode::OK);
}

TEST_F(Grpc, RequestsBeyondTheLimitOfAConnectionWaitAtTheClient) {
  Start({.streams_max = 1});
  const auto stub = PredictionService::NewStub(channel_);
  const auto ask = [&] {
    return std::async(std::launch::async, [&] {
      PredictResponse response;
      ::grpc::ClientContext context;
      return stub->Predict(&context, RequestFor("digits", 1), &response).ok();
    });
  };
  ASSERT_TRUE(ask().get()) << "the client learns the limit when the connection is established";
  predictor_.Hold();
  auto first = ask();
  while (predictor_.calls() < 2) std::this_thread::yield();
  auto second = ask();
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_EQ(predictor_.calls(), 2u);
  for (auto& done : predictor_.TakeHeld()) done(FakePredictor::Answer(RequestFor("digits", 1)));
  while (predictor_.calls() < 3) std::this_thread::yield();
  for (auto& done : predictor_.TakeHeld()) done(FakePredictor::Answer(RequestFor("digits", 1)));
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

class GrpcHealth : public Grpc {
 protected:
  void SetUp() override {
    Start({.connection_age_max_ms = 200});
    health_ = Health::NewStub(channel_);
  }
  Result<int> Check(const std::string& service) {
    ::grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    const auto status = health_->Check(&context, request, &response);
    if (!status.ok()) return tl::make_unexpected(rpc::FromGrpc(status));
    return response.status();
  }
  using Health = ::grpc::health::v1::Health;
  using HealthCheckRequest = ::grpc::health::v1::HealthCheckRequest;
  using HealthCheckResponse = ::grpc::health::v1::HealthCheckResponse;
  std::unique_ptr<Health::Stub> health_;
};

TEST_F(GrpcHealth, ReportsWhetherTheServerServes) {
  EXPECT_EQ(Check(""), HealthCheckResponse::NOT_SERVING);
  server_->SetServing(true);
  EXPECT_EQ(Check("tensorflow.serving.PredictionService"), HealthCheckResponse::SERVING);
  EXPECT_EQ(Check("x").error().code, Code::kNotFound);
}

TEST_F(GrpcHealth, ListsAllServices) {
  for (const auto expected : {HealthCheckResponse::NOT_SERVING, HealthCheckResponse::SERVING}) {
    server_->SetServing(expected == HealthCheckResponse::SERVING);
    ::grpc::ClientContext context;
    ::grpc::health::v1::HealthListResponse list;
    ASSERT_TRUE(health_->List(&context, {}, &list).ok());
    ASSERT_TRUE(list.statuses().contains("tensorflow.serving.PredictionService"));
    for (const auto& [service, response] : list.statuses()) {
      EXPECT_EQ(response.status(), expected) << service;
      EXPECT_EQ(Check(service), response.status()) << service;
    }
  }
}

TEST_F(GrpcHealth, AWatchReceivesChangesAndEndsWhenTheServerDrains) {
  ::grpc::ClientContext context;
  const auto watch = health_->Watch(&context, HealthCheckRequest());
  HealthCheckResponse answer;
  ASSERT_TRUE(watch->Read(&answer));
  EXPECT_EQ(answer.status(), HealthCheckResponse::NOT_SERVING);
  server_->SetServing(true);
  ASSERT_TRUE(watch->Read(&answer));
  EXPECT_EQ(answer.status(), HealthCheckResponse::SERVING);
  server_->Drain();
  EXPECT_FALSE(watch->Read(&answer));
  EXPECT_EQ(watch->Finish().error_code(), ::grpc::StatusCode::UNAVAILABLE);
}

TEST_F(GrpcHealth, AWatchOfAnUnknownServiceReportsThatAndCanBeCancelled) {
  ::grpc::ClientContext context;
  HealthCheckRequest request;
  request.set_service("x");
  const auto watch = health_->Watch(&context, request);
  HealthCheckResponse answer;
  ASSERT_TRUE(watch->Read(&answer));
  EXPECT_EQ(answer.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  context.TryCancel();
  EXPECT_FALSE(watch->Read(&answer));
  EXPECT_EQ(watch->Finish().error_code(), ::grpc::StatusCode::CANCELLED);
}

TEST_F(GrpcHealth, AServerDestroyedWithoutADrainEndsItsWatches) {
  ::grpc::ClientContext context;
  const auto watch = health_->Watch(&context, HealthCheckRequest());
  HealthCheckResponse answer;
  ASSERT_TRUE(watch->Read(&answer));
  server_.reset();
  EXPECT_FALSE(watch->Read(&answer));
  EXPECT_FALSE(watch->Finish().ok());
}

// Sends requests on several threads until it is stopped, and counts those that failed.
class Traffic {
 public:
  Traffic(int port, int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this, port] { Run(port); });
  }
  void Stop() {
    stop_ = true;
    for (auto& thread : threads_) thread.join();
  }
  int asked() const { return asked_; }
  int lost() const { return lost_; }

 private:
  void Run(int port) {
    const auto stub = PredictionService::NewStub(ChannelTo("127.0.0.1:" + std::to_string(port)));
    while (!stop_) {
      PredictResponse response;
      ::grpc::ClientContext context;
      const auto status = stub->Predict(&context, RequestFor("digits", 1), &response);
      if (!status.ok()) ++lost_;
      ++asked_;
    }
  }
  std::atomic<bool> stop_ = false;
  std::atomic<int> asked_ = 0;
  std::atomic<int> lost_ = 0;
  std::vector<std::thread> threads_;
};

TEST_F(Grpc, RestartsOnASharedSocketDoNotLoseRequests) {
  const Result<int> listening = process::Listen("127.0.0.1:0");
  ASSERT_TRUE(listening);
  const auto start = [&] { Start({.listen_fd = dup(*listening), .shares_socket = true, .connection_age_max_ms = 50}); };
  start();
  Traffic traffic(server_->port(), 4);
  constexpr int kRestarts = 8;
  for (int i = 0; i < kRestarts; ++i) {
    const int before = traffic.asked();
    while (traffic.asked() < before + 200) std::this_thread::yield();
    std::unique_ptr<GrpcServer> leaving = std::move(server_);
    start();
    leaving->Drain();
    EXPECT_EQ(leaving->connections(), 0u);
  }
  traffic.Stop();
  EXPECT_EQ(traffic.lost(), 0) << "of " << traffic.asked();
  close(*listening);
}

TEST_F(Grpc, ANewProcessGetsItsShareOfConnections) {
  Start({.shares_socket = true, .connection_age_max_ms = 200});
  const auto crowded = std::move(server_);
  Traffic traffic(crowded->port(), 12);
  while (crowded->connections() < 12) std::this_thread::yield();
  Start({.listen_fd = dup(crowded->listen_fd()), .shares_socket = true, .connection_age_max_ms = 200});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (server_->connections() < 4 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_GE(server_->connections(), 4u);
  traffic.Stop();
  EXPECT_EQ(traffic.lost(), 0);
}

}  // namespace
}  // namespace longshore::frontend

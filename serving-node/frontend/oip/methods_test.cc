// Tests what the methods answer, and both servers on top of them, with a predictor that doubles "x".
#include "serving-node/frontend/oip/methods.h"

#include <gmock/gmock.h>

#include "common/base/text.h"
#include "common/json/json.h"
#include "inference/service.grpc.pb.h"
#include "serving-node/frontend/grpc_server.h"
#include "serving-node/frontend/oip/codec/message_json.h"
#include "serving-node/frontend/oip/grpc_service.h"
#include "serving-node/frontend/oip/rest.h"
#include "serving-node/frontend/oip/testing.h"
#include "serving-node/frontend/rest_server.h"

namespace longshore::frontend::oip {
namespace {

using ::inference::GRPCInferenceService;
using ::inference::ModelInferRequest;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class OipTest : public testing::Test, protected FakeMethods {
 protected:
  codec::InferRequest Request() const {
    codec::InferRequest request;
    request.model = "digits";
    request.inputs["x"] = tensor::Tensor::Of<float>({2}, {1, 2});
    return request;
  }
  Result<Answered> Infer(codec::InferRequest request, CallInfo info = {}) const {
    Result<Answered> answer;
    methods_.Infer(std::move(request), std::move(info), [&](Result<Answered> each) { answer = std::move(each); });
    return answer;
  }
};

TEST_F(OipTest, PassesTheTermsOfARequestOn) {
  codec::InferRequest request = Request();
  request.priority = 1;
  request.timeout = std::chrono::hours(1);
  request.signature = "s";
  request.version = "canary";
  request.outputs = {{.name = "y"}};
  const auto answer = Infer(std::move(request), {.headers = {{"a", "b"}, {"x-longshore-priority", "3"}},
                                                 .protocol = routing::Protocol::kOipRest});
  ASSERT_TRUE(answer) << answer.error().message;
  const routing::PredictCall call = predictor_.last();
  EXPECT_EQ(call.request.model_spec().version_label(), "canary");
  EXPECT_EQ(call.request.model_spec().signature_name(), "s");
  EXPECT_THAT(call.request.outputs(), ElementsAre("y"));
  EXPECT_THAT(call.headers, ElementsAre(testing::Pair("a", "b"), testing::Pair("x-longshore-priority", "9")));
  EXPECT_LT(call.deadline, std::chrono::steady_clock::now() + std::chrono::hours(2));
  EXPECT_EQ(call.protocol, routing::Protocol::kOipRest);
}

TEST_F(OipTest, ConvertsPrioritiesSoThatOneIsTheHighest) {
  for (const auto& [priority, level] : std::map<uint64_t, std::string>{{1, "9"}, {9, "1"}, {10, "0"}}) {
    codec::InferRequest request = Request();
    request.priority = priority;
    ASSERT_TRUE(Infer(std::move(request)));
    EXPECT_EQ(routing::HeaderValue(predictor_.last().headers, "x-longshore-priority"), level);
  }
  codec::InferRequest request = Request();
  request.priority = 0;
  ASSERT_TRUE(Infer(std::move(request)));
  EXPECT_TRUE(predictor_.last().headers.empty());
}

TEST_F(OipTest, WordsUnknownModelsAsTritonDoes) {
  codec::InferRequest request = Request();
  request.model = "nope";
  EXPECT_EQ(Infer(request).error(), (Error{Code::kNotFound, "Request for unknown model: 'nope' is not found"}));
  request.version = "7";
  EXPECT_EQ(Infer(request).error().message, "Request for unknown model: 'nope' version 7 is not found");
  request.version = "99999999999999999999";
  EXPECT_EQ(Infer(request).error().code, Code::kInvalidArgument);
}

TEST_F(OipTest, ListsTheVersionsOfTheRepository) {
  const auto index = methods_.Index({});
  ASSERT_TRUE(index);
  EXPECT_EQ(codec::MessageToJson(*index, codec::Unset::kOmit),
            R"({"models":[{"name":"digits","version":"3","state":"READY"},)"
            R"({"name":"digits","version":"4","state":"UNAVAILABLE","reason":"no saved_model.pb"},{"name":"gone"}]})");
  ::inference::RepositoryIndexRequest only_ready;
  only_ready.set_ready(true);
  EXPECT_EQ(methods_.Index(only_ready)->models_size(), 1);
}

TEST_F(OipTest, CountsOnlyVersionsThatAreReady) {
  batching::RunOutcome outcome;
  outcome.run_time = std::chrono::milliseconds(2);
  statistics_.Record({"digits", kVersion, 5, std::chrono::milliseconds(3), &outcome, TimePoint()});
  const auto all = methods_.Statistics({});
  ASSERT_TRUE(all);
  ASSERT_EQ(all->model_stats_size(), 1);
  const auto& statistics = all->model_stats(0);
  EXPECT_EQ(statistics.inference_count(), 5u);
  EXPECT_EQ(statistics.inference_stats().success().ns(), 3'000'000u);
  EXPECT_EQ(statistics.inference_stats().compute_infer().ns(), 2'000'000u);
  EXPECT_EQ(statistics.batch_stats(0).batch_size(), 5u);
  EXPECT_EQ(methods_.Statistics({"digits", "4"}).error().code, Code::kNotFound);
}

TEST_F(OipTest, TakesAVersionOfDigitsForANumberAndAnyOtherForALabelInAllCalls) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (const auto& [version, is_known] : std::map<std::string, bool>{
           {"3", true}, {"03", true}, {"canary", true}, {"4", false}, {"+3", false}, {"3x", false}}) {
    const ModelName model{"digits", version};
    EXPECT_EQ(methods_.Statistics(model).has_value(), is_known) << version;
    methods_.ModelReady(model, deadline, [&](const Result<bool>& ready) { EXPECT_EQ(*ready, is_known) << version; });
    methods_.ModelMetadata(model, deadline,
                           [&](const auto& answer) { EXPECT_EQ(answer.has_value(), is_known) << version; });
  }
  EXPECT_EQ(methods_.Statistics({"digits", "99999999999999999999"}).error().code, Code::kInvalidArgument);
}

// Both servers on ports of their own.
class OipServers : public OipTest {
 protected:
  void SetUp() override {
    GrpcOptions grpc{.listen = "127.0.0.1:0", .connection_age_max_ms = 20};
    const auto service = std::make_shared<GrpcService>(methods_, CallOptions{.node = "n", .in_flight = &in_flight_});
    grpc.add_methods = [service](grpc_server::Service& all) { service->AddTo(all); };
    grpc.end_streams = [service] { service->EndStreams(); };
    grpc_ = *GrpcServer::Start(std::move(grpc), predictor_, catalog_);
    RestOptions rest{.listen = "127.0.0.1:0"};
    rest.other_api = std::make_shared<Rest>(methods_, Rest::Options{.in_flight = &in_flight_});
    rest_ = *RestServer::Start(std::move(rest), predictor_, catalog_, [] { return ""; });
    stub_ = GRPCInferenceService::NewStub(ChannelTo("127.0.0.1:" + std::to_string(grpc_->port())));
  }
  static ModelInferRequest Message() {
    ModelInferRequest message;
    message.set_model_name("digits");
    auto& input = *message.add_inputs();
    input.set_name("x");
    input.set_datatype("FP32");
    input.add_shape(2);
    for (const float value : {1.0f, 2.5f}) input.mutable_contents()->add_fp32_contents(value);
    return message;
  }
  // Waits until the previous request has left its slot, of which there is only one: a client may see an answer earlier.
  void AwaitSlot() {
    while (!in_flight_.Enter()) std::this_thread::yield();
  }
  std::string FetchInfer(const std::string& model, const std::string& body, const std::string& headers) {
    AwaitSlot();
    return Fetch(rest_->port(), "POST", "/v2/models/" + model + "/infer", body, headers);
  }
  std::string Ask(const std::string& method, const std::string& path, const std::string& body = "") const {
    return Fetch(rest_->port(), method, path, body);
  }

  static constexpr const char* kBody = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,2.5]}]})";
  InFlight in_flight_{InFlight::Limits{.requests_max = 1}};
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<RestServer> rest_;
  std::unique_ptr<GRPCInferenceService::Stub> stub_;
};

TEST_F(OipServers, AnswerTheSameByGrpcAndRest) {
  ::grpc::ClientContext context;
  ::inference::ModelInferResponse answer;
  ASSERT_TRUE(stub_->ModelInfer(&context, Message(), &answer).ok());
  EXPECT_EQ(answer.raw_output_contents(0), std::string("\0\0\0\x40\0\0\xa0\x40", 8));
  EXPECT_EQ(context.GetServerInitialMetadata().count("x-longshore-version"), 1u);
  EXPECT_THAT(FetchInfer("digits", kBody, ""),
              AllOf(HasSubstr("x-longshore-version: 3"), HasSubstr(R"("data":[2.0,5.0])")));
}

TEST_F(OipServers, RefuseRequestsAboveTheLimitInFlight) {
  const auto slot = *in_flight_.Enter();
  ::grpc::ClientContext context;
  ::inference::ModelInferResponse answer;
  EXPECT_EQ(stub_->ModelInfer(&context, Message(), &answer).error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(Ask("POST", "/v2/models/digits/infer", "not even JSON"),
              AllOf(HasSubstr("429"), HasSubstr("Retry-After")));
  EXPECT_EQ(predictor_.calls(), 0u);
}

TEST_F(OipServers, AnswerTheRequestsOfAStreamInOrder) {
  ::grpc::ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  ModelInferRequest wrong = Message();
  wrong.set_id("2");
  wrong.mutable_inputs(0)->set_datatype("nope");
  ASSERT_TRUE(stream->Write(Message()) && stream->Write(wrong) && stream->Write(Message()));
  stream->WritesDone();
  std::vector<std::string> errors;
  ::inference::ModelStreamInferResponse answer;
  while (stream->Read(&answer)) errors.push_back(answer.error_message());
  EXPECT_THAT(errors, ElementsAre("", HasSubstr("invalid datatype"), ""));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(OipServers, RepeatInAStreamTheIdAndTheMarkOfARequestThatIsNotValid) {
  ::grpc::ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  ModelInferRequest wrong = Message();
  wrong.set_id("2");
  wrong.mutable_inputs(0)->set_name(std::string(100000, 'x'));
  wrong.mutable_inputs(0)->set_datatype("nope");
  (*wrong.mutable_parameters())["triton_enable_empty_final_response"].set_bool_param(true);
  ASSERT_TRUE(stream->Write(wrong));
  stream->WritesDone();
  ::inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.infer_response().id(), "2");
  EXPECT_TRUE(answer.infer_response().parameters().at("triton_final_response").bool_param());
  EXPECT_THAT(answer.error_message(), HasSubstr("invalid datatype"));
  EXPECT_LT(answer.error_message().size(), 10000u);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(OipServers, EndAStreamWithTheFirstErrorIfItsMetadataAskForThat) {
  ::grpc::ClientContext context;
  context.AddMetadata("triton_grpc_error", "true");
  const auto stream = stub_->ModelStreamInfer(&context);
  ModelInferRequest wrong = Message();
  wrong.set_model_name("nope");
  ASSERT_TRUE(stream->Write(Message()) && stream->Write(wrong));
  ::inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), ::grpc::StatusCode::NOT_FOUND);
}

TEST_F(OipServers, EndAnIdleStreamWhenTheServerDrains) {
  ::grpc::ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  ASSERT_TRUE(stream->Write(Message()));
  ::inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  std::jthread draining([this] { grpc_->Drain(); });
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), ::grpc::StatusCode::UNAVAILABLE);
}

TEST_F(OipServers, AnswerTheCurrentRequestOfAStreamBeforeADrainEndsIt) {
  predictor_.Hold();
  ::grpc::ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  ASSERT_TRUE(stream->Write(Message()));
  while (predictor_.calls() == 0) std::this_thread::yield();
  std::jthread draining([this] { grpc_->Drain(); });
  while (grpc_->listen_fd() != -1) std::this_thread::yield();
  for (const auto& done : predictor_.TakeHeld()) done(FakePredictor::Answer(predictor_.last().request));
  ::inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "");
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), ::grpc::StatusCode::UNAVAILABLE);
}

// Memory may run out in the predictor, which then throws, or when a large answer is converted.
TEST_F(OipServers, AnswerWithResourceExhaustedIfMemoryDoesNotSuffice) {
  predictor_.ThrowBadAlloc();
  ::grpc::ClientContext context;
  ::inference::ModelInferResponse unary;
  EXPECT_EQ(stub_->ModelInfer(&context, Message(), &unary).error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  AwaitSlot();
  ::grpc::ClientContext second;
  const auto stream = stub_->ModelStreamInfer(&second);
  ASSERT_TRUE(stream->Write(Message()) && stream->Write(Message()) && stream->WritesDone());
  ::inference::ModelStreamInferResponse answer;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream->Read(&answer));
    EXPECT_THAT(answer.error_message(), HasSubstr("memory does not suffice"));
  }
  EXPECT_TRUE(stream->Finish().ok());
  AwaitSlot();
}

TEST_F(OipServers, RefuseChangesByPagesOfOtherWebSites) {
  const auto unload = [this](const std::string& headers) {
    return Fetch(rest_->port(), "POST", "/v2/repository/models/digits/unload", "{}", headers);
  };
  for (const char* origin : {"Origin: http://evil.example\r\n", "Origin: null\r\n"}) {
    EXPECT_THAT(unload(origin), AllOf(HasSubstr("403"), HasSubstr("Origin"))) << origin;
    EXPECT_THAT(Fetch(rest_->port(), "POST", "/v2/logging", "{}", origin), HasSubstr("403")) << origin;
    EXPECT_THAT(FetchInfer("digits", kBody, origin), HasSubstr("200 OK"));
  }
  EXPECT_TRUE(repository_.changes_.empty());
  EXPECT_THAT(unload("Origin: http://h\r\n"), HasSubstr("200 OK")) << "Host is h";
  EXPECT_THAT(repository_.changes_, ElementsAre("unload digits"));
}

TEST_F(OipServers, EndAStreamThatIsCancelledWhileARequestRuns) {
  predictor_.Hold();
  {
    ::grpc::ClientContext context;
    const auto stream = stub_->ModelStreamInfer(&context);
    ASSERT_TRUE(stream->Write(Message()));
    while (predictor_.calls() == 0) std::this_thread::yield();
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), ::grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(predictor_.last().cancelled.stop_possible());
  for (const auto& done : predictor_.TakeHeld()) done(Unavailable("the run was cancelled"));
}

TEST_F(OipServers, ChangeTheRepository) {
  EXPECT_THAT(Ask("POST", "/v2/repository/models/digits/load"), HasSubstr("200 OK"));
  EXPECT_THAT(Ask("POST", "/v2/repository/models/digits/unload", R"({"parameters":{"unload_dependents":true}})"),
              HasSubstr("200 OK"));
  EXPECT_THAT(Ask("POST", "/v2/repository/models/digits/load", R"({"parameters":{"file:1/a":"b"}})"),
              AllOf(HasSubstr("400"), HasSubstr("load parameter 'file:1/a' is not supported")));
  EXPECT_THAT(Ask("POST", "/v2/repository/models/digits/load", "[]"), HasSubstr("400"));
  EXPECT_THAT(repository_.changes_, ElementsAre("load digits", "unload digits"));
}

TEST_F(OipServers, RefuseALargeBodyThatIsNotAnInferenceWithTheLimit) {
  const std::string large(2000000, ' ');
  for (const char* path : {"/v2/repository/index", "/v2/repository/models/digits/load"}) {
    EXPECT_THAT(Ask("POST", path, large),
                AllOf(HasSubstr("413"), HasSubstr("the request has more than 1048576 bytes")));
  }
  for (const char* path : {"/v2/logging", "/v2/trace/setting"}) {
    EXPECT_THAT(Ask("POST", path, R"({"log_info":)" + std::string(70000, ' ') + "true}"),
                AllOf(HasSubstr("413"), HasSubstr("the settings have more than 65536 bytes")));
  }
}

TEST_F(OipServers, ReadTheSizeOfTheJsonFromOneHeaderWhateverTheTypeOfTheBodyIs) {
  const auto infer = [this](const std::string& headers) { return FetchInfer("digits", kBody, headers); };
  const std::string length = "Inference-Header-Content-Length: " + std::to_string(strlen(kBody)) + "\r\n";
  EXPECT_THAT(infer("Content-Type: application/octet-stream; charset=binary\r\n"), HasSubstr("200 OK"));
  EXPECT_THAT(infer("Content-Type: Application/Octet-Stream; x=y\r\n" + length), HasSubstr("200 OK"));
  EXPECT_THAT(infer(length + length), AllOf(HasSubstr("400"), HasSubstr("more than once")));
}

TEST_F(OipServers, AnswerAnErrorWithAShortValidText) {
  const std::string answer =
      Ask("POST", "/v2/models/digits/infer", R"({"inputs":[{"name":"x)" + std::string(100000, 'x') + "\xff\"}]}");
  EXPECT_THAT(answer, HasSubstr("400"));
  EXPECT_LT(answer.size(), 10000U);
  EXPECT_TRUE(IsUtf8(Ask("GET", "/v2/models/%FF"))) << "the name of an unknown model";
}

TEST_F(OipServers, ReadABodyWithoutJsonAsTheOnlyInputOfTheModel) {
  const std::string header = "Inference-Header-Content-Length: 0\r\n";
  const auto infer = [&](const std::string& model, const std::string& body) { return FetchInfer(model, body, header); };
  const std::string answer = infer("digits", std::string("\0\0\x80\x3f\0\0\x20\x40", 8));
  EXPECT_THAT(answer, AllOf(HasSubstr("200 OK"), HasSubstr("application/octet-stream"), HasSubstr(R"("shape":[2])")));
  EXPECT_TRUE(answer.ends_with(std::string("\0\0\0\x40\0\0\xa0\x40", 8)));
  EXPECT_THAT(infer("digits", "abc"), AllOf(HasSubstr("400"), HasSubstr("byte size mismatch")));
  EXPECT_THAT(infer("nope", "abcd"), AllOf(HasSubstr("404"), HasSubstr("unknown model")));
}

}  // namespace
}  // namespace longshore::frontend::oip

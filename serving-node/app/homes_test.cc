// Tests three complete nodes of one fleet in this process: node "a" knows no model, node "b" is a home node that holds
// no version, and node "c" holds two models. Every request that works at "b" must work at "a".
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include "serving-node/app/testing.h"
#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::app {
namespace {

using frontend::Fetch;
using tensorflow::serving::ModelService;
using tensorflow::serving::PredictionService;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HomesTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    version_ = Half().models(0).versions(0).version();
    auto of_holder = WithPeers("abc");
    *of_holder.mutable_models() = Half().models();
    auto& lines = *of_holder.add_models();
    lines = of_holder.models(0);
    lines.set_served_name("lines");
    lines.set_source_uri("file://" + (kModels / "examples_tf1").string());
    c_ = StartNode("c", of_holder);
    auto of_home = of_holder;
    for (auto& model : *of_home.mutable_models()) {
      model.mutable_versions(0)->set_load(false);
      model.mutable_versions(0)->add_ready("c");
    }
    b_ = StartNode("b", of_home);
    a_ = StartNode("a", WithPeers("ab"));
    channel_ = ::grpc::CreateChannel("127.0.0.1:" + std::to_string(a_->sockets().grpc_port),
                                     ::grpc::InsecureChannelCredentials());
  }
  void TearDown() override {
    for (auto* node : {&a_, &b_, &c_}) node->reset();
    NodeTest::TearDown();
  }

  std::string SocketOf(char node) const { return "unix:" + (dir_ / (std::string(1, node) + ".sock")).string(); }
  control::DesiredState WithPeers(const std::string& nodes) const {
    control::DesiredState state;
    state.set_epoch(1);
    state.mutable_fleet()->set_fleet("ns/f");
    for (const char name : nodes) {
      auto& peer = *state.mutable_fleet()->add_peers();
      peer.set_node(std::string(1, name));
      peer.set_address(SocketOf(name));
    }
    return state;
  }
  std::unique_ptr<Node> StartNode(const std::string& name, const control::DesiredState& state) {
    BeManaged();
    flags_.node = name;
    flags_.state_dir = dir_ / ("state-" + name);
    flags_.peer_address = SocketOf(name[0]);
    std::filesystem::create_directories(flags_.state_dir);
    Hold(state);
    Start();
    EXPECT_TRUE(TickUntil([this] { return IsReady(); })) << Admin("/readyz");
    return std::move(node_);
  }

  std::string Rest(const std::string& method, const std::string& route, const std::string& body = "") {
    return Fetch(a_->sockets().rest_port, method, "/v1/models/" + route, body);
  }
  template <typename Request>
  static Request About(const std::string& model, const std::string& signature = "") {
    Request request;
    request.mutable_model_spec()->set_name(model);
    request.mutable_model_spec()->set_signature_name(signature);
    return request;
  }
  static void AddExample(float x, tensorflow::serving::Input* input) {
    auto& example = *input->mutable_example_list()->add_examples();
    (*example.mutable_features()->mutable_feature())["x"].mutable_float_list()->add_value(x);
  }

  int64_t version_ = 0;
  std::unique_ptr<Node> c_;
  std::unique_ptr<Node> b_;
  std::unique_ptr<Node> a_;
  std::shared_ptr<::grpc::Channel> channel_;
};

TEST_F(HomesTest, AnswersOverRestForModelsOfOtherNodes) {
  const std::string version = std::to_string(version_);
  EXPECT_THAT(Rest("POST", "half:predict", kBody),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("3.0"), HasSubstr("x-longshore-version: " + version)));
  EXPECT_THAT(Rest("POST", "half/versions/" + version + ":predict", kBody), HasSubstr("3.0"));
  const std::string examples = R"({"signature_name": "%", "examples": [{"x": 2.0}]})";
  const auto with = [&](const std::string& name) { return std::string(examples).replace(examples.find('%'), 1, name); };
  EXPECT_THAT(Rest("POST", "lines:regress", with("regress_x")), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("3.0")));
  EXPECT_THAT(Rest("POST", "lines:classify", with("classify_x")), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("3.0")));
  EXPECT_THAT(Rest("GET", "half/metadata"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("DT_FLOAT")));
  EXPECT_THAT(Rest("GET", "half"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("AVAILABLE")));
  EXPECT_THAT(Rest("GET", "half/versions/" + version), HasSubstr("AVAILABLE"));
}

TEST_F(HomesTest, AnswersOverGrpcForModelsOfOtherNodes) {
  const auto predictions = PredictionService::NewStub(channel_);
  {
    ::grpc::ClientContext context;
    auto request = About<tensorflow::serving::RegressionRequest>("lines", "regress_x");
    AddExample(2, request.mutable_input());
    tensorflow::serving::RegressionResponse response;
    const auto status = predictions->Regress(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.result().regressions(0).value(), 3);
    EXPECT_EQ(response.model_spec().version().value(), version_);
  }
  {
    ::grpc::ClientContext context;
    auto request = About<tensorflow::serving::ClassificationRequest>("lines", "classify_x");
    AddExample(2, request.mutable_input());
    tensorflow::serving::ClassificationResponse response;
    const auto status = predictions->Classify(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.result().classifications(0).classes(0).score(), 3);
  }
  {
    ::grpc::ClientContext context;
    tensorflow::serving::MultiInferenceRequest request;
    for (const auto& [method, signature] : {std::pair("tensorflow/serving/regress", "regress_x"),
                                            std::pair("tensorflow/serving/classify", "classify_x")}) {
      auto& task = *request.add_tasks();
      task.mutable_model_spec()->set_name("lines");
      task.mutable_model_spec()->set_signature_name(signature);
      task.set_method_name(method);
    }
    AddExample(2, request.mutable_input());
    tensorflow::serving::MultiInferenceResponse response;
    const auto status = predictions->MultiInference(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.results_size(), 2);
    EXPECT_EQ(response.results(0).regression_result().regressions(0).value(), 3);
  }
}

TEST_F(HomesTest, ReturnsSignaturesAndStatusOverGrpc) {
  {
    ::grpc::ClientContext context;
    auto request = About<tensorflow::serving::GetModelMetadataRequest>("half");
    request.add_metadata_field("signature_def");
    tensorflow::serving::GetModelMetadataResponse response;
    const auto status = PredictionService::NewStub(channel_)->GetModelMetadata(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.model_spec().version().value(), version_);
    tensorflow::serving::SignatureDefMap signatures;
    ASSERT_TRUE(response.metadata().at("signature_def").UnpackTo(&signatures));
    EXPECT_TRUE(signatures.signature_def().contains("serving_default"));
  }
  {
    ::grpc::ClientContext context;
    tensorflow::serving::GetModelStatusResponse response;
    const auto status = ModelService::NewStub(channel_)->GetModelStatus(
        &context, About<tensorflow::serving::GetModelStatusRequest>("half"), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_EQ(response.model_version_status_size(), 1);
    EXPECT_EQ(response.model_version_status(0).version(), version_);
  }
}

TEST_F(HomesTest, ReturnsTensorFlowServingsErrorsForUnknownModelsAndVersions) {
  EXPECT_THAT(Rest("POST", "other:predict", kBody),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Servable not found for request: Latest(other)")));
  EXPECT_THAT(Rest("GET", "other/metadata"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Servable not found for request: Latest(other)")));
  EXPECT_THAT(Rest("GET", "other"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Could not find any versions of model other")));
  EXPECT_THAT(Rest("POST", "half/versions/99:predict", R"({"inputs": {"x": [2.0]}})"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Servable not found for request: Specific(half, 99)")));
  EXPECT_THAT(Rest("GET", "half/versions/99/metadata"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Servable not found for request: Specific(half, 99)")));
  EXPECT_THAT(Rest("GET", "half/versions/99"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Could not find version 99 of model half")));
}

TEST_F(HomesTest, IsUnavailableIfTheHomeIsGoneOrNoNodeHoldsTheModel) {
  c_.reset();
  EXPECT_THAT(Rest("POST", "half:predict", kBody), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(Rest("GET", "half/metadata"), StartsWith("HTTP/1.1 503"));
  b_.reset();
  EXPECT_THAT(Rest("POST", "half:predict", kBody), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(Rest("GET", "half/metadata"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(Rest("GET", "half"), StartsWith("HTTP/1.1 503"));
}

TEST_F(HomesTest, CountsFailedRequestsUnderTheModelNameIfAHomeKnowsTheModel) {
  const std::string wrong = R"({"signature_name": "none", "inputs": {"x": [2.0]}})";
  EXPECT_THAT(Rest("POST", "half:predict", wrong), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Rest("POST", "other:predict", kBody), StartsWith("HTTP/1.1 404"));
  const std::string metrics = Fetch(a_->admin_port(), "GET", "/metrics");
  EXPECT_THAT(metrics, HasSubstr("longshore_requests_total{code=\"INVALID_ARGUMENT\",model=\"half\""));
  EXPECT_THAT(metrics, HasSubstr("longshore_requests_total{code=\"NOT_FOUND\",model=\"\""));
  EXPECT_THAT(metrics, Not(HasSubstr("other\"")));
  EXPECT_THAT(metrics, HasSubstr("longshore_home_hops_total{outcome=\"unknown\"}"));
}

TEST_F(HomesTest, TheOpenInferenceProtocolReachesTheSameModels) {
  const int port = a_->sockets().rest_port;
  const std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[2]}]})";
  EXPECT_THAT(Fetch(port, "POST", "/v2/models/half/infer", body),
              AllOf(HasSubstr(R"("data":[3.0])"), HasSubstr("x-longshore-node: a")));
  EXPECT_THAT(Fetch(port, "GET", "/v2/models/half"), HasSubstr(R"("inputs":[{"name":"x")"));
  EXPECT_THAT(Fetch(port, "GET", "/v2/models/half/ready"), HasSubstr(R"({"name":"half","ready":true})"));
  EXPECT_THAT(Fetch(port, "GET", "/v2/models/nope/ready"), HasSubstr("Model version not ready"));
  EXPECT_THAT(Fetch(port, "POST", "/v2/repository/models/half/unload"), HasSubstr("managed by a controller"));
  EXPECT_THAT(Fetch(b_->sockets().rest_port, "POST", "/v2/repository/index"),
              HasSubstr(R"("name":"half","version":")" + std::to_string(version_) + R"(","state":"READY")"));
}

}  // namespace
}  // namespace longshore::app

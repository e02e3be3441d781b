#include "serving-node/frontend/fleet_catalog.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>

#include <thread>

#include "serving-node/frontend/grpc_server.h"
#include "serving-node/frontend/rest_server.h"
#include "serving-node/frontend/store_catalog.h"
#include "serving-node/frontend/testing.h"
#include "serving-node/routing/hop.h"
#include "serving-node/routing/testing.h"
#include "tensorflow_serving/services.grpc.pb.h"

namespace longshore::frontend {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Node a holds no model and has REST clients. Its peer, node b, holds "digits" version 3.
class FleetCatalogTest : public testing::Test {
 protected:
  void SetUp() override {
    auto peer = GrpcServer::Start({.listen = "127.0.0.1:0", .protocol = routing::Protocol::kPeer}, on_b_, held_by_b_);
    ASSERT_TRUE(peer) << peer.error().message;
    peer_ = std::move(*peer);
    auto rest = RestServer::Start({.listen = "127.0.0.1:0", .node = "a"}, a_.router, catalog_, [] { return ""; });
    ASSERT_TRUE(rest) << rest.error().message;
    rest_ = std::move(*rest);
  }
  void TearDown() override { rest_.reset(); }

  static std::string Holder(const std::string& node, int port) {
    return fmt::format(R"(fleet {{ peers {{ node: "{}" address: "127.0.0.1:{}" }} }} )", node, port);
  }
  void SetState(const std::string& peers) {
    a_.SetState(peers +
                    R"(models { served_name: "digits" assignment { salt: "s" }
                        versions { version: 3 weight_bp: 10000 role: STABLE } })",
                {}, {{"b", "3"}, {"dead", "3"}});
  }
  std::string Predict(const std::string& model) {
    return Fetch(rest_->port(), "POST", "/v1/models/" + model + ":predict", R"({"instances": [1, 2.5]})");
  }

  routing::TestDir dir_;
  FakePredictor on_b_;
  FakeCatalog held_by_b_;
  routing::TestNode a_{dir_.path(), "a"};
  StoreCatalog held_by_a_{a_.store, true};
  FleetCatalog catalog_{held_by_a_, a_.router, *a_.forwarder};
  std::unique_ptr<GrpcServer> peer_;
  std::unique_ptr<RestServer> rest_;
};

TEST_F(FleetCatalogTest, PredictsWithTheSignatureOfThePeerThatHoldsTheModel) {
  SetState(Holder("b", peer_->port()));
  EXPECT_THAT(Predict("digits"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("[2.0, 5.0"), HasSubstr("x-longshore-version: 3")));
  EXPECT_EQ(on_b_.calls(), 1u);
}

TEST_F(FleetCatalogTest, AsksTheNextPeerWhenOneIsDead) {
  SetState(Holder("b", peer_->port()) + Holder("dead", 1));
  EXPECT_THAT(Fetch(rest_->port(), "GET", "/v1/models/digits/versions/3/metadata"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("DT_FLOAT")));
}

TEST_F(FleetCatalogTest, ReportsThatNoNodeHasTheModelReady) {
  SetState("");
  EXPECT_THAT(Predict("digits"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("no node of the fleet")));
}

TEST_F(FleetCatalogTest, DescribesTheStableVersionRatherThanTheCandidate) {
  a_.Hold({1, 2});
  a_.SetState(R"(models { served_name: "digits" assignment { salt: "s" }
                          versions { version: 1 weight_bp: 9000 role: STABLE load: true }
                          versions { version: 2 weight_bp: 1000 role: CANDIDATE load: true } })",
              {{"next", 2}});
  tensorflow::serving::ModelSpec spec;
  spec.set_name("digits");
  EXPECT_EQ(catalog_.Describe(spec)->version, 1);
  spec.set_version_label("next");
  EXPECT_EQ(catalog_.Describe(spec)->version, 2);
}

TEST_F(FleetCatalogTest, DescribesAnotherVersionInsteadOfOneThatOnlyPeersHold) {
  a_.Hold({1});
  a_.SetState(R"(models { served_name: "digits" assignment { salt: "s" }
                          versions { version: 1 weight_bp: 9000 role: STABLE load: true }
                          versions { version: 2 weight_bp: 1000 role: CANDIDATE } })",
              {{"next", 2}});
  tensorflow::serving::ModelSpec spec;
  spec.set_name("digits");
  spec.set_version_label("next");
  EXPECT_EQ(catalog_.DescribeSimilar(spec)->version, 1);
  spec.set_version_label("none");
  EXPECT_EQ(catalog_.DescribeSimilar(spec).error().message, "Unrecognized servable version label: none");
  spec.mutable_version()->set_value(9);
  EXPECT_EQ(catalog_.DescribeSimilar(spec).error().message, "Servable not found for request: Specific(digits, 9)");
}

// A node that has unloaded the model must not report it as ended while other nodes serve it.
TEST_F(FleetCatalogTest, AsksOtherNodesForAModelThatWasUnloaded) {
  a_.Hold({1});
  ASSERT_TRUE(catalog_.Versions("digits"));
  a_.store.Apply({});
  while (a_.store.Statuses("digits").front().state != models::State::kEnd) std::this_thread::yield();
  EXPECT_EQ(catalog_.Versions("digits").error().code, Code::kNotFound);
}

TEST_F(FleetCatalogTest, AModelThatTheFleetDoesNotKnowIsNotFound) {
  SetState(Holder("b", peer_->port()));
  EXPECT_THAT(Predict("other"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Servable not found for request: Latest(other)")));
}

// Adds a gRPC listener to node a, and opens a channel to it.
class ListenerTest : public FleetCatalogTest {
 protected:
  void Open(GrpcOptions options, const Catalog& catalog) {
    auto listener = GrpcServer::Start(std::move(options), a_.router, catalog);
    ASSERT_TRUE(listener) << listener.error().message;
    listener_ = std::move(*listener);
    channel_ =
        ::grpc::CreateChannel("127.0.0.1:" + std::to_string(listener_->port()), ::grpc::InsecureChannelCredentials());
  }
  void TearDown() override {
    listener_.reset();
    FleetCatalogTest::TearDown();
  }

  std::unique_ptr<GrpcServer> listener_;
  std::shared_ptr<::grpc::Channel> channel_;
};

// Another node queries node a, as a home node of the model or as a node that holds it.
class HomeCatalogTest : public ListenerTest {
 protected:
  void SetUp() override {
    ListenerTest::SetUp();
    Open({.listen = "127.0.0.1:0", .protocol = routing::Protocol::kPeer, .home = {&home_, "ns/f"}}, held_by_a_);
  }
  ::grpc::StatusCode AskForSignatures(const std::string& model, const std::string& fleet, const char* hop) {
    ::grpc::ClientContext context;
    context.AddMetadata(routing::kHopHeader, hop);
    context.AddMetadata(routing::kHopFleetHeader, fleet);
    tensorflow::serving::GetModelMetadataRequest request;
    request.mutable_model_spec()->set_name(model);
    request.add_metadata_field("signature_def");
    tensorflow::serving::GetModelMetadataResponse response;
    const auto predictions = tensorflow::serving::PredictionService::NewStub(channel_);
    return predictions->GetModelMetadata(&context, request, &response).error_code();
  }
  ::grpc::StatusCode AskForStatus(const std::string& model, const std::string& fleet, const char* hop) {
    ::grpc::ClientContext context;
    context.AddMetadata(routing::kHopHeader, hop);
    context.AddMetadata(routing::kHopFleetHeader, fleet);
    tensorflow::serving::GetModelStatusRequest request;
    request.mutable_model_spec()->set_name(model);
    tensorflow::serving::GetModelStatusResponse response;
    return tensorflow::serving::ModelService::NewStub(channel_)
        ->GetModelStatus(&context, request, &response)
        .error_code();
  }

  HomeCatalog home_{catalog_, a_.router};
};

TEST_F(HomeCatalogTest, AsksHoldersForKnownModelsAndNoNodeForUnknownOnes) {
  SetState(Holder("b", peer_->port()));
  EXPECT_EQ(AskForSignatures("digits", "ns/f", routing::kHopToHome), ::grpc::StatusCode::OK);
  EXPECT_EQ(AskForStatus("digits", "ns/f", routing::kHopToHome), ::grpc::StatusCode::OK);
  const auto unknown = static_cast<::grpc::StatusCode>(routing::kHopUnknown);
  EXPECT_EQ(AskForSignatures("other", "ns/f", routing::kHopToHome), unknown);
  EXPECT_EQ(AskForStatus("other", "ns/f", routing::kHopToHome), unknown);
}

TEST_F(HomeCatalogTest, AHolderAnswersFromItsOwnStore) {
  SetState(Holder("b", peer_->port()));
  EXPECT_EQ(AskForSignatures("digits", "ns/f", routing::kHopToHolder), ::grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(AskForStatus("digits", "ns/f", routing::kHopToHolder), ::grpc::StatusCode::NOT_FOUND);
}

TEST_F(HomeCatalogTest, RefusesNodesOfAnotherFleet) {
  SetState(Holder("b", peer_->port()));
  EXPECT_EQ(AskForSignatures("digits", "ns/g", routing::kHopToHome), ::grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(AskForStatus("digits", "ns/g", routing::kHopToHome), ::grpc::StatusCode::UNAVAILABLE);
}

TEST_F(HomeCatalogTest, AModelThatNoNodeHasReadyIsNotReportedAsADeadConnection) {
  SetState(Holder("dead", 1));
  EXPECT_EQ(AskForSignatures("digits", "ns/f", routing::kHopToHome),
            static_cast<::grpc::StatusCode>(routing::kHopFull));
}

// A gRPC client queries node a.
class FleetCatalogGrpcTest : public ListenerTest {
 protected:
  void SetUp() override {
    ListenerTest::SetUp();
    SetState(Holder("b", peer_->port()));
    Open({.listen = "127.0.0.1:0", .node = "a"}, catalog_);
  }
  template <typename Request>
  static Request About(const std::string& model) {
    Request request;
    request.mutable_model_spec()->set_name(model);
    return request;
  }
};

TEST_F(FleetCatalogGrpcTest, ReturnsTheSignaturesOfAPeersVersion) {
  auto request = About<tensorflow::serving::GetModelMetadataRequest>("digits");
  request.add_metadata_field("signature_def");
  tensorflow::serving::GetModelMetadataResponse response;
  ::grpc::ClientContext context;
  const auto status =
      tensorflow::serving::PredictionService::NewStub(channel_)->GetModelMetadata(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.model_spec().version().value(), 3);
  tensorflow::serving::SignatureDefMap signatures;
  ASSERT_TRUE(response.metadata().at("signature_def").UnpackTo(&signatures));
  EXPECT_EQ(signatures.signature_def().at("serving_default").inputs().at("x").dtype(), tensorflow::DT_FLOAT);
}

TEST_F(FleetCatalogGrpcTest, ReportsAPeersVersionAsAvailable) {
  tensorflow::serving::GetModelStatusResponse response;
  const auto models = tensorflow::serving::ModelService::NewStub(channel_);
  ::grpc::ClientContext context;
  const auto request = About<tensorflow::serving::GetModelStatusRequest>("digits");
  const auto status = models->GetModelStatus(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.model_version_status_size(), 1);
  EXPECT_EQ(response.model_version_status(0).version(), 3);
  EXPECT_EQ(response.model_version_status(0).state(), tensorflow::serving::ModelVersionStatus::AVAILABLE);
  EXPECT_EQ(response.model_version_status(0).status().error_code(), tensorflow::error::OK);
  EXPECT_THAT(Fetch(rest_->port(), "GET", "/v1/models/digits"), HasSubstr("AVAILABLE"));
}

TEST_F(FleetCatalogGrpcTest, AModelThatTheFleetDoesNotKnowIsNotFound) {
  tensorflow::serving::GetModelStatusResponse response;
  const auto models = tensorflow::serving::ModelService::NewStub(channel_);
  ::grpc::ClientContext context;
  const auto request = About<tensorflow::serving::GetModelStatusRequest>("other");
  EXPECT_EQ(models->GetModelStatus(&context, request, &response).error_code(), ::grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace longshore::frontend

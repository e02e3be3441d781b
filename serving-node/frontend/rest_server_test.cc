#include "serving-node/frontend/rest_server.h"

#include <gmock/gmock.h>

#include "serving-node/frontend/admin_server.h"
#include "serving-node/frontend/rest_route.h"
#include "serving-node/frontend/testing.h"

namespace longshore::frontend {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class Rest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = RestServer::Start({.listen = "127.0.0.1:0", .node = "n1", .metrics_path = "/metrics"}, predictor_,
                                     catalog_, [] { return "metric 1\n"; });
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }
  std::string Post(const std::string& target, const std::string& body, const std::string& headers = "") {
    return Fetch(server_->port(), "POST", target, body, headers);
  }
  std::string Get(const std::string& target) { return Fetch(server_->port(), "GET", target); }

  FakePredictor predictor_;
  FakeCatalog catalog_;
  std::unique_ptr<RestServer> server_;
};

TEST_F(Rest, AnswersRowsAndNamesVersionAndNode) {
  const std::string answer = Post("/v1/models/digits:predict", R"({"instances": [1, 2.5]})", "X-User-Id: u7\r\n");
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("Content-Type: application/json\r\n"),
                            HasSubstr("x-longshore-version: 3\r\n"), HasSubstr("x-longshore-node: n1\r\n"),
                            EndsWith("{\n    \"predictions\": [2.0, 5.0\n    ]\n}")));
  const routing::PredictCall call = predictor_.last();
  EXPECT_EQ(call.protocol, routing::Protocol::kRest);
  EXPECT_THAT(call.headers, testing::Contains(testing::Pair("x-user-id", "u7")));
  EXPECT_LT(call.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(31));
}

TEST_F(Rest, AnswersColumns) {
  EXPECT_THAT(Post("/v1/models/digits:predict", R"({"inputs": {"x": [[1]]}})"),
              EndsWith("{\n    \"outputs\": [[2.0]]\n}"));
}

TEST_F(Rest, TheVersionOrLabelOfThePathReachesThePredictor) {
  Post("/v1/models/digits/versions/3:predict", R"({"instances": [1]})");
  EXPECT_EQ(predictor_.last().request.model_spec().version().value(), 3);
  Post("/v1/models/digits/labels/can%61ry:predict", R"({"instances": [1]})");
  EXPECT_EQ(predictor_.last().request.model_spec().version_label(), "canary");
}

TEST_F(Rest, ParsesARequestForAPeersVersionWithALocalSignature) {
  EXPECT_THAT(Post("/v1/models/digits/versions/9:predict", R"({"instances": [1]})"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(predictor_.last().request.model_spec().version().value(), 9);
}

TEST_F(Rest, ErrorsHaveTheirStatusAndText) {
  EXPECT_THAT(
      Post("/v1/models/digits:predict", "{}"),
      AllOf(StartsWith("HTTP/1.1 400"), EndsWith("{\n    \"error\": \"Missing 'inputs' or 'instances' key\"\n}")));
  EXPECT_THAT(Post("/v1/models/none:predict", R"({"instances": [1]})"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Servable not found for request: Latest(none)")));
  EXPECT_THAT(
      Post("/v1/models/digits:predict", R"({"signature_name": "s", "instances": [1]})"),
      AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("Serving signature name: \\\"s\\\" not found in signature def")));
  EXPECT_THAT(Post("/v1/models/digits:classify", "{}"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Fetch(server_->port(), "PUT", "/v1/models/digits"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("Malformed request: PUT /v1/models/digits")));
  EXPECT_THAT(Get("/elsewhere"), StartsWith("HTTP/1.1 404"));
}

TEST_F(Rest, ReturnsStatusMetadataAndMetrics) {
  EXPECT_THAT(Get("/v1/models/digits"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"state\": \"AVAILABLE\""),
                                              HasSubstr("\"error_code\": \"DATA_LOSS\"")));
  EXPECT_THAT(Get("/v1/models/digits/versions/9"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("Could not find version 9 of model digits")));
  EXPECT_THAT(Get("/v1/models/digits/metadata"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\"dtype\": \"DT_FLOAT\"")));
  EXPECT_THAT(Get("/metrics"), EndsWith("metric 1\n"));
}

TEST_F(Rest, PreflightsNeedAnOrigin) {
  EXPECT_THAT(Fetch(server_->port(), "OPTIONS", "/v1/models/digits", "", "Origin: http://x\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Fetch(server_->port(), "OPTIONS", "/v1/models/digits"), StartsWith("HTTP/1.1 400"));
}

TEST_F(Rest, APortInUseIsAnErrorThatNamesIt) {
  const std::string port = std::to_string(server_->port());
  const auto second = RestServer::Start({.listen = "127.0.0.1:" + port}, predictor_, catalog_, nullptr);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("port " + port + " on 127.0.0.1 is in use"));
}

struct Routed {
  std::string method;
  std::string target;
  std::string expect;
};

class Routes : public testing::TestWithParam<Routed> {};

TEST_P(Routes, AreReadAsTensorFlowServingReadsThem) {
  static constexpr const char* kKinds[] = {"predict", "classify", "regress", "status", "metadata"};
  const auto route = ParseRoute(GetParam().method, GetParam().target);
  const std::string got = !route ? route.error().message
                                 : fmt::format("{} {} {} {}", kKinds[static_cast<int>(route->kind)], route->spec.name(),
                                               route->spec.version().value(), route->spec.version_label());
  EXPECT_EQ(got, GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    All, Routes,
    testing::Values(Routed{"POST", "/v1/models/m:predict", "predict m 0 "},
                    Routed{"POST", "/V1/Models/Mx:PREDICT", "predict Mx 0 "},
                    Routed{"POST", "/v1/models/m/versions/12:regress", "regress m 12 "},
                    Routed{"POST", "/v1/models/m/labels/l%20x:classify", "classify m 0 l x"},
                    Routed{"GET", "/v1/models/a%2Fb", "status a/b 0 "},
                    Routed{"GET", "/v1/models/m/versions/3/metadata", "metadata m 3 "},
                    Routed{"GET", "/v1/models", "Missing model name in request."},
                    Routed{"GET", "/v1/models/m/versions/99999999999999999999",
                           "Failed to convert version: 99999999999999999999 to numeric."},
                    Routed{"GET", "/v1/models/m?x=y:z", "Malformed request: GET /v1/models/m?x=y:z"},
                    Routed{"GET", "/v1/models/m/versions/x", "Malformed request: GET /v1/models/m/versions/x"},
                    Routed{"GET", "/v1/models/m/labels/", "Malformed request: GET /v1/models/m/labels/"},
                    Routed{"POST", "/v1/models/m", "Malformed request: POST /v1/models/m"},
                    Routed{"POST", "/v1/models/m:predictx", "Malformed request: POST /v1/models/m:predictx"},
                    Routed{"GET", "/v1/models/", "Malformed request: GET /v1/models/"}));

TEST(Admin, ReturnsHealthReadinessMetricsAndState) {
  std::vector<std::string> missing = {"model \"digits\": version 3 is loading"};
  auto admin = AdminServer::Start("127.0.0.1:0", {.gate = {},
                                                  .missing = [&] { return missing; },
                                                  .metrics = [] { return "metric 2\n"; },
                                                  .state =
                                                      [] {
                                                        return Json{{"draining", false}};
                                                      }});
  ASSERT_TRUE(admin) << admin.error().message;
  const int port = (*admin)->port();
  EXPECT_THAT(Fetch(port, "GET", "/livez"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Fetch(port, "GET", "/readyz"), AllOf(StartsWith("HTTP/1.1 503"), EndsWith("version 3 is loading\n")));
  missing.clear();
  EXPECT_THAT(Fetch(port, "GET", "/readyz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Fetch(port, "GET", "/metrics"), EndsWith("metric 2\n"));
  EXPECT_THAT(Fetch(port, "GET", "/debug/state"), EndsWith("{\n  \"draining\": false\n}\n"));
  EXPECT_THAT(Fetch(port, "POST", "/readyz"), StartsWith("HTTP/1.1 405"));
}

}  // namespace
}  // namespace longshore::frontend

#include "serving-node/frontend/metered.h"

#include <gmock/gmock.h>

namespace longshore::frontend {
namespace {

using routing::Api;
using routing::Protocol;
using testing::HasSubstr;
using testing::Not;

tensorflow::serving::ModelSpec SpecOf(int64_t version) {
  tensorflow::serving::ModelSpec spec;
  spec.set_name("digits");
  spec.mutable_version()->set_value(version);
  return spec;
}

class Metered : public testing::Test {
 protected:
  void Answer(Api api, Protocol protocol, int64_t version = 3, int64_t examples = 0) const {
    MeteredRequest request = meter_.Begin(api, protocol, "digits");
    request.SetExamples(examples);
    request.End(Code::kOk, SpecOf(version));
  }
  void Fail(const std::string& model, Code code) const {
    meter_.Begin(Api::kPredict, Protocol::kGrpc, model).End(code, {});
  }

  metrics::Registry registry_;
  RequestMeter meter_{registry_, [](const std::string& model) { return model == "digits"; }};
};

TEST_F(Metered, AnswersAreCountedUnderBothNames) {
  Answer(Api::kPredict, Protocol::kRest);
  Answer(Api::kPredict, Protocol::kGrpc);
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("longshore_requests_total{code=\"OK\",model=\"digits\",protocol=\"rest\","
                              "signature=\"serving_default\",version=\"3\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("longshore_request_seconds_count{model=\"digits\",signature=\"serving_default\","
                              "version=\"3\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_count{model_name=\"digits\",status=\"OK\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_latency_count{API=\"Predict\",entrypoint=\"GRPC\","
                              "model_name=\"digits\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_latency_count{API=\"predict\",entrypoint=\"REST\","
                              "model_name=\"digits\"} 1\n"));
}

TEST_F(Metered, FailuresAreCountedAndNotTimed) {
  Fail("digits", Code::kInvalidArgument);
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("longshore_requests_total{code=\"INVALID_ARGUMENT\",model=\"digits\",protocol=\"grpc\","
                              "signature=\"\",version=\"\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr(":tensorflow:serving:request_count{model_name=\"digits\",status=\"INVALID_ARGUMENT\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("latency")));
  EXPECT_THAT(text, Not(HasSubstr("request_seconds")));
}

TEST_F(Metered, UnknownModelNamesAreCountedTogether) {
  for (int i = 0; i < 2000; ++i) Fail("made_up_" + std::to_string(i), Code::kNotFound);
  Fail("digits", Code::kNotFound);
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_count{model_name=\"\",status=\"NOT_FOUND\"} 2000\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_count{model_name=\"digits\",status=\"NOT_FOUND\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("made_up")));
}

TEST_F(Metered, ExamplesAreCountedPerRequest) {
  Answer(Api::kClassify, Protocol::kGrpc, 3, 5);
  Answer(Api::kRegress, Protocol::kRest, 3, 2);
  Answer(Api::kPredict, Protocol::kGrpc);
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_example_count_total{model=\"digits\"} 7\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_example_counts_count{model=\"digits\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_example_counts_bucket{model=\"digits\",le=\"2\"} 1\n"));
}

TEST_F(Metered, RequestsOfPeersAreNotCountedAsClientRequests) {
  Answer(Api::kPredict, Protocol::kPeer);
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("protocol=\"peer\""));
  EXPECT_THAT(text, Not(HasSubstr("tensorflow")));
}

TEST_F(Metered, AnUnloadedVersionIsCountedForItsModel) {
  for (int version = 1; version <= 5000; ++version) {
    Answer(Api::kPredict, Protocol::kGrpc, version);
    meter_.ForgetVersion("digits", version);
  }
  Answer(Api::kPredict, Protocol::kGrpc, 6000);
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("longshore_requests_total{code=\"OK\",model=\"digits\",protocol=\"grpc\",signature=\"\","
                              "version=\"\"} 5000\n"));
  EXPECT_THAT(text, HasSubstr("signature=\"serving_default\",version=\"6000\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_count{model_name=\"digits\",status=\"OK\"} 5001\n"));
  EXPECT_THAT(text, Not(HasSubstr("version=\"4\"")));
}

TEST_F(Metered, SeriesAreBounded) {
  for (int version = 1; version <= 2000; ++version) Answer(Api::kPredict, Protocol::kGrpc, version);
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("longshore_requests_total{code=\"OK\",model=\"other\",protocol=\"grpc\","
                              "signature=\"other\",version=\"\"} 1000\n"));
  EXPECT_THAT(text, Not(HasSubstr("version=\"1001\"")));
}

TEST(MeteredRequest, AnEmptyOneCountsNothing) { MeteredRequest().End(Code::kOk, {}); }

TEST_F(Metered, ARemovedModelIsCountedWithTheOthers) {
  Answer(Api::kPredict, Protocol::kRest, 3);
  Answer(Api::kPredict, Protocol::kGrpc, 4);
  Fail("digits", Code::kInvalidArgument);
  meter_.ForgetVersion("digits", 3);
  meter_.ForgetModel("digits");
  const std::string text = registry_.Text();
  EXPECT_THAT(text, Not(HasSubstr("digits")));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:request_count{model_name=\"other\",status=\"OK\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("longshore_requests_total{code=\"INVALID_ARGUMENT\",model=\"other\",protocol=\"grpc\","
                              "signature=\"other\",version=\"\"} 1\n"));
}

}  // namespace
}  // namespace longshore::frontend

#include "serving-node/frontend/metered.h"

#include <gmock/gmock.h>

#include "serving-node/frontend/testing.h"

namespace longshore::frontend {
namespace {

using testing::HasSubstr;

TEST(Metered, CountsAnswersAndErrorsByWhatTheyWereAbout) {
  FakePredictor doubling;
  metrics::Registry registry;
  MeteredPredictor metered(doubling, registry);
  for (const char* model : {"digits", "none"}) {
    routing::PredictCall call;
    call.protocol = routing::Protocol::kRest;
    call.request.mutable_model_spec()->set_name(model);
    tensor::ToProto(tensor::Tensor::Of<float>({1}, {1}), &(*call.request.mutable_inputs())["x"]);
    metered.Predict(std::move(call), [](const auto&) {});
  }
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("longshore_requests_total{code=\"OK\",model=\"digits\",protocol=\"rest\","
                              "signature=\"serving_default\",version=\"3\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("code=\"NOT_FOUND\",model=\"\",protocol=\"rest\",signature=\"\",version=\"\"} 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr("longshore_request_seconds_count{model=\"digits\",signature=\"serving_default\",version=\"3\"} 1\n"));
}

}  // namespace
}  // namespace longshore::frontend

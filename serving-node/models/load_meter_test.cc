#include "serving-node/models/load_meter.h"

#include <gmock/gmock.h>

namespace longshore::models {
namespace {

using std::chrono::microseconds;
using testing::HasSubstr;
using testing::Not;

TEST(LoadMeter, CountsLoadsAndWarmUpsByPathAndOutcome) {
  metrics::Registry registry;
  const LoadMeter meter(registry);
  meter.Loaded("/models/m/1", {}, microseconds(1500));
  meter.Loaded("/models/m/2", DataLoss("no saved_model.pb"), microseconds(10));
  meter.WarmedUp("/models/m/1", {}, microseconds(30), 7);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("load_attempt_count{model_path=\"/models/m/1\",status=\"success\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("load_attempt_count{model_path=\"/models/m/2\",status=\"fail\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:cc:saved_model:load_latency{model_path=\"/models/m/1\"} 1500\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:model_warmup_latency_bucket{model_path=\"/models/m/1\","
                              "status=\"OK\",le=\"32.4\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(":tensorflow:serving:model_warmup_records_read{model_path=\"/models/m/1\","
                              "status=\"OK\"} 7\n"));
}

TEST(LoadMeter, AddsUpTheLeastRecentlyLoadedPaths) {
  metrics::Registry registry;
  const LoadMeter meter(registry);
  for (size_t i = 0; i < LoadMeter::kPathsMax + 20; ++i) {
    meter.Loaded("/m/" + std::to_string(i), {}, microseconds(1));
    meter.WarmedUp("/m/" + std::to_string(i), {}, microseconds(1), 1);
  }
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("load_attempt_count{model_path=\"other\",status=\"success\"} 20\n"));
  EXPECT_THAT(text, HasSubstr("model_warmup_records_read{model_path=\"other\",status=\"OK\"} 20\n"));
  EXPECT_THAT(text, Not(HasSubstr("\"/m/19\"")));
  EXPECT_THAT(text, HasSubstr("\"/m/20\""));
}

}  // namespace
}  // namespace longshore::models

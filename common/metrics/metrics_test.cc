#include "common/metrics/metrics.h"

#include <gmock/gmock.h>

namespace longshore::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, AreFormattedInPrometheusTextFormat) {
  Registry registry;
  registry.Counters("requests_total", "Requests answered.").With({{"model", "digits"}}).Add(2);
  registry.Gauges("running", "Runs now.").With({}).Set(3);
  registry.Histograms("run_seconds", "Run time.", {0.1, 1}).With({{"model", "a"}}).Observe(0.5);

  const std::string text = registry.Text();

  EXPECT_THAT(text, HasSubstr("# HELP requests_total Requests answered.\n# TYPE requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("requests_total{model=\"digits\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("running 3\n"));
  EXPECT_THAT(text, HasSubstr("run_seconds_bucket{model=\"a\",le=\"0.1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("run_seconds_bucket{model=\"a\",le=\"1\"} 1\n"));
}

TEST(Metrics, ReturnTheSameMetricForTheSameNameAndLabels) {
  Registry registry;
  registry.Counters("n", "").With({{"a", "1"}}).Add();
  registry.Counters("n", "").With({{"a", "1"}}).Add();
  EXPECT_EQ(registry.Counters("n", "").With({{"a", "1"}}).value(), 2);
}

TEST(Metrics, ShareOneMetricNamedOtherAboveTheLimitOfLabelSets) {
  Registry registry({.label_sets_max = 2});
  auto family = registry.Counters("n", "");
  for (const char* model : {"a", "b", "c", "d", "a"}) family.With({{"model", model}}).Add();

  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("n{model=\"a\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("n{model=\"other\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("model=\"c\"")));
}

TEST(Metrics, AreRefreshedBeforeEachText) {
  Registry registry;
  auto gauge = registry.Gauges("queued", "").With({});
  int calls = 0;
  registry.BeforeText([&] { gauge.Set(++calls); });
  EXPECT_THAT(registry.Text(), HasSubstr("queued 1\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("queued 2\n"));
}

TEST(Metrics, IncludeThoseOfSources) {
  Registry registry;
  registry.AddSource([](Exposition* out) {
    for (const char* version : {"1", "2"}) {
      out->Count({"requests_total", "Requests."}, {{"model", "a"}, {"version", version}}, 2);
      out->Count({":tensorflow:serving:request_count", "Requests."}, {{"model_name", "a"}}, 2);
    }
    out->Set({"slots", "Slots."}, {}, 3);
    out->Observed({"run_seconds", "Run time."}, {}, {.bounds = {0.5, 1}, .counts = {4, 0, 1}, .sum = 7});
  });
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("# TYPE requests_total counter\nrequests_total{model=\"a\",version=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE :tensorflow:serving:request_count counter\n"
                              ":tensorflow:serving:request_count{model_name=\"a\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE slots gauge\nslots 3\n"));
  EXPECT_THAT(text, HasSubstr("run_seconds_bucket{le=\"0.5\"} 4\nrun_seconds_bucket{le=\"1\"} 4\n"
                              "run_seconds_bucket{le=\"+Inf\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("run_seconds_count 5\nrun_seconds_sum 7\n"));
}

TEST(Metrics, HaveAscendingBucketBounds) {
  const std::vector<double> bounds = SecondsBuckets();
  EXPECT_TRUE(std::is_sorted(bounds.begin(), bounds.end()));
  EXPECT_EQ(bounds.size(), 25u);
}

}  // namespace
}  // namespace longshore::metrics

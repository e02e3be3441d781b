// Runs tests/golden/autoscale. A case has
//   spec:     fields that differ from {replicas: {min: 1, max: 10}, autoscaling: {}}
//   before:   the fleet's status.autoscale
//   replicas: the number of replicas that the fleet wants at present
//   metrics:  {queueDelay: 0.02, utilization: {value: 0.5, at: 10s},
//             latencies: {digits: {target: 50ms, seconds: idle}},
//             demand: {arrivals: 600, nodeCapacity: 80, queued: 20},
//             nodesMeasured: 2, nodesMissing: 1}; a signal that is not named is unknown; by default, nodesMissing is
//             0 and nodesMeasured is `replicas` minus nodesMissing
//   ready:    the number of ready nodes; by default nodesMeasured plus nodesMissing
//   now:      the time of the case, for example "100s"; metrics without `at` are from this time
#include <gtest/gtest.h>

#include <limits>

#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/decide/autoscale/autoscale.h"
#include "tests/golden/golden.h"

namespace longshore::autoscale {
namespace {

using golden::Child;
using golden::Get;

Signal SignalFrom(const Json& json, TimePoint now) {
  if (json.is_null()) return {};
  if (json == "idle") return {Presence::kIdle, 0, now};
  if (json == "nan") return {Presence::kValue, std::numeric_limits<double>::quiet_NaN(), now};
  if (json.is_number()) return {Presence::kValue, json.get<double>(), now};
  return {Presence::kValue, Get(json, "value", 0.0), golden::TimeOf(json, "at")};
}

std::vector<ModelLatency> LatenciesFrom(const Json& json, TimePoint now) {
  std::vector<ModelLatency> latencies;
  for (const auto& [model, latency] : json.items()) {
    latencies.push_back({model, *api::ParseDuration(Get<std::string>(latency, "target", "")),
                         SignalFrom(Child(latency, "seconds"), now)});
  }
  return latencies;
}

struct Given {
  api::ServingFleetSpec spec;
  api::AutoscaleStatus before;
  Input input;
  TimePoint now;
};

Given GivenFrom(const Json& json) {
  Given given;
  Json spec{{"replicas", {{"min", 1}, {"max", 10}}}, {"autoscaling", Json::object()}};
  if (json.contains("spec")) spec.merge_patch(Child(json, "spec"));
  const auto parsed = api::ServingFleetSpecFromJson(spec);
  EXPECT_TRUE(parsed) << parsed.error().message;
  given.spec = *parsed;
  given.before = api::ServingFleetStatusFromJson(Json{{"autoscale", Child(json, "before")}})->autoscale;
  given.now = golden::TimeOf(json, "now");
  const Json& metrics = Child(json, "metrics");
  const auto signal = [&](const Json& from, const char* key) { return SignalFrom(Child(from, key), given.now); };
  given.input.metrics.queue_delay_seconds = signal(metrics, "queueDelay");
  given.input.metrics.latencies = LatenciesFrom(Child(metrics, "latencies"), given.now);
  given.input.metrics.utilization = signal(metrics, "utilization");
  const Json& demand = Child(metrics, "demand");
  given.input.metrics.demand = {signal(demand, "arrivals"), signal(demand, "nodeCapacity"), signal(demand, "queued")};
  given.input.replicas = Get(json, "replicas", 1);
  given.input.metrics.nodes_missing = Get(metrics, "nodesMissing", 0);
  given.input.metrics.nodes_measured =
      Get(metrics, "nodesMeasured", given.input.replicas - given.input.metrics.nodes_missing);
  given.input.ready = Get(json, "ready", given.input.metrics.nodes_measured + given.input.metrics.nodes_missing);
  return given;
}

Json Shown(const api::AutoscaleStatus& status) {
  api::ServingFleetStatus fleet;
  fleet.autoscale = status;
  return api::ToJson(fleet)["autoscale"];
}

TEST(AutoscaleGolden, EveryCaseDecidesAsItSays) {
  const auto cases = golden::LoadCases("autoscale");
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_GE(cases->size(), 15u);
  for (const golden::Case& test : *cases) {
    const Given given = GivenFrom(test.json);
    const Json outcome = Shown(Decide(given.spec, given.before, given.input, given.now));
    for (const std::string& difference : golden::Differences(Child(test.json, "expect"), outcome)) {
      ADD_FAILURE() << test.where << "\n  " << difference << "\n  " << outcome.dump();
    }
  }
}

TEST(AutoscaleGolden, ADecisionThatIsRepeatedChangesNothing) {
  const auto cases = golden::LoadCases("autoscale");
  ASSERT_TRUE(cases);
  for (const golden::Case& test : *cases) {
    Given given = GivenFrom(test.json);
    const api::AutoscaleStatus first = Decide(given.spec, given.before, given.input, given.now);
    if (first.desired != given.input.replicas) continue;
    EXPECT_EQ(Shown(Decide(given.spec, first, given.input, given.now)), Shown(first)) << test.where;
  }
}

// Simulates an idle fleet and an outage of the metrics, which begins at a different time in each run. No node is
// removed while the metrics are too old.
TEST(Autoscale, NeverScalesDownWithoutEvidence) {
  const Given quiet = GivenFrom(*ParseJson(R"({"replicas": 8, "metrics": {"queueDelay": 0, "utilization": 0.01}})"));
  for (int outage_at = 0; outage_at < 600; outage_at += 7) {
    api::AutoscaleStatus status;
    int replicas = 8;
    for (int second = 0; second < 700; ++second) {
      Input input = quiet.input;
      const TimePoint now = golden::kStart + std::chrono::seconds(second);
      const bool out = second >= outage_at;
      const TimePoint sample = out ? golden::kStart + std::chrono::seconds(outage_at) : now;
      input.metrics.queue_delay_seconds.at = input.metrics.utilization.at = sample;
      input.replicas = replicas;
      status = Decide(quiet.spec, status, input, now);
      const bool blind = now - sample > quiet.spec.autoscaling->metrics_age_max;
      EXPECT_TRUE(!blind || status.desired == replicas) << "outage at " << outage_at;
      replicas = status.desired;
    }
  }
}

}  // namespace
}  // namespace longshore::autoscale

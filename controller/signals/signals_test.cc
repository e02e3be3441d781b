#include "controller/signals/signals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>

#include "common/base/buckets.h"
#include "common/net/http/server.h"
#include "common/net/tls/authority.h"
#include "common/os/file.h"
#include "controller/signals/prometheus_answer.h"

namespace longshore::signals {
namespace {

using autoscale::Presence;
using std::chrono::seconds;

TEST(PrometheusAnswer, OneSampleIsAValueWithItsTime) {
  const autoscale::Signal signal = SignalFromAnswer(
      R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1700000000.5,"0.25"]}]}})");
  EXPECT_EQ(signal.presence, Presence::kValue);
  EXPECT_DOUBLE_EQ(signal.value, 0.25);
  EXPECT_EQ(ToUnixMillis(signal.at), 1700000000500);
}

TEST(PrometheusAnswer, AnythingButANumberIsUnknown) {
  const auto sample = [](const std::string& value) {
    return R"({"status":"success","data":{"resultType":"vector","result":[{"value":[1700000000,)" + value + "]}]}}";
  };
  ASSERT_EQ(SignalFromAnswer(sample("\"1\"")).presence, Presence::kValue);
  for (const char* value : {"\"NaN\"", "\"+Inf\"", "\"-1\"", "\"\"", "\"1x\"", "1", "null"}) {
    EXPECT_EQ(SignalFromAnswer(sample(value)).presence, Presence::kUnknown) << value;
  }
  for (const char* body : {"", "<html>", "[]", "{\"a\": 1e999}", R"({"status":"error"})",
                           R"({"status":"success","data":{"resultType":"vector","result":[]}})",
                           R"({"status":"success","data":{"resultType":"matrix","result":[]}})"}) {
    EXPECT_EQ(SignalFromAnswer(body).presence, Presence::kUnknown) << body;
  }
}

nodes::ViewPtr Node(const std::string& incarnation, MonotonicPoint at, double busy, double queued, int64_t started,
                    const std::string& name = "a") {
  nodes::NodeView view;
  view.hello.set_node(name);
  view.hello.set_incarnation(incarnation);
  view.report_at = at;
  view.reported = true;
  control::NodeLoad& load = *nodes::Unshared(view.report).mutable_load();
  load.set_concurrent_runs_max(2);
  load.set_busy_seconds(busy);
  load.set_queue_seconds(queued);
  load.set_started(started);
  return std::make_shared<const nodes::NodeView>(std::move(view));
}

class ReportSource : public ::testing::Test {
 protected:
  autoscale::FleetMetrics Latest(const std::vector<nodes::ViewPtr>& ready) {
    return source_->Latest(ready, WallOf(timer_.Now()));
  }
  TimePoint WallOf(MonotonicPoint at) const { return wall_ + at.time_since_epoch(); }

  TimePoint wall_{seconds(1000)};
  FakeMonotonicClock timer_;
  std::unique_ptr<Source> source_ = MakeReportSource({.fleet = "default/cpu", .prometheus_url = ""}, timer_);
};

TEST_F(ReportSource, MeasuresTheTimeBetweenTwoReports) {
  EXPECT_EQ(Latest({Node("i", timer_.Now(), 5, 1, 100)}).utilization.presence, Presence::kUnknown);
  timer_.Advance(seconds(2));
  const auto metrics = Latest({Node("i", timer_.Now(), 8, 3, 120)});
  EXPECT_DOUBLE_EQ(metrics.utilization.value, 0.75) << "3 busy seconds of 2 slots in 2 seconds";
  EXPECT_DOUBLE_EQ(metrics.queue_delay_seconds.value, 0.1) << "2 seconds over 20 requests";
  EXPECT_EQ(metrics.utilization.at, WallOf(timer_.Now()));
  EXPECT_EQ(metrics.nodes_missing, 0);
}

TEST_F(ReportSource, WallClockJumpDoesNotAffectRates) {
  Latest({Node("i", timer_.Now(), 5, 1, 100)});
  for (const auto step : {std::chrono::hours(-2), std::chrono::hours(5)}) {
    wall_ += step;
    timer_.Advance(seconds(2));
    const double seconds_now = static_cast<double>(timer_.Now().time_since_epoch() / seconds(1));
    const auto metrics = Latest({Node("i", timer_.Now(), 5 + seconds_now, 1, 100)});
    EXPECT_DOUBLE_EQ(metrics.utilization.value, 0.5);
    EXPECT_EQ(metrics.utilization.at, WallOf(timer_.Now()));
  }
}

// Returns a copy of the view with more refused and queued requests.
nodes::ViewPtr WithLoad(const nodes::ViewPtr& node, int64_t refused, int64_t queued) {
  nodes::NodeView view = *node;
  control::NodeLoad& load = *nodes::Unshared(view.report).mutable_load();
  load.set_refused(refused);
  load.set_queued(queued);
  return std::make_shared<const nodes::NodeView>(std::move(view));
}

TEST_F(ReportSource, ArrivalsIncludeRequestsThatWaitOrWereRefused) {
  Latest({WithLoad(Node("i", timer_.Now(), 0, 0, 100), 5, 3)});
  timer_.Advance(seconds(2));
  const auto demand = Latest({WithLoad(Node("i", timer_.Now(), 4, 0, 180), 25, 23)}).demand;
  EXPECT_DOUBLE_EQ(demand.arrivals_per_second.value, 60) << "80 started, 20 refused and 20 more wait, in 2 seconds";
  EXPECT_DOUBLE_EQ(demand.node_capacity_per_second.value, 40) << "both slots were busy for 2 seconds";
  EXPECT_DOUBLE_EQ(demand.queued.value, 23);
  EXPECT_EQ(demand.arrivals_per_second.at, WallOf(timer_.Now()));
}

// When a node joins, the sum of the arrivals stays the same, although each node has fewer of them.
TEST_F(ReportSource, JoiningNodeDoesNotChangeTheSumOfTheArrivals) {
  Latest({Node("i", timer_.Now(), 0, 0, 0)});
  timer_.Advance(seconds(1));
  Latest({Node("i", timer_.Now(), 1, 0, 100), Node("i", timer_.Now(), 0, 0, 0, "b")});
  timer_.Advance(seconds(1));
  const auto metrics = Latest({Node("i", timer_.Now(), 1.5, 0, 150), Node("i", timer_.Now(), 0.5, 0, 50, "b")});
  EXPECT_DOUBLE_EQ(metrics.demand.arrivals_per_second.value, 100);
  EXPECT_DOUBLE_EQ(metrics.demand.node_capacity_per_second.value, 200) << "100 requests in a busy second of two slots";
  EXPECT_DOUBLE_EQ(metrics.utilization.value, 0.25);
}

TEST_F(ReportSource, NodeWithoutRequestsIsIdleAndARestartedNodeIsMissing) {
  Latest({Node("i", timer_.Now(), 5, 1, 100)});
  timer_.Advance(seconds(1));
  EXPECT_EQ(Latest({Node("i", timer_.Now(), 5, 1, 100)}).queue_delay_seconds.presence, Presence::kIdle);
  timer_.Advance(seconds(1));
  const auto after = Latest({Node("j", timer_.Now(), 0, 0, 0)});
  EXPECT_EQ(after.utilization.presence, Presence::kUnknown) << "one report measures nothing";
  EXPECT_EQ(after.nodes_missing, 1);
}

TEST_F(ReportSource, LiveNodeDoesNotHideANodeWithoutReports) {
  const auto at = [&](int second, int silent_since) {
    timer_.Advance(MonotonicPoint(seconds(second)) - timer_.Now());
    const MonotonicPoint then{seconds(std::min(second, silent_since))};
    return Latest({Node("i", timer_.Now(), second, 0, second), Node("i", then, second, 0, second, "b")});
  };
  at(0, 1);
  EXPECT_EQ(at(1, 1).nodes_missing, 0);
  EXPECT_EQ(at(2, 1).nodes_missing, 0) << "a report may be late";
  EXPECT_EQ(at(2, 1).utilization.at, WallOf(MonotonicPoint(seconds(1)))) << "the oldest counts";
  const auto silent = at(6, 1);
  EXPECT_EQ(silent.nodes_missing, 1);
  EXPECT_EQ(silent.nodes_measured, 1);
  EXPECT_EQ(silent.utilization.at, WallOf(MonotonicPoint(seconds(6))))
      << "reports of other nodes may still show that users wait";
}

// Returns a copy of the view whose report contains `count` more requests of a Model, in the bucket of `time`.
nodes::ViewPtr WithTimes(const nodes::ViewPtr& node, const std::string& model, Duration time, int64_t count) {
  nodes::NodeView view = *node;
  control::ModelLoad& load = *nodes::Unshared(view.report).mutable_load()->add_models();
  load.set_served_name(model);
  load.mutable_total_time_buckets()->Resize(TimeBucketOf(time) + 1, 0);
  load.set_total_time_buckets(TimeBucketOf(time), count);
  return std::make_shared<const nodes::NodeView>(std::move(view));
}

TEST_F(ReportSource, MeasuresTheLatencyOfEachModelSeparately) {
  using std::chrono::milliseconds;
  source_ = MakeReportSource({.fleet = "default/cpu",
                              .latencies = {{"quick", 0.99, milliseconds(20)},
                                            {"slow", 0.5, seconds(1)},
                                            {"idle", 0.99, milliseconds(20)},
                                            {"unknown", 0.99, milliseconds(20)}},
                              .prometheus_url = ""},
                             timer_);
  const auto report = [&](int64_t requests) {
    auto view = WithTimes(Node("i", timer_.Now(), 0, 0, requests), "quick", milliseconds(15), requests);
    return WithTimes(WithTimes(view, "slow", milliseconds(500), requests), "idle", milliseconds(1), 7);
  };
  Latest({report(100)});
  timer_.Advance(seconds(1));
  const auto latencies = Latest({report(200)}).latencies;
  ASSERT_EQ(latencies.size(), 4U);
  EXPECT_NEAR(latencies[0].seconds.value, 0.015, 0.002) << "not the 500 ms of the slow Model";
  EXPECT_EQ(latencies[0].target, milliseconds(20));
  EXPECT_NEAR(latencies[1].seconds.value, 0.5, 0.05);
  EXPECT_EQ(latencies[2].seconds.presence, Presence::kIdle);
  EXPECT_EQ(latencies[3].seconds.presence, Presence::kUnknown) << "no node reports it";
}

TEST_F(ReportSource, ModelThatANodeRemovedAndGotAgainCountsFromZero) {
  using std::chrono::milliseconds;
  source_ = MakeReportSource(
      {.fleet = "default/cpu", .latencies = {{"m", 0.99, milliseconds(20)}}, .prometheus_url = ""}, timer_);
  Latest({WithTimes(Node("i", timer_.Now(), 0, 0, 1), "m", milliseconds(500), 1000)});
  timer_.Advance(seconds(1));
  const auto latencies = Latest({WithTimes(Node("i", timer_.Now(), 0, 0, 2), "m", milliseconds(15), 3)}).latencies;
  EXPECT_NEAR(latencies.at(0).seconds.value, 0.015, 0.002);
}

TEST(PrometheusSource, InvalidUrlIsRefused) {
  const SystemClock clock;
  for (const char* url : {"ftp://x", "nonsense", "http://"}) {
    EXPECT_FALSE(MakePrometheusSource({.fleet = "f", .prometheus_url = url}, clock)) << url;
  }
}

TEST(PrometheusSource, UnreachableServerGivesUnknownMetrics) {
  const SystemClock clock;
  const auto source = MakePrometheusSource({.fleet = "f", .prometheus_url = "http://127.0.0.1:1"}, clock);
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->Latest({}, clock.Now()).utilization.presence, Presence::kUnknown);
}

// Answers queries like a Prometheus server that has a sample of each of two nodes; the older one is from the Unix time
// 1000 s.
class FakePrometheus {
 public:
  // Uses https if there is an identity.
  explicit FakePrometheus(std::shared_ptr<tls::Identities> identities = nullptr)
      : scheme_(identities ? "https" : "http"),
        server_(http::Server::Start(
                    {.address = "127.0.0.1:0", .tls = std::move(identities)},
                    [this](const http::Request& request, const auto& respond) { respond({.body = Answer(request)}); })
                    .value()) {}

  std::string url() const { return fmt::format("{}://127.0.0.1:{}", scheme_, server_->port()); }
  // Returns the Authorization header of the newest query; call it after WaitForQuestions.
  std::string authorization() const {
    const std::scoped_lock lock(mutex_);
    return authorization_;
  }
  // Waits until each query was sent twice, so that the first answers are processed. Returns the queries.
  std::set<std::string> WaitForQuestions() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(asked_.wait_for(lock, seconds(20), [this] { return rounds_ >= 2; }));
    return questions_;
  }

 private:
  std::string Answer(const http::Request& request) {
    const std::string& question = request.target;
    const bool oldest = question.find("min%28timestamp%28") != std::string::npos;
    const bool nodes = question.find("count%28") != std::string::npos;
    const std::scoped_lock lock(mutex_);
    questions_.insert(question);
    authorization_ = request.Header("authorization");
    if (oldest) ++rounds_;
    asked_.notify_all();
    // The Model "digits" has requests, "idle" had some before, and "new" had none yet.
    if (question.find("histogram_quantile") != std::string::npos) return ByModel("0.02", "NaN");
    if (question.find("request_seconds_count") != std::string::npos) return ByModel("5", "0");
    const char* value = oldest ? "1000" : nodes ? "2" : "0.5";
    return fmt::format(
        R"({{"status":"success","data":{{"resultType":"vector","result":[{{"metric":{{}},"value":[1700000000,"{}"]}}]}}}})",
        value);
  }

  static std::string ByModel(const std::string& digits, const std::string& idle) {
    return fmt::format(R"({{"status":"success","data":{{"resultType":"vector","result":[)"
                       R"({{"metric":{{"model":"digits"}},"value":[1700000000,"{}"]}},)"
                       R"({{"metric":{{"model":"idle"}},"value":[1700000000,"{}"]}}]}}}})",
                       digits, idle);
  }

  const std::string scheme_;
  mutable std::mutex mutex_;
  std::condition_variable asked_;
  std::set<std::string> questions_;
  std::string authorization_;
  int rounds_ = 0;
  std::unique_ptr<http::Server> server_;
};

TEST(PrometheusSource, GivesTheOldestSampleAndTheNumberOfMissingReadyNodes) {
  const SystemClock clock;
  FakePrometheus prometheus;
  Query query{.fleet = "default/cpu", .prometheus_url = prometheus.url()};
  query.age_max = seconds(30);
  const auto source = MakePrometheusSource(query, clock, {.interval = std::chrono::milliseconds(1)}).value();
  const std::set<std::string> questions = prometheus.WaitForQuestions();
  const std::vector<nodes::ViewPtr> ready = {Node("i", {}, 0, 0, 0), Node("j", {}, 0, 0, 0, "b"),
                                             Node("k", {}, 0, 0, 0, "c")};
  const auto metrics = source->Latest(ready, clock.Now());
  EXPECT_EQ(metrics.utilization.at, TimePoint(seconds(1000)));
  EXPECT_EQ(metrics.nodes_missing, 1);
  EXPECT_EQ(metrics.nodes_measured, 2);
  EXPECT_EQ(source->Latest({}, clock.Now()).nodes_missing, 0);
  for (const autoscale::Signal& signal :
       {metrics.demand.arrivals_per_second, metrics.demand.node_capacity_per_second, metrics.demand.queued}) {
    EXPECT_EQ(signal.presence, Presence::kValue);
    EXPECT_DOUBLE_EQ(signal.value, 0.5);
    EXPECT_EQ(signal.at, TimePoint(seconds(1000)));
  }
  for (const std::string& question : questions) {
    const bool rate = question.find("rate%28") != std::string::npos;
    EXPECT_EQ(question.find("%5B60000ms%5D") != std::string::npos, rate) << "two scrapes of 30 s: " << question;
  }
}

TEST(PrometheusSource, ComparesEachModelsLatencyWithItsOwnObjective) {
  const SystemClock clock;
  FakePrometheus prometheus;
  const std::chrono::milliseconds target(50);
  const Query query{.fleet = "f",
                    .latencies = {{"digits", 0.99, target}, {"idle", 0.99, target}, {"new.1", 0.99, target}},
                    .prometheus_url = prometheus.url()};
  const auto source = MakePrometheusSource(query, clock, {.interval = std::chrono::milliseconds(1)}).value();
  const std::set<std::string> questions = prometheus.WaitForQuestions();
  const auto latencies = source->Latest({}, clock.Now()).latencies;
  ASSERT_EQ(latencies.size(), 3U);
  EXPECT_EQ(latencies[0].seconds.presence, Presence::kValue);
  EXPECT_DOUBLE_EQ(latencies[0].seconds.value, 0.02);
  EXPECT_EQ(latencies[0].seconds.at, TimePoint(seconds(1000)));
  EXPECT_EQ(latencies[0].target, target);
  EXPECT_EQ(latencies[1].seconds.presence, Presence::kIdle);
  EXPECT_EQ(latencies[2].seconds.presence, Presence::kIdle);
  const auto quantiles = std::ranges::count_if(
      questions, [](const std::string& question) { return question.find("histogram_quantile") != std::string::npos; });
  EXPECT_EQ(quantiles, 1) << "one query for all Models of a quantile";
}

TEST(PrometheusAnswer, SamplesOfAVectorAreKeyedByALabel) {
  const auto signals = SignalsFromAnswer(
      R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"model":"a"},"value":[1700000000,"1"]},)"
      R"({"metric":{"model":"b"},"value":[1700000000,"NaN"]},{"metric":{},"value":[1700000000,"2"]}]}})",
      "model");
  ASSERT_TRUE(signals);
  ASSERT_EQ(signals->size(), 2U);
  EXPECT_DOUBLE_EQ(signals->at("a").value, 1);
  EXPECT_EQ(signals->at("b").presence, Presence::kUnknown);
  for (const char* body :
       {"", "[]", R"({"status":"error"})",
        R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"model":1}}]}})"}) {
    EXPECT_FALSE(SignalsFromAnswer(body, "model")) << body;
  }
}

class PrometheusByHttps : public ::testing::Test {
 protected:
  PrometheusByHttps() {
    std::string pattern = testing::TempDir() + "prometheusXXXXXX";
    dir_ = mkdtemp(pattern.data());
    EXPECT_TRUE(WriteFileAtomically(dir_ / "ca.crt", authority_.certificate));
    EXPECT_TRUE(WriteFileAtomically(dir_ / "token", "secret\n"));
  }
  ~PrometheusByHttps() override { std::filesystem::remove_all(dir_); }

  std::shared_ptr<tls::Identities> Identity() const {
    const auto pair = tls::Issue(authority_, {.name = "prometheus", .addresses = {"127.0.0.1"}}, std::chrono::hours(1));
    tls::Identity identity;
    identity.certificate = pair->certificate;
    identity.key = pair->key;
    return tls::Identities::Start(
               "the test's", [=] { return Result<tls::Identity>(identity); }, std::chrono::milliseconds(0))
        .value();
  }
  // Returns the Authorization header that the server gets from a source whose token is for `token_for`.
  std::string Shown(const std::string& token_for) {
    const Query query{.fleet = "f", .prometheus_url = prometheus_.url()};
    const auto source = MakePrometheusSource(
        query, clock_,
        {.trust = {dir_ / "ca.crt", dir_ / "token", token_for}, .interval = std::chrono::milliseconds(1)});
    prometheus_.WaitForQuestions();
    EXPECT_EQ((*source)->Latest({}, clock_.Now()).utilization.presence, Presence::kValue);
    return prometheus_.authorization();
  }

  Path dir_;
  const SystemClock clock_;
  const tls::KeyPair authority_ = tls::MakeAuthority("test", std::chrono::hours(1)).value();
  FakePrometheus prometheus_{Identity()};
};

TEST_F(PrometheusByHttps, IsTrustedByItsAuthorityAndGetsItsToken) {
  EXPECT_EQ(Shown(prometheus_.url() + "/any/path"), "Bearer secret");
}

TEST_F(PrometheusByHttps, DoesNotGetTheTokenOfAnotherServer) { EXPECT_EQ(Shown("https://127.0.0.1:1"), ""); }

}  // namespace
}  // namespace longshore::signals

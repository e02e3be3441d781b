#include "serving-node/tracing/otlp/exporter.h"

#include <gmock/gmock.h>

#include <future>

#include "opentelemetry/trace_service.pb.h"

namespace longshore::tracing::otlp {
namespace {

using download::Answer;
using opentelemetry::proto::collector::trace::v1::ExportTraceServiceRequest;
using opentelemetry::proto::collector::trace::v1::ExportTraceServiceResponse;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

Span SpanNamed(const std::string& name) {
  Span span;
  span.set_name(name);
  return span;
}

// A collector that gives the scripted answers, then accepts everything.
class Collector {
 public:
  Result<Answer> Receive(const std::string& body, const std::function<bool()>& is_cancelled) {
    std::unique_lock lock(mutex_);
    if (waits_) {
      changed_.wait_for(lock, seconds(20), [&] { return !waits_ || is_cancelled(); });
      if (is_cancelled()) return Cancelled("cancelled");
    }
    EXPECT_TRUE(requests_.emplace_back().ParseFromString(body));
    Result<Answer> answer = Answer{.status = 200};
    if (!answers_.empty()) {
      answer = answers_.front();
      answers_.erase(answers_.begin());
    }
    changed_.notify_all();
    return answer;
  }
  void Next(Result<Answer> answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  void SetWaits(bool waits) {
    const std::lock_guard lock(mutex_);
    waits_ = waits;
    changed_.notify_all();
  }
  std::vector<ExportTraceServiceRequest> Await(size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, seconds(20), [&] { return requests_.size() >= count; }));
    return requests_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Result<Answer>> answers_;
  std::vector<ExportTraceServiceRequest> requests_;
  bool waits_ = false;
};

class ExporterTest : public testing::Test {
 protected:
  std::unique_ptr<Exporter> Start(ExporterOptions options) {
    const auto send = [this](const std::string& body, const std::function<bool()>& is_cancelled) {
      return collector_.Receive(body, is_cancelled);
    };
    return std::make_unique<Exporter>(std::move(options), send, registry_);
  }
  double Dropped(const char* reason) {
    return registry_.Counters("longshore_spans_dropped_total", "").With({{"reason", reason}}).value();
  }
  double Exported() { return registry_.Counters("longshore_spans_exported_total", "").With({}).value(); }

  metrics::Registry registry_;
  Collector collector_;
};

TEST_F(ExporterTest, SendsABatchWhenEnoughSpansHaveEnded) {
  const auto exporter = Start(
      {.resource = ResourceOf({.pid = 5}, {}), .version = "1.2.3", .batch_spans_max = 2, .delay_max = seconds(3600)});
  exporter->Take(SpanNamed("a"));
  exporter->Take(SpanNamed("b"));
  const auto requests = collector_.Await(1);
  const auto& sent = requests.at(0).resource_spans(0);
  EXPECT_EQ(sent.resource().attributes(0).key(), "service.name");
  EXPECT_EQ(sent.scope_spans(0).scope().name(), "longshore");
  EXPECT_EQ(sent.scope_spans(0).scope().version(), "1.2.3");
  ASSERT_EQ(sent.scope_spans(0).spans_size(), 2);
  EXPECT_EQ(sent.scope_spans(0).spans(0).name(), "a");
  exporter->Flush(seconds(10));
  EXPECT_EQ(Exported(), 2);
}

TEST_F(ExporterTest, SendsASingleSpanAfterTheDelay) {
  const auto exporter = Start({.delay_max = milliseconds(5)});
  exporter->Take(SpanNamed("a"));
  EXPECT_EQ(collector_.Await(1).at(0).resource_spans(0).scope_spans(0).spans_size(), 1);
}

TEST_F(ExporterTest, SendsAllSpansBeforeItEnds) {
  const auto exporter = Start({.batch_spans_max = 2, .delay_max = seconds(3600)});
  for (int i = 0; i < 5; ++i) exporter->Take(SpanNamed("a"));
  exporter->Flush(seconds(10));
  EXPECT_EQ(Exported(), 5);
  exporter->Take(SpanNamed("late"));
  EXPECT_EQ(Dropped("shutdown"), 1);
}

TEST_F(ExporterTest, DropsSpansAtTheEndIfTheCollectorDoesNotAnswer) {
  collector_.SetWaits(true);
  const auto exporter = Start({.batch_spans_max = 2, .delay_max = seconds(3600)});
  for (int i = 0; i < 5; ++i) exporter->Take(SpanNamed("a"));
  exporter->Flush(milliseconds(0));
  EXPECT_EQ(Dropped("shutdown"), 5);
  EXPECT_EQ(Exported(), 0);
}

TEST_F(ExporterTest, DropsTheNewestSpansAboveTheLimitOfSpans) {
  collector_.SetWaits(true);
  const auto exporter = Start({.queue = {.spans_max = 3}, .batch_spans_max = 100, .delay_max = seconds(3600)});
  for (const char* name : {"a", "b", "c", "d", "e"}) exporter->Take(SpanNamed(name));
  EXPECT_EQ(Dropped("queue_full"), 2);
  collector_.SetWaits(false);
  exporter->Flush(seconds(10));
  EXPECT_EQ(collector_.Await(1).at(0).resource_spans(0).scope_spans(0).spans(2).name(), "c");
}

TEST_F(ExporterTest, DropsSpansAboveTheLimitOfBytes) {
  SpanQueue queue({.spans_max = 1000, .bytes_max = 10'000});
  size_t waiting = 0;
  size_t bytes = 0;
  while (queue.Push(SpanNamed(std::string(100, 'x')), &waiting))
    bytes += SpanNamed(std::string(100, 'x')).SpaceUsedLong();
  EXPECT_LE(bytes, 10'000U);
  EXPECT_GT(bytes, 9'000U);
  EXPECT_LT(waiting, 100U);
  EXPECT_EQ(queue.Pop(1).size(), 1U);
  EXPECT_TRUE(queue.Push(SpanNamed(std::string(100, 'x')), &waiting)) << "the bytes of a removed span are free again";
}

TEST_F(ExporterTest, RetriesATemporaryErrorAndThenSucceeds) {
  collector_.Next(Answer{.status = 503});
  collector_.Next(longshore::Unavailable("connection refused"));
  const auto exporter = Start({.batch_spans_max = 1, .delay_max = seconds(3600), .retry = {.first = milliseconds(1)}});
  exporter->Take(SpanNamed("a"));
  EXPECT_EQ(collector_.Await(3).at(2).resource_spans(0).scope_spans(0).spans(0).name(), "a");
  exporter->Flush(seconds(10));
  EXPECT_EQ(Exported(), 1);
}

TEST_F(ExporterTest, DropsABatchWhoseRetriesTakeTooLong) {
  for (int i = 0; i < 3; ++i) collector_.Next(longshore::Unavailable("connection refused"));
  const auto exporter =
      Start({.batch_spans_max = 1,
             .delay_max = seconds(3600),
             .retry = {.first = milliseconds(1), .longest = milliseconds(1), .all = milliseconds(0)}});
  exporter->Take(SpanNamed("a"));
  collector_.Await(1);
  exporter->Flush(seconds(10));
  EXPECT_EQ(Dropped("unreachable"), 1);
}

TEST_F(ExporterTest, DropsABatchThatTheCollectorRefuses) {
  collector_.Next(Answer{.status = 400});
  const auto exporter = Start({.batch_spans_max = 1, .delay_max = seconds(3600)});
  exporter->Take(SpanNamed("a"));
  exporter->Flush(seconds(10));
  EXPECT_EQ(Dropped("rejected"), 1);
}

TEST_F(ExporterTest, CountsTheSpansThatTheCollectorRejects) {
  ExportTraceServiceResponse response;
  response.mutable_partial_success()->set_rejected_spans(2);
  response.mutable_partial_success()->set_error_message("too old");
  collector_.Next(Answer{.status = 200, .body = response.SerializeAsString()});
  const auto exporter = Start({.batch_spans_max = 3, .delay_max = seconds(3600)});
  for (int i = 0; i < 3; ++i) exporter->Take(SpanNamed("a"));
  exporter->Flush(seconds(10));
  EXPECT_EQ(Exported(), 1);
  EXPECT_EQ(Dropped("rejected"), 2);
}

TEST_F(ExporterTest, ExportsEveryReasonOfADropFromTheStart) {
  const auto exporter = Start({});
  const std::string text = registry_.Text();
  for (const char* reason : {"queue_full", "unreachable", "rejected", "shutdown"})
    EXPECT_THAT(text, HasSubstr(fmt::format("longshore_spans_dropped_total{{reason=\"{}\"}} 0", reason)));
}

std::optional<milliseconds> Wait(const Result<Answer>& answer, const Attempt& attempt = {}) {
  return WaitAfter(answer, attempt, {});
}

TEST(Retry, IsForTheStatusCodesThatOtlpNames) {
  for (const int status : {429, 502, 503, 504}) EXPECT_TRUE(Wait(Answer{.status = status})) << status;
  for (const int status : {200, 301, 400, 401, 403, 404, 413, 500, 501}) EXPECT_FALSE(Wait(Answer{.status = status}));
}

TEST(Retry, IsForAConnectionThatFails) {
  EXPECT_TRUE(Wait(longshore::Unavailable("connection refused")));
  EXPECT_TRUE(Wait(Fail(Code::kUnauthenticated, "certificate has expired")));
  EXPECT_FALSE(Wait(longshore::Cancelled("cancelled")));
  EXPECT_FALSE(Wait(longshore::FailedPrecondition("no such CA file")));
}

TEST(Retry, WaitsTwiceAsLongEachTimeUpToALimit) {
  std::vector<int64_t> waits;
  for (int number = 1; number <= 7; ++number)
    waits.push_back(Wait(Answer{.status = 503}, {.number = number, .random = 0})->count());
  EXPECT_THAT(waits, ElementsAre(1000, 2000, 4000, 8000, 16000, 30000, 30000));
  EXPECT_EQ(Wait(Answer{.status = 503}, {.number = 3, .random = 1}), milliseconds(2000));
}

TEST(Retry, WaitsAsLongAsTheAnswerSays) {
  EXPECT_EQ(Wait(Answer{.status = 429, .body = {}, .retry_after = seconds(7)}), seconds(7));
  EXPECT_FALSE(Wait(Answer{.status = 429, .body = {}, .retry_after = seconds(61)}));
  EXPECT_FALSE(Wait(Answer{.status = 429, .body = {}, .retry_after = seconds(int64_t{1} << 40)}));
}

TEST(Retry, EndsWhenTheTimeIsOver) {
  EXPECT_TRUE(Wait(Answer{.status = 503}, {.number = 1, .since_first = milliseconds(59'000), .random = 0}));
  EXPECT_FALSE(Wait(Answer{.status = 503}, {.number = 1, .since_first = milliseconds(59'001), .random = 0}));
}

TEST(Pairs, AreReadAsInTheEnvironmentVariables) {
  EXPECT_EQ(ParsePairs("").value(), Pairs());
  EXPECT_EQ(ParsePairs("a=1, api-key = x%20y%3D ,b=1=2,,c=%zz%4").value(),
            (Pairs{{"a", "1"}, {"api-key", "x y="}, {"b", "1=2"}, {"c", "%zz%4"}}));
}

TEST(Pairs, AreRefusedWithoutTheirTextIfTheyAreNotValid) {
  EXPECT_EQ(ParsePairs("a=1,secret").error().message, "entry 2 of the list is not NAME=VALUE");
  EXPECT_FALSE(ParsePairs("=secret"));
}

std::map<std::string, std::string> TextsOf(const Resource& resource) {
  std::map<std::string, std::string> texts;
  for (const auto& attribute : resource.attributes()) texts[attribute.key()] = attribute.value().string_value();
  return texts;
}

TEST(Resource, NamesTheProcess) {
  const auto texts =
      TextsOf(ResourceOf({.version = "1", .node = "cpu-0", .host = "h", .pod = "p", .pod_namespace = "n"}, {}));
  EXPECT_EQ(texts.at("service.name"), "longshore-node");
  EXPECT_EQ(texts.at("service.instance.id"), "cpu-0");
  EXPECT_EQ(texts.at("host.name"), "h");
  EXPECT_EQ(texts.at("k8s.pod.name"), "p");
  EXPECT_EQ(texts.at("k8s.namespace.name"), "n");
  EXPECT_FALSE(texts.contains("longshore.fleet")) << "it is not known";
}

TEST(Resource, HasTheAttributesOfTheUser) {
  const Pairs attributes = {{"service.name", "theirs"}, {"host.name", "other"}, {"team", "vision"}};
  EXPECT_EQ(TextsOf(ResourceOf({.host = "h"}, attributes)).at("service.name"), "theirs");
  const auto texts = TextsOf(ResourceOf({.service_name = "ours", .host = "h"}, attributes));
  EXPECT_EQ(texts.at("service.name"), "ours");
  EXPECT_EQ(texts.at("host.name"), "other");
  EXPECT_EQ(texts.at("team"), "vision");
}

}  // namespace
}  // namespace longshore::tracing::otlp

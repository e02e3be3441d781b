#include "serving-node/tracing/trace.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "serving-node/tracing/tracer.h"

namespace longshore::tracing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

using testing::IsEmpty;
using testing::SizeIs;

constexpr ServerCall kRpc{.service = "tensorflow.serving.PredictionService", .method = "Predict"};
constexpr ServerCall kHttp{.service = "", .method = "POST", .route = "/v1/models/{model}:predict"};
const Context kParent{.trace_id = {1, 2}, .span_id = 3, .sampled = true, .state = "a=1"};

struct Taken final : SpanSink {
  void Take(Span span) override { spans.push_back(std::move(span)); }
  std::vector<Span> spans;
};

std::map<std::string, std::string> AttributesOf(const Span& span) {
  std::map<std::string, std::string> found;
  for (const auto& attribute : span.attributes()) {
    const auto& value = attribute.value();
    found[attribute.key()] = value.has_string_value() ? value.string_value() : std::to_string(value.int_value());
  }
  return found;
}

class TraceTest : public testing::Test {
 protected:
  TracePtr Begin(std::optional<Context> parent = kParent, const ServerCall& call = kRpc, double ratio = 0) {
    return Tracer(ratio, taken_).Begin(std::move(parent), call, arrived_);
  }
  Span EndOf(const ServerCall& call, const Answered& answered) {
    Begin(kParent, call)->End(answered);
    return taken_.spans.back();
  }
  tracing::Run RunOf(int64_t batch_rows) const {
    return {.submitted = arrived_ + milliseconds(1),
            .filled = arrived_ + milliseconds(2),
            .started = arrived_ + milliseconds(3),
            .ended = arrived_ + milliseconds(9),
            .took = milliseconds(4),
            .batch_rows = batch_rows,
            .padded_rows = 8};
  }

  Taken taken_;
  const steady_clock::time_point arrived_ = steady_clock::now();
};

TEST_F(TraceTest, ContinuesTheTraceOfTheCaller) {
  const TracePtr trace = Begin();
  EXPECT_EQ(trace->context().trace_id, kParent.trace_id);
  EXPECT_NE(trace->context().span_id, kParent.span_id);
  EXPECT_EQ(trace->context().state, "a=1");
  trace->End({});
  const Span& span = taken_.spans.at(0);
  EXPECT_EQ(span.trace_id(), std::string("\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2", 16));
  EXPECT_EQ(span.parent_span_id(), std::string("\0\0\0\0\0\0\0\3", 8));
  EXPECT_EQ(span.span_id(), BytesOf(trace->context().span_id));
  EXPECT_EQ(span.trace_state(), "a=1");
  EXPECT_EQ(span.flags(), 0x301U);
}

TEST_F(TraceTest, BeginsANewTraceWithoutACaller) {
  Begin(std::nullopt, kRpc, 1)->End({});
  EXPECT_THAT(taken_.spans.at(0).trace_id(), SizeIs(16));
  EXPECT_THAT(taken_.spans.at(0).parent_span_id(), IsEmpty());
  EXPECT_EQ(taken_.spans.at(0).flags(), 0x101U);
}

TEST_F(TraceTest, MakesNoSpansIfItIsNotSampled) {
  const TracePtr trace = Begin(Context{.trace_id = {1, 2}, .span_id = 3, .sampled = false, .state = "a=1"}, kRpc, 1);
  const Hop hop = trace->BeginHop("peer", "/s/m");
  hop.End(Code::kOk);
  trace->Ran(RunOf(4));
  trace->Failed({});
  trace->End({});
  EXPECT_THAT(taken_.spans, IsEmpty());
  EXPECT_EQ(FormatTraceparent(hop.context()), FormatTraceparent(trace->context()))
      << "the peer learns that the trace is not sampled";
  EXPECT_EQ(hop.context().state, "a=1");
}

TEST_F(TraceTest, DescribesACallOfGrpcByTheSemanticConventions) {
  const Span span = EndOf(kRpc, {.code = Code::kOk, .model = "digits", .signature = "s", .version = 7});
  EXPECT_EQ(span.name(), "tensorflow.serving.PredictionService/Predict");
  EXPECT_EQ(span.kind(), Span::SPAN_KIND_SERVER);
  EXPECT_FALSE(span.has_status());
  EXPECT_EQ(AttributesOf(span), (std::map<std::string, std::string>{{"rpc.system", "grpc"},
                                                                    {"rpc.service", kRpc.service.data()},
                                                                    {"rpc.method", "Predict"},
                                                                    {"rpc.grpc.status_code", "0"},
                                                                    {"longshore.model.name", "digits"},
                                                                    {"longshore.model.version", "7"},
                                                                    {"longshore.model.signature", "s"}}));
}

TEST_F(TraceTest, DescribesACallOfHttpByTheSemanticConventions) {
  const Span span = EndOf(kHttp, {.code = Code::kUnavailable, .http_status = 503, .model = "digits"});
  EXPECT_EQ(span.name(), "POST /v1/models/{model}:predict");
  EXPECT_EQ(AttributesOf(span), (std::map<std::string, std::string>{{"http.request.method", "POST"},
                                                                    {"http.route", "/v1/models/{model}:predict"},
                                                                    {"http.response.status_code", "503"},
                                                                    {"error.type", "UNAVAILABLE"},
                                                                    {"longshore.model.name", "digits"}}));
  EXPECT_EQ(span.status().code(), 2);
  EXPECT_EQ(span.status().message(), "UNAVAILABLE");
}

TEST_F(TraceTest, CountsOnlyFaultsOfTheServerAsErrors) {
  EXPECT_EQ(EndOf(kRpc, {.code = Code::kInvalidArgument, .model = ""}).status().code(), 0);
  EXPECT_EQ(EndOf(kRpc, {.code = Code::kInternal, .model = ""}).status().code(), 2);
  EXPECT_EQ(EndOf(kHttp, {.code = Code::kInvalidArgument, .http_status = 400, .model = ""}).status().code(), 0);
  EXPECT_EQ(EndOf(kHttp, {.code = Code::kInternal, .http_status = 500, .model = ""}).status().code(), 2);
}

TEST_F(TraceTest, CutsTextsOfClientsAndMakesThemValidUtf8) {
  const auto attributes = AttributesOf(EndOf(kRpc, {.model = "\xff" + std::string(10'000, 'x')}));
  EXPECT_LE(attributes.at("longshore.model.name").size(), kTextBytesMax);
  EXPECT_EQ(attributes.at("longshore.model.name").substr(0, 4), "\xEF\xBF\xBDx");
}

TEST_F(TraceTest, MakesSpansOfTheQueueTheBatchAndTheRun) {
  const TracePtr trace = Begin();
  tracing::Run run = RunOf(4);
  run.shared_with = {{.trace_id = {5, 6}, .span_id = 7}};
  run.shared_with_more = 2;
  trace->Ran(run);
  ASSERT_THAT(taken_.spans, SizeIs(3));
  const Span &queue = taken_.spans[0], &batch = taken_.spans[1], &ran = taken_.spans[2];
  EXPECT_EQ(queue.name(), "queue");
  EXPECT_EQ(queue.parent_span_id(), BytesOf(trace->context().span_id));
  EXPECT_EQ(queue.end_time_unix_nano() - queue.start_time_unix_nano(), 2'000'000U);
  EXPECT_EQ(AttributesOf(queue).at("longshore.queue.fill_us"), "1000");
  EXPECT_EQ(batch.name(), "batch");
  EXPECT_EQ(batch.parent_span_id(), BytesOf(trace->context().span_id));
  EXPECT_EQ(batch.start_time_unix_nano(), queue.end_time_unix_nano());
  EXPECT_EQ(batch.end_time_unix_nano() - batch.start_time_unix_nano(), 6'000'000U);
  EXPECT_EQ(AttributesOf(batch).at("longshore.batch.rows"), "4");
  EXPECT_EQ(batch.links(0).span_id(), BytesOf(7));
  EXPECT_EQ(batch.dropped_links_count(), 2U);
  EXPECT_EQ(ran.name(), "run");
  EXPECT_EQ(ran.parent_span_id(), batch.span_id());
  EXPECT_EQ(ran.end_time_unix_nano() - ran.start_time_unix_nano(), 4'000'000U);
}

TEST_F(TraceTest, MakesNoSpanOfABatchIfTheRequestRanAlone) {
  const TracePtr trace = Begin();
  trace->Ran(RunOf(0));
  ASSERT_THAT(taken_.spans, SizeIs(2));
  EXPECT_EQ(taken_.spans[1].name(), "run");
  EXPECT_EQ(taken_.spans[1].parent_span_id(), BytesOf(trace->context().span_id));
}

TEST_F(TraceTest, MarksTheStageInWhichARunFailed) {
  const TracePtr trace = Begin();
  trace->Failed({.submitted = arrived_, .ended = arrived_, .code = Code::kDeadlineExceeded});
  trace->Failed({.submitted = arrived_, .ended = arrived_, .code = Code::kInternal});
  EXPECT_EQ(taken_.spans.at(0).name(), "queue");
  EXPECT_EQ(taken_.spans.at(0).status().message(), "DEADLINE_EXCEEDED");
  EXPECT_EQ(taken_.spans.at(1).name(), "run");
  EXPECT_EQ(taken_.spans.at(1).status().code(), 2);
}

TEST_F(TraceTest, MakesAHopTheParentOfThePeersSpan) {
  const TracePtr trace = Begin();
  const Hop hop = trace->BeginHop("10.0.0.2:8503", "/tensorflow.serving.PredictionService/Predict");
  EXPECT_EQ(hop.context().trace_id, kParent.trace_id);
  EXPECT_NE(hop.context().span_id, trace->context().span_id);
  EXPECT_TRUE(hop.context().sampled);
  hop.End(Code::kNotFound);
  const Span& span = taken_.spans.at(0);
  EXPECT_EQ(span.span_id(), BytesOf(hop.context().span_id));
  EXPECT_EQ(span.parent_span_id(), BytesOf(trace->context().span_id));
  EXPECT_EQ(span.kind(), Span::SPAN_KIND_CLIENT);
  EXPECT_EQ(span.name(), "tensorflow.serving.PredictionService/Predict");
  EXPECT_EQ(AttributesOf(span).at("server.address"), "10.0.0.2:8503");
  EXPECT_EQ(AttributesOf(span).at("rpc.method"), "Predict");
  EXPECT_EQ(span.status().message(), "NOT_FOUND");
}

TEST_F(TraceTest, HasTimesSince1970) {
  Begin()->End({});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ns = static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
  const Span& span = taken_.spans.at(0);
  EXPECT_LE(span.start_time_unix_nano(), span.end_time_unix_nano());
  EXPECT_LE(span.end_time_unix_nano(), ns + 1'000'000'000);
  EXPECT_GE(span.start_time_unix_nano() + 60'000'000'000, ns);
}

TEST(RandomId, IsDifferentEachTime) {
  std::set<uint64_t> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(RandomId());
  EXPECT_EQ(ids.size(), 1000U);
  EXPECT_FALSE(ids.contains(0));
}

}  // namespace
}  // namespace longshore::tracing

#include "serving-node/app/flags/trace_flags.h"

#include <gmock/gmock.h>

#include "serving-node/app/flags/flags.h"

namespace longshore::app::flags {
namespace {

using testing::HasSubstr;
using testing::Not;
using Texts = std::map<std::string, std::string>;

Result<std::optional<TraceOptions>> Parsed(std::vector<std::string> arguments, Texts variables = {}) {
  arguments.insert(arguments.begin(), "--model_base_path=/m");
  Environment environment;
  environment.otel = std::move(variables);
  const auto parsed = ParseFlags(arguments, environment);
  if (!parsed) return tl::make_unexpected(parsed.error());
  return parsed->flags.traces.Options();
}

std::string WhyNot(std::vector<std::string> arguments, Texts variables = {}) {
  arguments.insert(arguments.begin(), "--otel_exporter_otlp_endpoint=http://c");
  return Parsed(std::move(arguments), std::move(variables)).error().message;
}

TEST(TraceFlags, ExportNothingWithoutAnEndpoint) {
  EXPECT_EQ(Parsed({"--otel_traces_sampler=parentbased_always_on"})->has_value(), false);
}

TEST(TraceFlags, HaveTheDefaultsOfOpenTelemetry) {
  const TraceOptions options = **Parsed({"--otel_exporter_otlp_endpoint=http://c:4318"});
  EXPECT_EQ(options.url, "http://c:4318/v1/traces");
  EXPECT_EQ(options.sample_ratio, 0);
  EXPECT_EQ(options.delay_max, std::chrono::seconds(5));
  EXPECT_EQ(options.queue_spans_max, 2048U);
}

TEST(TraceFlags, BuildTheUrlAsOpenTelemetryDoes) {
  EXPECT_EQ((**Parsed({"--otel_exporter_otlp_endpoint=http://c/a/"})).url, "http://c/a/v1/traces");
  EXPECT_EQ(
      (**Parsed({"--otel_exporter_otlp_endpoint=http://c", "--otel_exporter_otlp_traces_endpoint=http://d/x"})).url,
      "http://d/x");
}

TEST(TraceFlags, TakeTheirDefaultsFromTheEnvironment) {
  const Texts variables = {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"},
                           {"OTEL_EXPORTER_OTLP_HEADERS", "key=a%20b"},
                           {"OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.crt"},
                           {"OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"},
                           {"OTEL_SERVICE_NAME", "digits"},
                           {"OTEL_RESOURCE_ATTRIBUTES", "team=vision"},
                           {"OTEL_TRACES_SAMPLER", "parentbased_traceidratio"},
                           {"OTEL_TRACES_SAMPLER_ARG", "0.25"},
                           {"OTEL_BSP_SCHEDULE_DELAY", "100"},
                           {"OTEL_BSP_MAX_QUEUE_SIZE", "7"}};
  const TraceOptions options = **Parsed({"--otel_service_name=mine"}, variables);
  EXPECT_EQ(options.url, "http://c/v1/traces");
  EXPECT_EQ(options.headers, (tracing::otlp::Pairs{{"key", "a b"}}));
  EXPECT_EQ(options.ca_file, "/ca.crt");
  EXPECT_EQ(options.service_name, "mine") << "the flag counts";
  EXPECT_EQ(options.resource_attributes, (tracing::otlp::Pairs{{"team", "vision"}}));
  EXPECT_EQ(options.sample_ratio, 0.25);
  EXPECT_EQ(options.delay_max, std::chrono::milliseconds(100));
  EXPECT_EQ(options.queue_spans_max, 7U);
}

TEST(TraceFlags, PreferTheHeadersOfTraces) {
  const auto options = Parsed({"--otel_exporter_otlp_endpoint=http://c"},
                              {{"OTEL_EXPORTER_OTLP_HEADERS", "a=1"}, {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "b=2"}});
  EXPECT_EQ((**options).headers, (tracing::otlp::Pairs{{"b", "2"}}));
}

TEST(TraceFlags, KnowTheSamplersThatFollowTheClient) {
  const auto ratio = [](std::vector<std::string> arguments) {
    arguments.emplace_back("--otel_exporter_otlp_endpoint=http://c");
    return (**Parsed(arguments)).sample_ratio;
  };
  EXPECT_EQ(ratio({"--otel_traces_sampler=parentbased_always_on"}), 1);
  EXPECT_EQ(ratio({"--otel_traces_sampler=parentbased_always_off"}), 0);
  EXPECT_EQ(ratio({"--otel_traces_sampler=parentbased_traceidratio"}), 1);
  EXPECT_THAT(WhyNot({"--otel_traces_sampler=always_on"}), HasSubstr("--otel_traces_sampler=always_on is not"));
}

TEST(TraceFlags, NameTheFlagThatIsWrong) {
  const std::string ratio = "--otel_traces_sampler=parentbased_traceidratio";
  for (const char* text : {"2", "-0.1", "x", "0.5x", "nan"})
    EXPECT_THAT(WhyNot({ratio, fmt::format("--otel_traces_sampler_arg={}", text)}), HasSubstr("sampler_arg"));
  EXPECT_THAT(WhyNot({"--otel_bsp_schedule_delay=0"}), HasSubstr("--otel_bsp_schedule_delay=0 is not"));
  EXPECT_THAT(WhyNot({"--otel_bsp_max_queue_size=100001"}), HasSubstr("from 1 to 100000"));
  EXPECT_THAT(WhyNot({"--otel_resource_attributes=x"}), HasSubstr("--otel_resource_attributes: entry 1"));
  EXPECT_THAT(WhyNot({}, {{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}), HasSubstr("only http/protobuf"));
  const std::string headers = WhyNot({}, {{"OTEL_EXPORTER_OTLP_HEADERS", "secret"}});
  EXPECT_THAT(headers, HasSubstr("OTEL_EXPORTER_OTLP_HEADERS: entry 1"));
  EXPECT_THAT(headers, Not(HasSubstr("secret")));
}

TEST(TraceFlags, WorkOnAManagedNodeToo) {
  Environment environment;
  environment.otel = {{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c"}};
  const auto parsed = ParseFlags({"--controller=unix:/c", "--fleet=a/b", "--state_dir=/s"}, environment);
  EXPECT_TRUE(parsed->flags.traces.Options()->has_value());
}

}  // namespace
}  // namespace longshore::app::flags

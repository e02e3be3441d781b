#include "serving-node/app/flags/trace_flags.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <charconv>

namespace longshore::app::flags {
namespace {

constexpr int kDelayMsMax = 60'000;
constexpr int kQueueSpansMax = 100'000;

// A variable of the environment, and the member of TraceFlags that it sets. `about` is the help of the flag that sets
// the same member; null if only the variable can set it.
struct Variable {
  const char* name;
  std::string TraceFlags::*member;
  const char* about;
};

constexpr Variable kVariables[] = {
    {"OTEL_EXPORTER_OTLP_ENDPOINT", &TraceFlags::endpoint,
     "URL of an OpenTelemetry collector that receives OTLP over HTTP, such as http://collector:4318; /v1/traces is "
     "appended [none: no traces are exported]"},
    {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &TraceFlags::traces_endpoint,
     "the whole URL to which traces are sent, instead of --otel_exporter_otlp_endpoint"},
    {"OTEL_EXPORTER_OTLP_CERTIFICATE", &TraceFlags::certificate,
     "PEM file with the only CAs that may sign the certificate of the collector [the CAs of the system]"},
    {"OTEL_SERVICE_NAME", &TraceFlags::service_name, "the attribute service.name of traces [longshore-node]"},
    {"OTEL_RESOURCE_ATTRIBUTES", &TraceFlags::resource_attributes,
     "further attributes of this process in traces: NAME=VALUE,NAME=VALUE"},
    {"OTEL_TRACES_SAMPLER", &TraceFlags::sampler,
     "which traces are recorded that begin at this node: parentbased_always_off (none), parentbased_traceidratio or "
     "parentbased_always_on (all). The client decides about the others [parentbased_always_off]"},
    {"OTEL_TRACES_SAMPLER_ARG", &TraceFlags::sampler_arg,
     "the share that parentbased_traceidratio records, from 0 to 1 [1]"},
    {"OTEL_BSP_SCHEDULE_DELAY", &TraceFlags::schedule_delay,
     "how many milliseconds a span waits until enough others for a batch have ended [5000]"},
    {"OTEL_BSP_MAX_QUEUE_SIZE", &TraceFlags::max_queue_size,
     "how many spans may wait for export; further ones are dropped [2048]"},
    {"OTEL_EXPORTER_OTLP_HEADERS", &TraceFlags::headers, nullptr},
    {"OTEL_EXPORTER_OTLP_TRACES_HEADERS", &TraceFlags::traces_headers, nullptr},
    {"OTEL_EXPORTER_OTLP_PROTOCOL", &TraceFlags::protocol, nullptr},
};

// "--otel_service_name" for OTEL_SERVICE_NAME.
std::string FlagOf(const Variable& variable) {
  std::string flag = "--";
  for (const char* c = variable.name; *c != '\0'; ++c) flag += static_cast<char>(std::tolower(*c));
  return flag;
}

Result<int> WholeNumber(const char* flag, const std::string& text, int max) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number >= 1 && number <= max) return number;
  return InvalidArgument("{}={} is not a whole number from 1 to {}", flag, text, max);
}

Result<double> RatioOf(const std::string& sampler, const std::string& arg) {
  if (sampler == "parentbased_always_off") return 0;
  if (sampler == "parentbased_always_on") return 1;
  if (sampler != "parentbased_traceidratio") {
    return InvalidArgument(
        "--otel_traces_sampler={} is not parentbased_always_off, parentbased_traceidratio or parentbased_always_on",
        sampler);
  }
  double ratio = 0;
  const auto [end, error] = std::from_chars(arg.data(), arg.data() + arg.size(), ratio);
  if (error == std::errc{} && end == arg.data() + arg.size() && ratio >= 0 && ratio <= 1) return ratio;
  return InvalidArgument("--otel_traces_sampler_arg={} is not a number from 0 to 1", arg);
}

Result<tracing::otlp::Pairs> PairsOf(const char* flag, const std::string& text) {
  auto pairs = tracing::otlp::ParsePairs(text);
  if (!pairs) return Prefixed(pairs.error(), flag);
  return pairs;
}

}  // namespace

void TraceFlags::AddTo(CLI::App& app) {
  for (const Variable& variable : kVariables) {
    if (variable.about != nullptr)
      app.add_option(FlagOf(variable), this->*variable.member, variable.about)->group("Traces");
  }
}

std::vector<std::string> TraceFlags::Variables() {
  std::vector<std::string> names;
  for (const Variable& variable : kVariables) names.emplace_back(variable.name);
  return names;
}

void TraceFlags::ReadEnvironment(const std::map<std::string, std::string>& variables, const CLI::App& app) {
  for (const Variable& variable : kVariables) {
    const auto found = variables.find(variable.name);
    if (found == variables.end() || found->second.empty()) continue;
    if (variable.about == nullptr || app.count(FlagOf(variable)) == 0) this->*variable.member = found->second;
  }
}

Result<std::optional<TraceOptions>> TraceFlags::Options() const {
  if (endpoint.empty() && traces_endpoint.empty()) return std::nullopt;
  if (!protocol.empty() && protocol != "http/protobuf")
    return InvalidArgument("OTEL_EXPORTER_OTLP_PROTOCOL={}: only http/protobuf is supported", protocol);
  TraceOptions options;
  options.url = traces_endpoint;
  if (options.url.empty()) options.url = endpoint + (endpoint.ends_with('/') ? "v1/traces" : "/v1/traces");
  options.ca_file = certificate;
  options.service_name = service_name;
  const bool has_own_headers = !traces_headers.empty();
  ASSIGN_OR_RETURN(options.headers,
                   PairsOf(has_own_headers ? "OTEL_EXPORTER_OTLP_TRACES_HEADERS" : "OTEL_EXPORTER_OTLP_HEADERS",
                           has_own_headers ? traces_headers : headers));
  ASSIGN_OR_RETURN(options.resource_attributes, PairsOf("--otel_resource_attributes", resource_attributes));
  ASSIGN_OR_RETURN(options.sample_ratio, RatioOf(sampler, sampler_arg));
  ASSIGN_OR_RETURN(const int delay_ms, WholeNumber("--otel_bsp_schedule_delay", schedule_delay, kDelayMsMax));
  ASSIGN_OR_RETURN(const int spans_max, WholeNumber("--otel_bsp_max_queue_size", max_queue_size, kQueueSpansMax));
  options.delay_max = std::chrono::milliseconds(delay_ms);
  options.queue_spans_max = static_cast<size_t>(spans_max);
  return options;
}

}  // namespace longshore::app::flags

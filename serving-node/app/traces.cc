#include "serving-node/app/traces.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "common/net/download/download.h"
#include "common/net/download/post.h"
#include "common/os/log.h"

namespace longshore::app {
namespace {

// Shorter than the grace period of a pod, of which the drain takes the larger part.
constexpr std::chrono::seconds kFlushMax{5};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

tracing::otlp::Process ProcessOf(const flags::Flags& flags, const flags::TraceOptions& options) {
  tracing::otlp::Process process{.service_name = options.service_name,
                                 .version = flags::SoftwareVersion(),
                                 .node = flags.node,
                                 .fleet = flags.fleet,
                                 .host = HostName(),
                                 .pod = Variable("POD_NAME"),
                                 .pod_namespace = Variable("POD_NAMESPACE"),
                                 .pid = getpid()};
  // The pods of a fleet are in its namespace.
  if (!process.pod.empty() && process.pod_namespace.empty())
    process.pod_namespace = flags.fleet.substr(0, flags.fleet.find('/'));
  return process;
}

tracing::otlp::Pairs HeadersOf(const flags::TraceOptions& options) {
  tracing::otlp::Pairs headers = options.headers;
  headers.emplace_back("Content-Type", "application/x-protobuf");
  return headers;
}

}  // namespace

void Traces::Flush() const {
  if (exporter) exporter->Flush(kFlushMax);
}

Result<Traces> StartTraces(const flags::Flags& flags, metrics::Registry& registry) {
  ASSIGN_OR_RETURN(const auto options, flags.traces.Options());
  if (!options) return Traces();
  auto made =
      download::Poster::Make({.url = options->url, .headers = HeadersOf(*options), .ca_file = options->ca_file});
  if (!made) return Prefixed(made.error(), "traces");
  const auto poster = std::make_shared<download::Poster>(std::move(*made));
  Traces traces;
  traces.exporter = std::make_unique<tracing::otlp::Exporter>(
      tracing::otlp::ExporterOptions{
          .resource = tracing::otlp::ResourceOf(ProcessOf(flags, *options), options->resource_attributes),
          .version = flags::SoftwareVersion(),
          .queue = {.spans_max = options->queue_spans_max},
          .delay_max = options->delay_max},
      [poster](const std::string& body, const std::function<bool()>& is_cancelled) {
        return poster->Post(body, is_cancelled);
      },
      registry);
  traces.tracer = std::make_unique<tracing::Tracer>(options->sample_ratio, *traces.exporter);
  spdlog::info("traces are exported to {}", ForLog(download::ShownUrl(options->url)));
  return traces;
}

}  // namespace longshore::app

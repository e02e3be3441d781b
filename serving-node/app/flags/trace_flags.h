// The flags of traces. Each has the name of an environment variable of OpenTelemetry, which supplies its default
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/path.h"
#include "serving-node/tracing/otlp/pairs.h"

namespace CLI {
class App;
}

namespace longshore::app::flags {

// How a node exports traces.
struct TraceOptions {
  std::string url;  // The address of the collector: "http://collector:4318/v1/traces".
  tracing::otlp::Pairs headers{};
  Path ca_file{};
  std::string service_name{};
  tracing::otlp::Pairs resource_attributes{};
  double sample_ratio = 0;
  std::chrono::milliseconds delay_max{};
  size_t queue_spans_max = 0;
};

struct TraceFlags {
  std::string endpoint;
  std::string traces_endpoint;
  std::string certificate;
  std::string service_name;
  std::string resource_attributes;
  std::string sampler = "parentbased_always_off";
  std::string sampler_arg = "1";
  std::string schedule_delay = "5000";  // In milliseconds.
  std::string max_queue_size = "2048";  // In spans.
  // Only from the environment. All users of a machine can read the arguments of a program, and headers are secrets.
  std::string headers;
  std::string traces_headers;
  std::string protocol;

  void AddTo(CLI::App& app);
  // Sets what the parsed arguments do not set. `variables` are those of the environment, by name; empty ones do not
  // count.
  void ReadEnvironment(const std::map<std::string, std::string>& variables, const CLI::App& app);
  // The variables that ReadEnvironment reads.
  static std::vector<std::string> Variables();

  // Returns nullopt if no endpoint is set. Then the node exports no traces, and ignores the other flags. Returns
  // InvalidArgument, which names the flag and contains no headers, if a value is not valid.
  Result<std::optional<TraceOptions>> Options() const;
};

}  // namespace longshore::app::flags

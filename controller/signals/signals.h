// Sources of the metrics that autoscaling reads.
//
// There are two: the reports of the nodes, and a Prometheus server. Neither turns an unknown value into a number.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/path.h"
#include "controller/decide/autoscale/fleet_metrics.h"
#include "controller/nodes/nodes.h"

namespace longshore::signals {

// Not thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  // Returns the current metrics. Never blocks: a source that queries a server does so on its own thread. `ready`: the
  // views of the nodes that are ready now, which the metrics should cover.
  virtual autoscale::FleetMetrics Latest(const std::vector<nodes::ViewPtr>& ready, TimePoint now) = 0;
};

using autoscale::LatencyObjective;

// Which metrics to read.
struct Query {
  std::string fleet;                          // "namespace/name".
  std::vector<LatencyObjective> latencies{};  // At most one per Model.
  std::string prometheus_url;                 // "http://127.0.0.1:9090"; empty: use the nodes' reports.
  // Maximum age of a sample. Prometheus should scrape at least once in this time. Rates from Prometheus cover twice
  // age_max, because a rate needs two samples.
  Duration age_max = std::chrono::seconds(15);

  friend bool operator==(const Query&, const Query&) = default;
};

// Computes rates from the differences between reports of nodes, which arrive about once a second, and averages them
// over some seconds (autoscale::LoadWindow). A node without a report for longer than kReportAgeMax is missing, and its
// earlier reports are ignored. The latency of a Model is known if at least one node reports its requests
// (NodeLoad.models).
inline constexpr Duration kReportAgeMax = std::chrono::seconds(3);
// `clock` must be the clock of NodeView::report_at. The returned source gives signals with wall-clock times.
std::unique_ptr<Source> MakeReportSource(const Query& query, const MonotonicClock& clock);

// Settings for the connection to Prometheus that a manifest cannot change; the same for all fleets.
struct PrometheusTrust {
  Path ca_file{};     // PEM file with the CAs that sign https servers' certificates; empty: the CAs of the system.
  Path token_file{};  // Bearer token for `token_for`, read again before each round of queries; empty: none.
  std::string
      token_for{};  // The https URL of the only server that gets the token, because a manifest may name any server.

  friend bool operator==(const PrometheusTrust&, const PrometheusTrust&) = default;
};

struct PrometheusOptions {
  PrometheusTrust trust{};
  std::chrono::milliseconds interval{1000};
  std::chrono::milliseconds timeout{5000};
  size_t answer_bytes_max = 1 << 20;
};

// Returns a source that queries a Prometheus server (HTTP API, /api/v1/query) once per interval, or InvalidArgument if
// a URL is not valid.
Result<std::unique_ptr<Source>> MakePrometheusSource(const Query& query, const Clock& clock,
                                                     PrometheusOptions options = {});

}  // namespace longshore::signals

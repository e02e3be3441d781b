// The seam for what users of a fleet feel, measured: the input of autoscaling.
//
// Two sources: the fleet's own reports, and a Prometheus server. Neither ever turns "not known" into a number.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "common/file.h"
#include "controller/autoscale/autoscale.h"
#include "controller/nodes/nodes.h"

namespace longshore::metrics {

// Belongs to one thread.
class Source {
 public:
  virtual ~Source() = default;

  // What is known now. Never waits: a source that asks others does so on a thread of its own. `ready` are the views of
  // the fleet's ready nodes now: those of which the metrics should tell.
  virtual autoscale::FleetMetrics Latest(const std::vector<nodes::ViewPtr>& ready, TimePoint now) = 0;
};

// What to measure.
struct Query {
  std::string fleet;  // "namespace/name".
  double latency_quantile = 0.99;
  std::string prometheus_url;  // "http://127.0.0.1:9090"; empty: the nodes' reports.
  // How old a sample may be. Prometheus' rates are taken over twice that time: it scrapes at least once in the first
  // half.
  Duration age_max = std::chrono::seconds(15);

  friend bool operator==(const Query&, const Query&) = default;
};

// Rates from the differences of the nodes' reports, which come about once a second. A node that is silent for longer
// than kSilentAfter is missing, and what it said before is left out.
inline constexpr Duration kSilentAfter = std::chrono::seconds(3);
// The clock is the one that tells NodeView::report_at; what it measures has wall time all the same.
std::unique_ptr<Source> MakeReportSource(const Query& query, const MonotonicClock& clock);

// Of all fleets: what a manifest says nothing of.
struct PrometheusTrust {
  Path ca_file{};     // PEM: who signs the certificates of servers by https; empty: the system's authorities.
  Path token_file{};  // What is shown to `token_for`, read again for each round of questions; empty: nothing.
  std::string
      token_for{};  // An https URL. Whoever writes a manifest names any server; the token goes to this one only.

  friend bool operator==(const PrometheusTrust&, const PrometheusTrust&) = default;
};

struct PrometheusOptions {
  PrometheusTrust trust{};
  std::chrono::milliseconds interval{1000};
  std::chrono::milliseconds timeout{5000};
  size_t answer_bytes_max = 1 << 20;
};

// Asks a Prometheus server (its HTTP API, /api/v1/query) once per interval. InvalidArgument when a URL is none.
Result<std::unique_ptr<Source>> MakePrometheusSource(const Query& query, const Clock& clock,
                                                     PrometheusOptions options = {});

}  // namespace longshore::metrics

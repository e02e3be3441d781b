#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "common/net/auth/tokens.h"
#include "common/net/http_client/client.h"
#include "common/os/file.h"
#include "common/os/log.h"
#include "common/os/ticker.h"
#include "controller/signals/prometheus_answer.h"
#include "controller/signals/signals.h"

namespace longshore::signals {
namespace {

using autoscale::FleetMetrics;
using autoscale::Presence;
using autoscale::Signal;

constexpr size_t kAuthoritiesBytesMax = size_t{16} << 20;

struct Expressions {
  std::string queue_delay;
  std::string started;
  std::string utilization;
  std::string arrivals;       // Requests per second, including refused ones.
  std::string node_capacity;  // Requests that a node starts per second while all its run slots are busy.
  std::string queued;
  std::map<double, std::string> latencies;  // Key: quantile. Each query covers all Models with an objective.
  std::string requests;                     // Requests per second, by Model.
  // Takes the time of each node's newest sample, and gives the earliest of these times.
  std::string oldest;
  std::string nodes;  // Number of nodes that have a rate and still exist.
};

// Returns a regular expression that matches the names of the Models, which consist of letters, digits, "_", "." and
// "-". It matches all names if there are too many for a URL.
std::string ModelsPattern(const std::vector<LatencyObjective>& objectives) {
  constexpr size_t kPatternBytesMax = 2000;
  std::string pattern;
  for (const LatencyObjective& objective : objectives) {
    if (!pattern.empty()) pattern += '|';
    for (const char c : objective.model) pattern += c == '.' ? "[.]" : std::string(1, c);
  }
  return pattern.size() <= kPatternBytesMax ? pattern : ".+";
}

Expressions ExpressionsFor(const Query& query) {
  const std::string fleet = fmt::format("{{fleet=\"{}\"}}", query.fleet);
  const std::string models = fmt::format("{{fleet=\"{}\",model=~\"{}\"}}", query.fleet, ModelsPattern(query.latencies));
  const auto window = std::chrono::duration_cast<std::chrono::milliseconds>(2 * query.age_max);
  const auto rate_of = [&](const std::string& name, const std::string& which) {
    return fmt::format("rate({}{}[{}ms])", name, which, window.count());
  };
  const auto rate = [&](const std::string& name) { return rate_of(name, fleet); };
  std::map<double, std::string> latencies;
  for (const LatencyObjective& objective : query.latencies) {
    latencies[objective.quantile] = fmt::format("histogram_quantile({}, sum by (le, model) ({}))", objective.quantile,
                                                rate_of("longshore_request_seconds_bucket", models));
  }
  const std::string slots = "longshore_run_slots" + fleet;
  const std::string started = fmt::format("sum({})", rate("longshore_queue_seconds_count"));
  const std::string busy = fmt::format("sum({})", rate("longshore_run_busy_seconds_total"));
  const std::string queued = "longshore_queued" + fleet;
  // Nodes of an older version do not count refused requests.
  const std::string refused = fmt::format("(sum({}) or vector(0))", rate("longshore_refused_total"));
  return {
      .queue_delay =
          fmt::format("sum({}) / sum({})", rate("longshore_queue_seconds_sum"), rate("longshore_queue_seconds_count")),
      .started = started,
      .utilization = fmt::format("{} / sum({})", busy, slots),
      .arrivals = fmt::format("clamp_min({} + {} + sum(deriv({}[{}ms])), 0)", started, refused, queued, window.count()),
      .node_capacity = fmt::format("{} / {} * avg({})", started, busy, slots),
      .queued = fmt::format("sum({})", queued),
      .latencies = std::move(latencies),
      .requests = fmt::format("sum by (model) ({})", rate("longshore_request_seconds_count")),
      .oldest = fmt::format("min(timestamp({}))", slots),
      .nodes = fmt::format("count({} and on (instance) {})", slots, rate("longshore_run_busy_seconds_total")),
  };
}

Result<tls::ClientIdentity> TrustedBy(const Path& ca_file) {
  auto authorities = ca_file.empty() ? tls::ReadSystemCas() : ReadFile(ca_file, kAuthoritiesBytesMax);
  if (!authorities) return tl::make_unexpected(authorities.error());
  return tls::ClientIdentity{.server_ca = std::move(*authorities), .certificate = {}, .key = {}};
}

// Returns the file with the token for this server; empty if the server gets no token.
Result<Path> TokenFileFor(const std::string& url, const PrometheusTrust& trust) {
  if (trust.token_file.empty()) return Path();
  ASSIGN_OR_RETURN(const std::string asked, http_client::OriginOf(url));
  ASSIGN_OR_RETURN(const std::string trusted, http_client::OriginOf(trust.token_for));
  return asked == trusted ? trust.token_file : Path();
}

class PrometheusSource final : public Source {
 public:
  PrometheusSource(const Query& query, const Clock& clock, std::chrono::milliseconds interval,
                   std::unique_ptr<http_client::Client> client, Path token_file)
      : expressions_(ExpressionsFor(query)),
        objectives_(query.latencies),
        url_(query.prometheus_url),
        token_file_(std::move(token_file)),
        clock_(clock),
        client_(std::move(client)) {
    asking_.emplace(
        interval, [this] { AskAll(); }, Ticker::First::kNow);
  }
  ~PrometheusSource() override { client_->Cancel(); }

  FleetMetrics Latest(const std::vector<nodes::ViewPtr>& ready, TimePoint) override {
    const std::scoped_lock lock(mutex_);
    FleetMetrics metrics = latest_;
    metrics.nodes_missing = std::max(static_cast<int>(ready.size()) - latest_.nodes_measured, 0);
    return metrics;
  }

 private:
  using ByModel = std::map<std::string, Signal>;

  void AskAll() {
    const Status has_token = ReadToken();
    if (!has_token) Unknown(has_token.error().message);
    const FleetMetrics measured = has_token ? Measure() : FleetMetrics();
    const std::scoped_lock lock(mutex_);
    latest_ = measured;
  }

  Status ReadToken() {
    if (token_file_.empty()) return {};
    ASSIGN_OR_RETURN(const std::string token, auth::ReadToken(token_file_));
    headers_["Authorization"] = "Bearer " + token;
    return {};
  }

  FleetMetrics Measure() {
    // Prometheus stamps an answer with the time of the query, so the age of the samples needs a separate query.
    const Signal oldest = Ask(expressions_.oldest);
    const Signal nodes = Ask(expressions_.nodes);
    if (oldest.presence != Presence::kValue || nodes.presence != Presence::kValue) return {};
    const TimePoint at = FromUnixMillis(static_cast<int64_t>(oldest.value * 1000));
    // If the clock of Prometheus is wrong, the ages of its samples are wrong too.
    if (at > clock_.Now() + std::chrono::seconds(60)) return {};
    const auto taken_at = [at](Signal signal) {
      if (signal.presence != Presence::kUnknown) signal.at = at;
      return signal;
    };
    FleetMetrics metrics;
    metrics.nodes_measured = static_cast<int>(nodes.value);
    metrics.utilization = taken_at(Ask(expressions_.utilization));
    metrics.queue_delay_seconds = taken_at(Ask(expressions_.queue_delay));
    // If no request was started, the queue delay is 0 / 0 = NaN, which is unknown. The fleet is idle only if the
    // rate of started requests is known to be zero.
    const Signal started = Ask(expressions_.started);
    const bool idle = started.presence == Presence::kValue && started.value == 0;
    if (idle && metrics.queue_delay_seconds.presence == Presence::kUnknown)
      metrics.queue_delay_seconds = {Presence::kIdle, 0, at};
    metrics.demand = {.arrivals_per_second = taken_at(Ask(expressions_.arrivals)),
                      .node_capacity_per_second = taken_at(Ask(expressions_.node_capacity)),
                      .queued = taken_at(Ask(expressions_.queued))};
    metrics.latencies = MeasureLatencies(idle);
    for (autoscale::ModelLatency& latency : metrics.latencies) latency.seconds = taken_at(latency.seconds);
    return metrics;
  }

  std::vector<autoscale::ModelLatency> MeasureLatencies(bool fleet_is_idle) {
    if (objectives_.empty()) return {};
    std::map<double, std::optional<ByModel>> answers;
    for (const auto& [quantile, expression] : expressions_.latencies) answers[quantile] = AskByModel(expression);
    const std::optional<ByModel> requests = AskByModel(expressions_.requests);
    std::vector<autoscale::ModelLatency> latencies;
    for (const LatencyObjective& objective : objectives_) {
      const std::optional<ByModel>& answer = answers[objective.quantile];
      Signal seconds;
      if (answer && answer->contains(objective.model)) seconds = answer->at(objective.model);
      if (answer && seconds.presence == Presence::kUnknown && IsIdle(objective.model, requests, fleet_is_idle))
        seconds.presence = Presence::kIdle;
      latencies.push_back({objective.model, objective.target, seconds});
    }
    return latencies;
  }

  // Whether it is certain that the Model had no requests. A node shows the series of a Model after its first request,
  // so a Model without a series had none. But if no Model has one, the series may not be recorded at all.
  static bool IsIdle(const std::string& model, const std::optional<ByModel>& requests, bool fleet_is_idle) {
    if (!requests) return false;
    const auto rate = requests->find(model);
    if (rate == requests->end()) return !requests->empty() || fleet_is_idle;
    return rate->second.presence == Presence::kValue && rate->second.value == 0;
  }

  // Returns an unknown signal after any failure.
  Signal Ask(const std::string& expression) {
    const auto body = Send(expression);
    return body ? SignalFromAnswer(*body) : Signal();
  }

  std::optional<ByModel> AskByModel(const std::string& expression) {
    const auto body = Send(expression);
    return body ? SignalsFromAnswer(*body, "model") : std::nullopt;
  }

  // Blocks, but only the querying thread runs it. Returns nullopt after any failure.
  std::optional<std::string> Send(const std::string& expression) {
    auto response =
        client_->Send({.target = "/api/v1/query?query=" + http_client::Encode(expression), .headers = headers_});
    if (!response || response->status != 200) {
      Unknown(response ? fmt::format("HTTP status {}", response->status) : response.error().message);
      return std::nullopt;
    }
    return std::move(response->body);
  }

  void Unknown(const std::string& why) {
    if (why != last_trouble_) spdlog::warn("cannot query Prometheus at {}: {}", url_, ForLog(why));
    last_trouble_ = why;
  }

  const Expressions expressions_;
  const std::vector<LatencyObjective> objectives_;
  const std::string url_;
  const Path token_file_;
  const Clock& clock_;
  const std::unique_ptr<http_client::Client> client_;
  std::map<std::string, std::string> headers_;  // This member and the next ones are used only on the querying thread.
  std::string last_trouble_;
  std::mutex mutex_;
  FleetMetrics latest_;
  std::optional<Ticker> asking_;  // Declared last: its thread uses the members above.
};

}  // namespace

Result<std::unique_ptr<Source>> MakePrometheusSource(const Query& query, const Clock& clock,
                                                     PrometheusOptions options) {
  auto token_file = TokenFileFor(query.prometheus_url, options.trust);
  if (!token_file) return Prefixed(token_file.error(), "the Prometheus URL");
  auto client = http_client::Client::Make({.base_url = query.prometheus_url,
                                           .tls = [ca = options.trust.ca_file] { return TrustedBy(ca); },
                                           .idle_max = options.timeout,
                                           // A longer answer is an error, because Prometheus does not split an answer.
                                           .body_bytes_max = options.answer_bytes_max});
  if (!client) return Prefixed(client.error(), "the Prometheus URL");
  return std::make_unique<PrometheusSource>(query, clock, options.interval, std::move(*client), std::move(*token_file));
}

}  // namespace longshore::signals

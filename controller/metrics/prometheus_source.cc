#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "common/auth/tokens.h"
#include "common/http_client/client.h"
#include "common/log.h"
#include "common/ticker.h"
#include "controller/metrics/metrics.h"
#include "controller/metrics/prometheus_answer.h"

namespace longshore::metrics {
namespace {

using autoscale::FleetMetrics;
using autoscale::Presence;
using autoscale::Signal;

constexpr size_t kAuthoritiesBytesMax = size_t{16} << 20;

struct Expressions {
  std::string queue_delay;
  std::string started;
  std::string utilization;
  std::string latency;
  std::string oldest;  // The time of the oldest of the nodes' newest samples, as a value.
  std::string nodes;   // How many nodes have a rate and are there still.
};

Expressions ExpressionsFor(const Query& query) {
  const std::string fleet = fmt::format("{{fleet=\"{}\"}}", query.fleet);
  const auto window = std::chrono::duration_cast<std::chrono::milliseconds>(2 * query.age_max);
  const auto rate = [&](const std::string& name) {
    return fmt::format("rate({}{}[{}ms])", name, fleet, window.count());
  };
  const std::string slots = "longshore_run_slots" + fleet;
  return {
      .queue_delay =
          fmt::format("sum({}) / sum({})", rate("longshore_queue_seconds_sum"), rate("longshore_queue_seconds_count")),
      .started = fmt::format("sum({})", rate("longshore_queue_seconds_count")),
      .utilization = fmt::format("sum({}) / sum({})", rate("longshore_run_busy_seconds_total"), slots),
      .latency = fmt::format("histogram_quantile({}, sum by (le) ({}))", query.latency_quantile,
                             rate("longshore_request_seconds_bucket")),
      .oldest = fmt::format("min(timestamp({}))", slots),
      .nodes = fmt::format("count({} and on (instance) {})", slots, rate("longshore_run_busy_seconds_total")),
  };
}

Result<tls::ClientIdentity> TrustedBy(const Path& ca_file) {
  auto authorities = ca_file.empty() ? tls::ReadSystemAuthorities() : ReadFile(ca_file, kAuthoritiesBytesMax);
  if (!authorities) return tl::make_unexpected(authorities.error());
  return tls::ClientIdentity{.server_ca = std::move(*authorities), .certificate = {}, .key = {}};
}

// Of which file what this server is shown; empty: it is shown nothing.
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
    FleetMetrics metrics = latest_.metrics;
    metrics.nodes_missing = std::max(static_cast<int>(ready.size()) - latest_.nodes, 0);
    return metrics;
  }

 private:
  struct Measured {
    FleetMetrics metrics;
    int nodes = 0;  // In the metrics.
  };

  void AskAll() {
    const Status has_token = ReadToken();
    if (!has_token) Unknown(has_token.error().message);
    const Measured measured = has_token ? Measure() : Measured();
    const std::scoped_lock lock(mutex_);
    latest_ = measured;
  }

  Status ReadToken() {
    if (token_file_.empty()) return {};
    ASSIGN_OR_RETURN(const std::string token, auth::ReadToken(token_file_));
    headers_["Authorization"] = "Bearer " + token;
    return {};
  }

  Measured Measure() {
    // Prometheus stamps an answer with the time of the question; how old the samples are has to be asked for.
    const Signal oldest = Ask(expressions_.oldest);
    const Signal nodes = Ask(expressions_.nodes);
    if (oldest.presence != Presence::kValue || nodes.presence != Presence::kValue) return {};
    const TimePoint at = FromUnixMillis(static_cast<int64_t>(oldest.value * 1000));
    if (at > clock_.Now() + std::chrono::seconds(60)) return {};  // Its clock cannot be trusted, nor can its ages.
    const auto taken_at = [at](Signal signal) {
      if (signal.presence != Presence::kUnknown) signal.at = at;
      return signal;
    };
    FleetMetrics metrics;
    metrics.utilization = taken_at(Ask(expressions_.utilization));
    metrics.latency_seconds = taken_at(Ask(expressions_.latency));
    metrics.queue_delay_seconds = taken_at(Ask(expressions_.queue_delay));
    // 0 / 0 is not a number. Only a proven rate of zero says that it means idle.
    const Signal started = Ask(expressions_.started);
    const bool idle = started.presence == Presence::kValue && started.value == 0;
    if (idle && metrics.queue_delay_seconds.presence == Presence::kUnknown)
      metrics.queue_delay_seconds = {Presence::kIdle, 0, at};
    if (idle && metrics.latency_seconds.presence == Presence::kUnknown)
      metrics.latency_seconds = {Presence::kIdle, 0, at};
    return {metrics, static_cast<int>(nodes.value)};
  }

  // Blocks this thread only; unknown whatever goes wrong.
  Signal Ask(const std::string& expression) {
    const auto response =
        client_->Send({.target = "/api/v1/query?query=" + http_client::Encode(expression), .headers = headers_});
    if (!response) return Unknown(response.error().message);
    if (response->status != 200) return Unknown(fmt::format("status {}", response->status));
    return SignalFromAnswer(response->body);
  }

  Signal Unknown(const std::string& why) {
    if (why != last_trouble_) spdlog::warn("Prometheus at {} does not answer: {}", url_, ForLog(why));
    last_trouble_ = why;
    return {};
  }

  const Expressions expressions_;
  const std::string url_;
  const Path token_file_;
  const Clock& clock_;
  const std::unique_ptr<http_client::Client> client_;
  std::map<std::string, std::string> headers_;  // Of the asking thread, as is:
  std::string last_trouble_;
  std::mutex mutex_;
  Measured latest_;
  std::optional<Ticker> asking_;  // Last: it uses the rest.
};

}  // namespace

Result<std::unique_ptr<Source>> MakePrometheusSource(const Query& query, const Clock& clock,
                                                     PrometheusOptions options) {
  auto token_file = TokenFileFor(query.prometheus_url, options.trust);
  if (!token_file) return Prefixed(token_file.error(), "the Prometheus URL");
  auto client = http_client::Client::Make({.base_url = query.prometheus_url,
                                           .tls = [ca = options.trust.ca_file] { return TrustedBy(ca); },
                                           .silence_max = options.timeout,
                                           // Prometheus says everything in one answer, so a longer one is none of its.
                                           .body_bytes_max = options.answer_bytes_max});
  if (!client) return Prefixed(client.error(), "the Prometheus URL");
  return std::make_unique<PrometheusSource>(query, clock, options.interval, std::move(*client), std::move(*token_file));
}

}  // namespace longshore::metrics

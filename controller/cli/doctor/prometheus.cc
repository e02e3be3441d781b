#include "controller/cli/doctor/prometheus.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "common/json/path.h"
#include "controller/api/units.h"
#include "controller/cli/text/text.h"

namespace longshore::cli::doctor {
namespace {

constexpr const char* kScrape = "docs/monitoring.md says how Prometheus finds the nodes";
// Without these metrics the autoscaling does nothing (controller/signals). The others appear with the first requests.
constexpr std::array<const char*, 2> kNeeded = {"longshore_run_slots", "longshore_run_busy_seconds_total"};

// The list of results of an answer of /api/v1/query.
Result<Json> ResultsIn(const Json& answer) {
  const Json& results = At(answer, {"data", "result"});
  if (results.is_null()) return DataLoss("it does not answer as a Prometheus does");
  return results;
}

std::vector<std::string> MissingIn(const Json& results) {
  std::set<std::string> names;
  for (const Json& one : results) names.insert(TextAt(one, {"metric", "__name__"}));
  std::vector<std::string> missing;
  for (const char* name : kNeeded) {
    if (!names.contains(name)) missing.emplace_back(name);
  }
  return missing;
}

// The value of the first result, a time in seconds; nullopt without a result.
std::optional<TimePoint> TimeIn(const Json& results) {
  if (results.empty() || !results[0].contains("value")) return std::nullopt;
  const double seconds = std::strtod(results[0].at("value").at(1).get<std::string>().c_str(), nullptr);
  if (!std::isfinite(seconds)) return std::nullopt;
  return TimePoint(std::chrono::duration_cast<TimePoint::duration>(std::chrono::duration<double>(seconds)));
}

bool ControllerHasEvidence(const api::ServingFleet& fleet, TimePoint now) {
  const api::AutoscaleStatus& autoscale = fleet.status.autoscale;
  return autoscale.reason != "NoEvidence" && autoscale.evidence_at != TimePoint{} &&
         now - autoscale.evidence_at <= 2 * fleet.spec.autoscaling->metrics_age_max;
}

Finding WithoutAnswer(Finding finding, const api::ServingFleet& fleet, const Error& error, Reach reach, TimePoint now) {
  const std::string& url = fleet.spec.autoscaling->prometheus_url;
  if (reach == Reach::kOther && ControllerHasEvidence(fleet, now)) {
    finding.cause = "it does not answer from here, but the controller has fresh metrics of it.";
    return finding;
  }
  finding.verdict = Verdict::kFailure;
  finding.cause = fmt::format("no answer: {}.", error.message);
  if (reach == Reach::kOther) finding.cause += " The controller has no fresh metrics either.";
  finding.cure = fmt::format("curl {}/-/ready, or correct spec.autoscaling.prometheus.url of the fleet", url);
  return finding;
}

// A check in which all documents have been read. Throws Json::exception if one of them has another form.
Finding WithAnswer(Finding finding, const api::ServingFleet& fleet, const Json& names, const Json& oldest,
                   TimePoint now) {
  const Duration age_max = fleet.spec.autoscaling->metrics_age_max;
  const std::vector<std::string> missing = MissingIn(names);
  const std::optional<TimePoint> at = TimeIn(oldest);
  if (!missing.empty()) {
    finding.verdict = Verdict::kFailure;
    finding.cause = fmt::format("it has no {} of this fleet.", fmt::join(missing, ", "));
    finding.cure = kScrape;
  } else if (!at || now - *at > age_max) {
    finding.verdict = Verdict::kFailure;
    finding.cause = fmt::format("its newest samples are {} old, and metricsAgeMax is {}.",
                                at ? text::Age(*at, now) : "too", api::FormatDuration(age_max));
    finding.cure = "make scrape_interval of Prometheus at most half of metricsAgeMax, or raise metricsAgeMax";
  } else {
    finding.cause = "it answers, and has fresh metrics of all kinds that the fleet scales by.";
  }
  return finding;
}

}  // namespace

std::string NamesQuery(const std::string& fleet) {
  return fmt::format(R"(count by (__name__) ({{__name__=~"{}",fleet="{}"}}))", fmt::join(kNeeded, "|"), fleet);
}

std::string OldestQuery(const std::string& fleet) {
  return fmt::format(R"(min(timestamp(longshore_run_slots{{fleet="{}"}})))", fleet);
}

Findings CheckPrometheus(const api::ServingFleet& fleet, const Series& series, Reach reach, TimePoint now) {
  if (!fleet.spec.autoscaling || fleet.spec.autoscaling->prometheus_url.empty()) return {};
  Finding finding{kPrometheus,
                  fmt::format("{} of fleet {}/{}", fleet.spec.autoscaling->prometheus_url, fleet.metadata.namespace_,
                              fleet.metadata.name),
                  Verdict::kOk, "", ""};
  if (!series.names) return {WithoutAnswer(finding, fleet, series.names.error(), reach, now)};
  if (!series.oldest) return {WithoutAnswer(finding, fleet, series.oldest.error(), reach, now)};
  const auto names = ResultsIn(*series.names);
  const auto oldest = ResultsIn(*series.oldest);
  if (!names) return {WithoutAnswer(finding, fleet, names.error(), reach, now)};
  if (!oldest) return {WithoutAnswer(finding, fleet, oldest.error(), reach, now)};
  try {
    return {WithAnswer(finding, fleet, *names, *oldest, now)};
  } catch (const Json::exception&) {
    return {WithoutAnswer(finding, fleet, {Code::kDataLoss, "it does not answer as a Prometheus does"}, reach, now)};
  }
}

Findings CheckMonitors(const std::vector<api::ServingFleet>& fleets, const Result<Json>& monitors,
                       const std::string& helm) {
  const bool is_needed = std::ranges::any_of(fleets, [](const api::ServingFleet& fleet) {
    return fleet.spec.autoscaling && !fleet.spec.autoscaling->prometheus_url.empty();
  });
  // Without the operator for Prometheus, its configuration file names the nodes.
  if (!is_needed || (!monitors && monitors.error().code == Code::kNotFound)) return {};
  Finding finding{kPrometheus, "PodMonitor of the nodes", Verdict::kOk, "the chart's PodMonitor exists.", ""};
  if (!monitors) {
    finding.verdict = Verdict::kNotKnown;
    finding.cause = monitors.error().message + ".";
    finding.cure = "kubectl get podmonitors -A -l app.kubernetes.io/part-of=longshore";
  } else if (At(*monitors, {"items"}).empty()) {
    finding.verdict = Verdict::kWarning;
    finding.cause =
        "none has the label app.kubernetes.io/part-of=longshore, so it may be that nothing scrapes the nodes.";
    finding.cure = helm + " --set metrics.discovery=PodMonitor";
  }
  return {finding};
}

}  // namespace longshore::cli::doctor

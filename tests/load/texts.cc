#include "tests/load/texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/buckets.h"
#include "common/base/text.h"

namespace longshore::load {
namespace {

constexpr size_t kRowsMax = 12;     // Of the histogram.
constexpr size_t kBarMax = 40;      // Characters.
constexpr size_t kNamesShown = 10;  // Versions or nodes.
constexpr int64_t kTailMin = 10;    // A quantile is shown if at least this many answers are above it.

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// Three significant digits, at least one of them before the point: "0.85 ms", "12.3 ms", "1.20 s".
std::string LatencyText(double ms) {
  const bool is_long = ms >= 1000;
  const double value = is_long ? ms / 1000 : ms;
  const int digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, digits, is_long ? "s" : "ms");
}

// "-" if there are no answers.
std::string QuantileText(const LatencyCounts& latency, double quantile) {
  return latency.count() == 0 ? "-" : LatencyText(latency.QuantileMs(quantile));
}

std::string RateText(double count, Duration time) {
  return fmt::format("{:.1f} requests/s", time.count() == 0 ? 0.0 : count / Seconds(time));
}

// A rate of fewer requests says little: it may be 20 % above the one that was asked for, by three standard deviations
// of a Poisson process.
constexpr double kRatesMin = 225;

double Percent(double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; }

// The number of arrivals of a Poisson process differs from its mean by more than three standard deviations in only
// 0.3 % of the runs, so a greater lack is that of the generator.
std::string SlownessText(const RunResult& run) {
  const double lacking = run.requests_asked - static_cast<double>(run.total.sent);
  if (lacking <= 3 * std::sqrt(run.requests_asked) || lacking <= run.requests_asked / 100) return "";
  return "warning: the generator was too slow to send all requests; its latencies may be too long\n";
}

// The rates of the run, or its counts if they are few.
std::string RatesText(const RunResult& run) {
  if (run.requests_asked < kRatesMin)
    return fmt::format(
        "{:.1f} s: about {:.0f} requests asked for, which arrive at random times; {} sent, {} answered\n",
        Seconds(run.sending), run.requests_asked, run.total.sent, run.total.answered);
  const auto sent = static_cast<double>(run.total.sent);
  return fmt::format("{:.1f} s: {} asked for, {} sent ({:.1f} %), {} answered\n", Seconds(run.sending),
                     RateText(run.requests_asked, run.sending), RateText(sent, run.sending),
                     Percent(sent, run.requests_asked), RateText(static_cast<double>(run.total.answered), run.sending));
}

std::string RequestsText(const RunResult& run) {
  std::string text = fmt::format("\nrequests  {} sent, {} answered, {} failed ({:.2f} %)", run.total.sent,
                                 run.total.answered, run.total.failed,
                                 Percent(static_cast<double>(run.total.failed), static_cast<double>(run.total.sent)));
  if (run.unanswered > 0) text += fmt::format(", {} without an answer", run.unanswered);
  if (run.total.retried > 0) text += fmt::format(", {} retries", run.total.retried);
  if (run.total.answered_twice > 0) text += fmt::format(", {} answered twice", run.total.answered_twice);
  if (run.total.version_disputed > 0)
    text += fmt::format(", {} whose header and body name different versions", run.total.version_disputed);
  return text + "\n";
}

// The histogram has a row for every `per_row` buckets, so that it has at most kRowsMax rows.
struct Rows {
  size_t per_row = 1;
  size_t first = 0;  // The first row that is not empty.
  std::vector<int64_t> counts;
};

Rows RowsOf(const LatencyCounts& latency) {
  const auto& buckets = latency.buckets();
  size_t first = 0, last = buckets.size() - 1;
  while (buckets[first] == 0) ++first;
  while (buckets[last] == 0) --last;
  Rows rows;
  while (last / rows.per_row - first / rows.per_row + 1 > kRowsMax) rows.per_row *= 2;
  rows.first = first / rows.per_row;
  rows.counts.resize(last / rows.per_row - rows.first + 1);
  for (size_t i = first; i <= last; ++i) rows.counts[i / rows.per_row - rows.first] += buckets[i];
  return rows;
}

// Every row that is not empty has a bar of at least one character.
std::string HistogramText(const LatencyCounts& latency) {
  const Rows rows = RowsOf(latency);
  const auto longest = static_cast<double>(std::ranges::max(rows.counts));
  std::string text;
  for (size_t i = 0; i < rows.counts.size(); ++i) {
    const auto count = static_cast<double>(rows.counts[i]);
    const size_t last_bucket = (rows.first + i + 1) * rows.per_row - 1;
    const double upper_ms = TimeBucketUpperMicroseconds(static_cast<int>(last_bucket)) / 1000;
    const std::string line = fmt::format("  up to {:>8}  {:>9}  {:>5.1f} %  {}", LatencyText(upper_ms), rows.counts[i],
                                         Percent(count, static_cast<double>(latency.count())),
                                         std::string(static_cast<size_t>(std::ceil(count / longest * kBarMax)), '#'));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string LatenciesText(const LatencyCounts& latency) {
  if (latency.count() == 0) return "";
  std::string text = "latency  ";
  for (const auto& [name, quantile] :
       {std::pair("p50", 0.5), std::pair("p90", 0.9), std::pair("p99", 0.99), std::pair("p99.9", 0.999)}) {
    const bool is_known = quantile == 0.5 || static_cast<double>(latency.count()) * (1 - quantile) >= kTailMin - 1e-6;
    if (is_known) text += fmt::format(" {} {},", name, LatencyText(latency.QuantileMs(quantile)));
  }
  return text + fmt::format(" longest {}\n\n{}", LatencyText(latency.MaxMs()), HistogramText(latency));
}

// The most frequent code first.
std::string ErrorsText(const std::map<std::string, ErrorCounts>& errors) {
  if (errors.empty()) return "";
  std::vector<std::pair<std::string, ErrorCounts>> sorted(errors.begin(), errors.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  std::string text = "\nerrors, each with its first message\n";
  for (const auto& [code, its] : sorted)
    text += fmt::format("  {:>9}  {}: {}\n", its.count, code, ValidUtf8(its.first_message));
  return text;
}

std::string AnswersText(const char* of, const std::vector<std::pair<std::string, int64_t>>& counts, int64_t all) {
  if (counts.empty()) return "";
  std::string text = fmt::format("\nanswers by {}\n", of);
  for (size_t i = 0; i < std::min(counts.size(), kNamesShown); ++i) {
    text += fmt::format("  {:>9}  {:>5.1f} %  {}\n", counts[i].second,
                        Percent(static_cast<double>(counts[i].second), static_cast<double>(all)), counts[i].first);
  }
  if (counts.size() > kNamesShown) text += fmt::format("  and {} more\n", counts.size() - kNamesShown);
  return text;
}

std::string VersionsText(const Counts& total) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const auto& [version, its] : total.versions) {
    const std::string name = version == 0 ? "(not named in the answer)" : std::to_string(version);
    const std::string note = its.non_finite == 0 ? "" : fmt::format("  {} with NaN or Inf", its.non_finite);
    counts.emplace_back(name + note, its.keyed + its.unkeyed);
  }
  return AnswersText("version", counts, total.answered);
}

}  // namespace

Json ToJson(const Progress& progress) {
  Json json = ToJson(progress.recent);
  json["seconds"] = Seconds(progress.interval);
  json["rate"] = progress.rate_per_second;
  json["in_flight"] = progress.in_flight;
  json["distinct_keys"] = progress.distinct_keys;
  json["total"] = {{"sent", progress.total.sent},
                   {"answered", progress.total.answered},
                   {"failed", progress.total.failed},
                   {"retried", progress.total.retried}};
  return json;
}

std::string LiveLine(const Progress& progress) {
  const LatencyCounts& latency = progress.recent.latency;
  return fmt::format("{:.0f} s  {}  {} errors  p50 {}  p99 {}  {} in flight", Seconds(progress.elapsed),
                     RateText(static_cast<double>(progress.recent.answered), progress.interval), progress.total.failed,
                     QuantileText(latency, 0.5), QuantileText(latency, 0.99), progress.in_flight);
}

std::string SegmentLine(const SegmentReport& report) {
  const Duration took = report.ended_at ? *report.ended_at - report.began_at : Duration(0);
  return fmt::format("  {}: {:.1f} s, {} sent, {} answered, {} failed, p50 {}, p99 {}\n", report.name, Seconds(took),
                     report.counts.sent, report.counts.answered, report.counts.failed,
                     QuantileText(report.counts.latency, 0.5), QuantileText(report.counts.latency, 0.99));
}

Json ToJson(const RunResult& run) {
  Json json = ToJson(run.total);
  json["seconds"] = Seconds(run.sending);
  json["requests_asked"] = run.requests_asked;
  json["unanswered"] = run.unanswered;
  json["distinct_keys"] = run.distinct_keys;
  return json;
}

std::string SummaryText(const RunResult& run) {
  const std::vector<std::pair<std::string, int64_t>> nodes(run.total.nodes.begin(), run.total.nodes.end());
  return RatesText(run) + SlownessText(run) + RequestsText(run) + LatenciesText(run.total.latency) +
         ErrorsText(run.total.errors) + VersionsText(run.total) + AnswersText("node", nodes, run.total.answered);
}

}  // namespace longshore::load

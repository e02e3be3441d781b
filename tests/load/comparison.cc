#include "tests/load/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>

namespace longshore::load {
namespace {

constexpr int kDraws = 1000;
constexpr uint64_t kSeed = 1;

// One row of the table: a measure of a run, or of the seconds drawn from it.
struct Measure {
  const char* name;
  std::function<double(const SavedSecond&)> of;
  const char* format;          // Of the values of both runs.
  bool is_difference = false;  // Compared by B - A, because A may be 0; otherwise by B / A.
};

double Share(double part, double whole) { return whole == 0 ? 0 : part / whole; }

const std::vector<Measure>& Measures() {
  static const auto quantile = [](double q) {
    return [q](const SavedSecond& run) { return run.latency.InterpolatedMs(q); };
  };
  static const std::vector<Measure> all = {
      {"sent", [](const SavedSecond& run) { return Share(static_cast<double>(run.sent), run.seconds); }, "{:.1f}/s"},
      {"answered", [](const SavedSecond& run) { return Share(static_cast<double>(run.answered), run.seconds); },
       "{:.1f}/s"},
      {"failed",
       [](const SavedSecond& run) {
         return 100 * Share(static_cast<double>(run.failed), static_cast<double>(run.failed + run.answered));
       },
       "{:.2f} %", true},
      {"p50", quantile(0.5), "{:.2f} ms"},
      {"p90", quantile(0.9), "{:.2f} ms"},
      {"p99", quantile(0.99), "{:.2f} ms"},
      {"p99.9", quantile(0.999), "{:.2f} ms"}};
  return all;
}

void Add(const SavedSecond& one, SavedSecond* sum) {
  sum->seconds += one.seconds;
  sum->sent += one.sent;
  sum->answered += one.answered;
  sum->failed += one.failed;
  sum->latency.Merge(one.latency);
}

SavedSecond Draw(const std::vector<SavedSecond>& seconds, std::mt19937_64& random) {
  SavedSecond sum;
  // Not std::uniform_int_distribution, whose numbers differ between standard libraries.
  for (size_t i = 0; i < seconds.size(); ++i) Add(seconds[random() % seconds.size()], &sum);
  return sum;
}

std::optional<double> Compare(const Measure& measure, const SavedSecond& a, const SavedSecond& b) {
  const double of_a = measure.of(a), of_b = measure.of(b);
  if (measure.is_difference) return of_b - of_a;
  if (of_a == 0) return std::nullopt;
  return of_b / of_a;
}

struct Interval {
  double low;
  double high;
};

// The intervals of all measures, in their order; nullopt where too little was drawn to compare.
std::vector<std::optional<Interval>> Intervals(const SavedRun& a, const SavedRun& b) {
  std::mt19937_64 random(kSeed);
  std::vector<std::vector<double>> drawn(Measures().size());
  for (int i = 0; i < kDraws; ++i) {
    const SavedSecond of_a = Draw(a.seconds, random), of_b = Draw(b.seconds, random);
    for (size_t m = 0; m < Measures().size(); ++m) {
      if (const auto compared = Compare(Measures()[m], of_a, of_b)) drawn[m].push_back(*compared);
    }
  }
  std::vector<std::optional<Interval>> intervals;
  for (auto& values : drawn) {
    std::ranges::sort(values);
    intervals.emplace_back();
    if (values.size() == kDraws) intervals.back() = Interval{values[kDraws / 40], values[kDraws - kDraws / 40 - 1]};
  }
  return intervals;
}

std::string ComparedText(const Measure& measure, double value) {
  return measure.is_difference ? fmt::format("{:+.2f} points", value) : fmt::format("{:.2f}", value);
}

std::string IntervalText(const Measure& measure, const Interval& interval) {
  return measure.is_difference ? fmt::format("{:+.2f} to {:+.2f}", interval.low, interval.high)
                               : fmt::format("{:.2f} to {:.2f}", interval.low, interval.high);
}

const char* VerdictText(const Measure& measure, const Interval& interval) {
  const double equal = measure.is_difference ? 0 : 1;
  if (interval.low > equal) return "B is higher";
  if (interval.high < equal) return "B is lower";
  return "no difference beyond its uncertainty";
}

std::string Line(std::string_view name, std::string_view a, std::string_view b, std::string_view compared,
                 std::string_view interval, std::string_view verdict) {
  const std::string line = fmt::format("{:<10}{:>12}{:>12}{:>15}  {:<16}  {}", name, a, b, compared, interval, verdict);
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string RowText(const Measure& measure, const SavedRun& a, const SavedRun& b,
                    const std::optional<Interval>& interval) {
  const auto compared = Compare(measure, a.whole, b.whole);
  return Line(measure.name, fmt::format(fmt::runtime(measure.format), measure.of(a.whole)),
              fmt::format(fmt::runtime(measure.format), measure.of(b.whole)),
              compared ? ComparedText(measure, *compared) : "-", interval ? IntervalText(measure, *interval) : "",
              interval ? VerdictText(measure, *interval) : "too little to judge");
}

bool IsCount(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number();
}

Result<SavedSecond> ParseCounts(const Json& line) {
  for (const char* name : {"seconds", "sent", "answered", "failed"}) {
    if (!IsCount(line, name)) return InvalidArgument("a line has no number \"{}\"", name);
  }
  if (!line.contains("latency_us")) return InvalidArgument("a line has no \"latency_us\"");
  SavedSecond counts{.seconds = line["seconds"],
                     .sent = line["sent"],
                     .answered = line["answered"],
                     .failed = line["failed"],
                     .latency = {}};
  ASSIGN_OR_RETURN(counts.latency, LatencyCounts::FromJson(line["latency_us"]));
  return counts;
}

std::string TypeOf(const Json& line) {
  const auto found = line.find("type");
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns whether this was the final line.
Result<bool> TakeLine(const Json& line, SavedRun* run) {
  const std::string type = TypeOf(line);
  if (type != "progress" && type != "final") return false;
  ASSIGN_OR_RETURN(const SavedSecond counts, ParseCounts(line));
  if (type == "progress") run->seconds.push_back(counts);
  if (type == "progress") return false;
  if (!IsCount(line, "requests_asked")) return InvalidArgument("the final line has no number \"requests_asked\"");
  run->whole = counts;
  run->requests_asked = line["requests_asked"];
  return true;
}

}  // namespace

Result<SavedRun> ParseRun(std::string name, std::string_view lines) {
  SavedRun run{.name = std::move(name), .requests_asked = 0, .whole = {}, .seconds = {}};
  bool ended = false;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view text = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (text.empty()) continue;
    const auto line = ParseJson(text);
    if (!line)
      return InvalidArgument("{}: not the output of longshore-load --json: {}", run.name, line.error().message);
    const auto taken = TakeLine(*line, &run);
    if (!taken) return Prefixed(taken.error(), run.name);
    ended = ended || *taken;
  }
  if (!ended) return InvalidArgument("{}: has no line of type \"final\", so the run has not ended", run.name);
  return run;
}

std::string ComparisonText(const SavedRun& a, const SavedRun& b) {
  const bool is_enough = std::min(a.seconds.size(), b.seconds.size()) >= kSecondsMin;
  const auto intervals = is_enough ? Intervals(a, b) : std::vector<std::optional<Interval>>(Measures().size());
  std::string text;
  for (const auto& [letter, run] : {std::pair('A', &a), std::pair('B', &b)}) {
    text += fmt::format("{}: {}, {:.1f} s, {:.1f} requests/s asked for\n", letter, run->name, run->whole.seconds,
                        Share(run->requests_asked, run->whole.seconds));
  }
  text += "\n" + Line("", "A", "B", "B / A", "95 % interval", "");
  for (size_t m = 0; m < Measures().size(); ++m) text += RowText(Measures()[m], a, b, intervals[m]);
  if (!is_enough) text += fmt::format("\nBoth runs need at least {} seconds for a judgement.\n", kSecondsMin);
  return text;
}

}  // namespace longshore::load

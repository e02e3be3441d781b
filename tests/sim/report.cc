#include <algorithm>
#include <cmath>

#include "tests/sim/trials.h"

namespace longshore::sim {
namespace {

constexpr double kFalseShareMax = 0.01;
constexpr double kRatioMax = 1.2;

std::string Shown(const Delay& delay, double requests) {
  if (requests > 0) return fmt::format("{:.0f}", requests);
  return fmt::format("not found ({} of {} trials found it)", delay.found.count, delay.found.trials);
}

std::string Shown(const Share& share) {
  return fmt::format("{} of {}, <= {:.1f}%", share.count, share.trials, 100 * share.UpperBound());
}

std::string Verdict(const Row& row) {
  if (row.is_example) return "example";
  if (!row.IsCompared()) return "not compared";
  return fmt::format("{:.2f}, {}", row.Ratio(), row.Meets() ? "met" : "**missed**");
}

Json OrNull(double number) { return number == 0 ? Json(nullptr) : Json(number); }

Json RowToJson(const Row& row) {
  return {{"what", row.what},
          {"requests_per_second", row.requests_per_second},
          {"peer", row.peer},
          {"example", row.is_example},
          {"ours", OrNull(row.ours.delay.median)},
          {"theirs", OrNull(row.theirs.delay.median)},
          {"ratio", OrNull(row.Ratio())},
          {"goal", row.is_example ? Json(nullptr) : Json(kRatioMax)},
          {"compared", row.IsCompared()},
          {"met", row.IsCompared() ? Json(row.Meets()) : Json(nullptr)},
          {"ours_p90", OrNull(row.ours.delay.p90)},
          {"theirs_p90", OrNull(row.theirs.delay.p90)},
          {"ours_false_share", row.ours.equal_rolled_back.value()},
          {"ours_false_share_bound", row.ours.equal_rolled_back.UpperBound()},
          {"theirs_false_share", row.theirs.equal_rolled_back.value()},
          {"theirs_false_share_bound", row.theirs.equal_rolled_back.UpperBound()}};
}

Json EqualToJson(const Falses& equal) {
  const double share = equal.rolled_back.value();
  return {{"what", fmt::format("rolled back of {} equal versions, {} requests", equal.rolled_back.trials, equal.world)},
          {"peer", "limit"},
          {"ours", share},
          {"ours_bound", equal.rolled_back.UpperBound()},
          {"theirs", kFalseShareMax},
          {"ratio", share / kFalseShareMax},
          {"goal", 1},
          {"compared", true},
          {"met", share <= kFalseShareMax}};
}

// Returns the probability of at most `count` successes in `trials` trials if each succeeds with the probability
// `share`.
double AtMost(int count, int trials, double share) {
  double sum = 0;
  for (int i = 0; i <= count; ++i) {
    const double ways = std::lgamma(trials + 1) - std::lgamma(i + 1) - std::lgamma(trials - i + 1);
    sum += std::exp(ways + i * std::log(share) + (trials - i) * std::log1p(-share));
  }
  return sum;
}

}  // namespace

double Share::UpperBound() const {
  if (count == trials) return 1;
  double low = value();
  double high = 1;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (AtMost(count, trials, middle) > 0.05 ? low : high) = middle;
  }
  return high;
}

bool Row::IsCompared() const {
  return !is_example && theirs.delay.median > 0 && theirs.equal_rolled_back.value() <= kPeerFalseShareMax;
}

double Row::Ratio() const {
  const bool both = ours.delay.median > 0 && theirs.delay.median > 0;
  return both ? ours.delay.median / theirs.delay.median : 0;
}

bool Row::Meets() const { return IsCompared() && ours.delay.median > 0 && Ratio() <= kRatioMax; }

std::string ToText(const Report& report) {
  std::string text;
  for (const Falses& equal : report.equal) {
    text += fmt::format(
        "{} of {} rollouts of a version against itself were rolled back ({:.2f}%, with 95% certainty at most {:.2f}%; "
        "{:.0f}% allowed); {} {} requests, analysed after every one",
        equal.rolled_back.count, equal.rolled_back.trials, 100 * equal.rolled_back.value(),
        100 * equal.rolled_back.UpperBound(), 100 * kFalseShareMax, equal.requests, equal.world);
    for (const auto& [reason, times] : equal.reasons) text += fmt::format("; {}: {}", reason, times);
    text += "\n\n";
  }
  text += fmt::format(
      "Requests of the candidate, 25% of all, until it was rolled back; ratio ours / theirs, goal <= {}\n\n",
      kRatioMax);
  text += "| fault | requests/s | ours, median | p90 | false | rule | theirs, median | p90 | false | ratio |\n";
  text += "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Row& row : report.rows) {
    const Delay& ours = row.ours.delay;
    const Delay& theirs = row.theirs.delay;
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", row.what, row.requests_per_second,
                        Shown(ours, ours.median), Shown(ours, ours.p90), Shown(row.ours.equal_rolled_back), row.peer,
                        Shown(theirs, theirs.median), Shown(theirs, theirs.p90), Shown(row.theirs.equal_rolled_back),
                        Verdict(row));
  }
  return text;
}

Json ToJson(const Report& report) {
  Json rows = Json::array();
  for (const Falses& equal : report.equal) rows.push_back(EqualToJson(equal));
  for (const Row& row : report.rows) rows.push_back(RowToJson(row));
  return {{"rows", std::move(rows)}};
}

bool MeetsGoals(const Json& report) {
  return std::ranges::all_of(report["rows"],
                             [](const Json& row) { return row["goal"].is_null() || row["met"] == true; });
}

}  // namespace longshore::sim

#include <cmath>

#include "tests/sim/trials.h"

namespace longshore::sim {
namespace {

constexpr double kFalseShareMax = 0.01;
constexpr double kRatioGoal = 5;

std::string Shown(const Delay& delay, double requests) {
  if (requests > 0) return fmt::format("{:.0f}", requests);
  return fmt::format("not found ({} of {} trials found it)", delay.found, delay.trials);
}

Json OrNull(double requests) { return requests == 0 ? Json(nullptr) : Json(requests); }

// A rule that rolls back equal versions as often as worse ones does not detect anything, even if it is fast.
bool Discriminates(const Row& row) { return row.theirs_false <= 0.5; }

Json RowToJson(const Row& row) {
  const bool both = row.ours.median > 0 && row.theirs.median > 0;
  const double ratio = both ? row.theirs.median / row.ours.median : 0;
  const bool met = row.ours.median > 0 && (!both || !Discriminates(row) || ratio >= kRatioGoal);
  return {{"what", row.what},
          {"peer", row.peer},
          {"ours", OrNull(row.ours.median)},
          {"theirs", OrNull(row.theirs.median)},
          {"ratio", both ? Json(ratio) : Json(nullptr)},
          {"goal", kRatioGoal},
          {"met", met},
          {"ours_p90", OrNull(row.ours.p90)},
          {"theirs_p90", OrNull(row.theirs.p90)},
          {"ours_false_share", row.ours_false},
          {"theirs_false_share", row.theirs_false}};
}

}  // namespace

std::string ToText(const Report& report) {
  std::string text;
  for (const Falses& equal : report.equal) {
    text += fmt::format(
        "{} of {} rollouts of a version against itself were rolled back ({:.2f}%, at most {:.0f}% allowed); "
        "{} {} requests, analysed after every one",
        equal.rolled_back, equal.rollouts, 100 * equal.Share(), 100 * kFalseShareMax, equal.requests, equal.world);
    for (const auto& [reason, times] : equal.reasons) text += fmt::format("; {}: {}", reason, times);
    text += "\n\n";
  }
  text += "Requests of the candidate until it was rolled back (40 min, 100 requests/s, 25% to the candidate)\n\n";
  text += "| fault | ours, median | ours, p90 | ours, false | rule | theirs, median | theirs, p90 | theirs, false |\n";
  text += "|---|---|---|---|---|---|---|---|\n";
  for (const Row& row : report.rows) {
    text +=
        fmt::format("| {} | {} | {} | {:.0f}% | {} | {} | {} | {:.0f}% |\n", row.what, Shown(row.ours, row.ours.median),
                    Shown(row.ours, row.ours.p90), 100 * row.ours_false, row.peer, Shown(row.theirs, row.theirs.median),
                    Shown(row.theirs, row.theirs.p90), 100 * row.theirs_false);
  }
  return text;
}

Json ToJson(const Report& report) {
  Json rows = Json::array();
  for (const Falses& equal : report.equal) {
    rows.push_back({{"what", fmt::format("rolled back of {} equal versions, {} requests", equal.rollouts, equal.world)},
                    {"peer", "limit"},
                    {"ours", equal.Share()},
                    {"theirs", kFalseShareMax},
                    {"ratio", equal.Share() / kFalseShareMax},
                    {"goal", 1},
                    {"met", equal.Share() <= kFalseShareMax}});
  }
  for (const Row& row : report.rows) rows.push_back(RowToJson(row));
  return {{"rows", std::move(rows)}};
}

}  // namespace longshore::sim

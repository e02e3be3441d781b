#include "tests/sim/report.h"

#include <algorithm>
#include <cstdio>

#include "controller/decide/analysis/analysis.h"
#include "tests/sim/autoscale_step.h"

namespace longshore::sim {
namespace {

// The share of equal versions that should pass within the time of TimeToPass.
double PassGoal(double requests_per_second) {
  if (requests_per_second >= 100) return 0.95;
  return requests_per_second >= 10 ? 0.9 : 0.8;
}

std::string ReasonsOf(const Ends& ends) {
  std::string text;
  for (const auto& [reason, times] : ends.reasons) {
    text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", times, reason);
  }
  return text;
}

std::string AtRate(double requests_per_second) { return fmt::format("{:g} requests/s", requests_per_second); }

std::string OrNone(const std::optional<double>& number) { return number ? fmt::format("{:.4g}", *number) : "none"; }

Json OrNull(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

}  // namespace

std::optional<double> Row::Ratio() const {
  return ours && theirs && *theirs != 0 ? std::optional(*ours / *theirs) : std::nullopt;
}

bool Row::Meets() const {
  if (!theirs) return true;
  if (!ours) return false;
  return better == Better::kLower ? *ours <= goal * *theirs : *ours >= goal * *theirs;
}

std::vector<Row> EqualRows(const Options& options) {
  std::vector<Row> rows;
  for (const double rate : options.requests_per_second) {
    for (const Kind kind : AllKinds()) {
      const std::string where = fmt::format("{}, {}", NameOf(kind), AtRate(rate));
      const Ends ends = RunEqual(kind, rate, options.rollouts);
      rows.push_back(
          {"equal versions rolled back: " + where, "limit", ends.rolled_back.value(), analysis::kAlphaTotal, 1,
           Better::kLower,
           fmt::format("{} of {} (at most {:.2f} % with 95 % confidence); {}; {} requests", ends.rolled_back.count,
                       ends.rolled_back.trials, 100 * ends.rolled_back.UpperBound(), ReasonsOf(ends), ends.requests)});
      rows.push_back({fmt::format("equal versions promoted within {:.0f} min: {}", TimeToPass(rate) / 60, where),
                      "goal", ends.promoted_in_time.value(), PassGoal(rate), 1, Better::kHigher,
                      fmt::format("{} of {}; {} at all", ends.promoted_in_time.count, ends.promoted_in_time.trials,
                                  ends.promoted.count)});
    }
  }
  return rows;
}

std::vector<Row> FaultRows(const Options& options) {
  std::vector<Row> rows;
  for (const double rate : options.requests_per_second) {
    const Ends ends = RunDoubledErrors(rate, options.rollouts);
    rows.push_back(
        {"doubled errors (1 % -> 2 %) promoted: " + AtRate(rate), "limit", ends.promoted.value(), analysis::kAlphaProof,
         1, Better::kLower,
         fmt::format("{} of {}; {} rolled back", ends.promoted.count, ends.promoted.trials, ends.rolled_back.count)});
  }
  World doubled;
  doubled.candidate_errors = 2 * doubled.stable_errors;
  World slower;
  slower.slowdown = 1.2;
  slower.keyed = true;
  const Delay errors = RunFault(doubled, options.rollouts);
  const Delay pairs = RunFault(slower, options.rollouts);
  const auto found = [](const Delay& delay) {
    return fmt::format("found in {} of {}", delay.found.count, delay.found.trials);
  };
  const auto or_none = [](double median) { return median > 0 ? std::optional(median) : std::nullopt; };
  rows.push_back({"requests of the candidate until doubled errors (1 % -> 2 %) are found, median", "before",
                  or_none(errors.median), 2903, 1, Better::kLower, found(errors)});
  rows.push_back({"pairs until +20 % run time is found, users assigned, median", "limit", or_none(pairs.median_pairs),
                  400, 1, Better::kLower, found(pairs)});
  return rows;
}

std::vector<Row> AutoscaleRows(uint64_t seed) {
  constexpr double kGoal = 1.3;
  StepOptions options;
  options.seed = seed;
  std::vector<Row> rows;
  for (const StepRow& step : RunAutoscaleSteps(options)) {
    rows.push_back(
        {fmt::format("nodes that autoscaling asks for after a step from {:g} to {:g} requests/s, nodes start "
                     "in {:g} s",
                     options.from_per_second, options.to_per_second, step.start_seconds),
         "need", static_cast<double>(step.asked_max), static_cast<double>(step.need), kGoal, Better::kLower,
         fmt::format("the most of {} trials; requests wait no longer than the target after {:.0f} s", options.trials,
                     step.drained_after_seconds)});
  }
  return rows;
}

std::string IntervalTable(uint64_t seed) {
  const World world;
  const Ladder ladder = LadderFor(world);
  const double allowed = analysis::ToleranceOf(ladder.spec.rollout.error_rate).LimitFor(world.stable_errors);
  std::string table = "seconds,low,high,allowed,weight\n";
  RunLadder(world, ladder, seed, [&](const Look& look) {
    const auto& numbers = look.verdict.numbers;
    table += fmt::format("{},{},{},{},{}\n", look.seconds, numbers.at("errorDifferenceLow"),
                         numbers.at("errorDifferenceHigh"), allowed - world.stable_errors, look.weight_percent);
  });
  return table;
}

std::string ToText(const std::vector<Row>& rows) {
  std::string text =
      "| what | ours | compared with | theirs | ratio | goal | details |\n|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} {:g}, {} | {} |\n", row.what, OrNone(row.ours), row.peer,
                        OrNone(row.theirs), OrNone(row.Ratio()), row.better == Better::kLower ? "<=" : ">=", row.goal,
                        row.Meets() ? "met" : "**missed**", row.details);
  }
  return text;
}

Json ToJson(const std::vector<Row>& rows) {
  Json json = Json::array();
  for (const Row& row : rows) {
    json.push_back({{"what", row.what},
                    {"peer", row.peer},
                    {"ours", OrNull(row.ours)},
                    {"theirs", OrNull(row.theirs)},
                    {"ratio", OrNull(row.Ratio())},
                    {"goal", row.goal},
                    {"met", row.Meets()},
                    {"details", row.details}});
  }
  return {{"rows", std::move(json)}};
}

bool MeetsGoals(const std::vector<Row>& rows) { return std::ranges::all_of(rows, &Row::Meets); }

}  // namespace longshore::sim

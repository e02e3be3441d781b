// Measures the analysis of rollouts by simulation; see docs/analysis.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "tests/sim/trials.h"

int main(int argc, char** argv) {
  CLI::App app("longshore-sim: simulates how often an equal version is rolled back, and how soon a worse one");
  longshore::sim::Options options;
  bool json = false;
  bool gate = false;
  app.add_option("--rollouts", options.equal_rollouts, "Number of rollouts of a version against itself")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--requests_min", options.equal_requests_min,
                 "Candidate's requests per step in rollouts of a version against itself")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--trials", options.trials, "Trials per fault, rate and rule")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--seed", options.seed, "Seed of the random numbers; the same seed gives the same table")
      ->capture_default_str();
  app.add_flag("--json", json, "Print one JSON object instead of the table");
  app.add_flag("--gate", gate,
               "Exit with 1 if a row misses its goal or cannot be compared, not only if too many equal versions are "
               "rolled back");
  CLI11_PARSE(app, argc, argv);

  const longshore::sim::Report report = longshore::sim::Simulate(options);
  const longshore::Json rows = ToJson(report);
  std::puts(json ? rows.dump(2).c_str() : ToText(report).c_str());
  if (gate) return longshore::sim::MeetsGoals(rows) ? 0 : 1;
  const auto holds = [](const longshore::sim::Falses& equal) { return equal.rolled_back.value() <= 0.01; };
  return std::ranges::all_of(report.equal, holds) ? 0 : 1;
}

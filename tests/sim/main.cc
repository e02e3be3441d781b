// Measures the analysis of rollouts by simulation; see docs/analysis.md.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

#include "tests/sim/report.h"

int main(int argc, char** argv) {
  CLI::App app(
      "longshore-sim: simulates how often an equal version is rolled back or promoted, and what happens to a worse "
      "one. "
      "The whole table takes about an hour on two processors; progress is printed to the standard error output.");
  longshore::sim::Options options;
  options.equal.threads = options.faulty.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  options.faulty.count = 1000;
  bool json = false;
  bool gate = false;
  app.add_option("--rollouts", options.equal.count, "Rollouts of a version against itself, of each kind and rate")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--trials", options.faulty.count, "Rollouts of each fault")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--rates", options.requests_per_second, "Requests per second")->capture_default_str();
  app.add_option("--seed", options.equal.seed, "Seed of the random numbers; the same seed gives the same table")
      ->capture_default_str();
  app.add_flag("--json", json, "Print one JSON object instead of the table");
  app.add_flag("--gate", gate, "Exit with 1 if a row misses its goal");
  bool interval = false;
  app.add_flag("--interval", interval, "Print the interval of the error rates during one rollout instead of the table");
  CLI11_PARSE(app, argc, argv);
  if (interval) {
    std::fputs(longshore::sim::IntervalTable(options.equal.seed).c_str(), stdout);
    return 0;
  }

  options.faulty.seed = options.equal.seed;
  std::vector<longshore::sim::Row> rows = longshore::sim::EqualRows(options);
  for (longshore::sim::Row& row : longshore::sim::FaultRows(options)) rows.push_back(std::move(row));
  std::puts(json ? ToJson(rows).dump(2).c_str() : ToText(rows).c_str());
  return gate && !MeetsGoals(rows) ? 1 : 0;
}

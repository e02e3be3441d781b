// Measures the analysis of rollouts and autoscaling by simulation; see docs/analysis.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <thread>

#include "tests/sim/peer_rows.h"
#include "tests/sim/report.h"

namespace {

using longshore::Result;
using longshore::sim::Row;

// A sweep judges each rollout by thousands of settings.
constexpr int kPeerTrialsMax = 1000;

struct Arguments {
  longshore::sim::Options options;
  std::string peer_rules;
  std::vector<std::string> parts = {"equal", "faults", "peers", "autoscaling"};
  bool json = false;
  bool gate = false;
  bool interval = false;

  bool Has(const std::string& part) const { return std::ranges::find(parts, part) != parts.end(); }
};

Result<std::vector<Row>> Table(const Arguments& arguments) {
  std::vector<Row> rows;
  const auto add = [&](std::vector<Row> more) { std::ranges::move(more, std::back_inserter(rows)); };
  const longshore::sim::Rollouts& rollouts = arguments.options.rollouts;
  if (arguments.Has("equal")) add(EqualRows(arguments.options));
  if (arguments.Has("faults")) add(FaultRows(arguments.options));
  if (arguments.Has("peers") && arguments.peer_rules.empty()) {
    std::fputs(
        "the rules of other operators are not compared: neither --peer_rules nor LONGSHORE_PEER_RULES names "
        "longshore-peer-rules\n",
        stderr);
  } else if (arguments.Has("peers")) {
    longshore::sim::PeerOptions options{arguments.peer_rules, rollouts};
    options.rollouts.count = std::min(rollouts.count, kPeerTrialsMax);
    ASSIGN_OR_RETURN(std::vector<Row> compared, PeerRows(options));
    add(std::move(compared));
  }
  if (arguments.Has("autoscaling")) add(longshore::sim::AutoscaleRows(rollouts.seed));
  return rows;
}

void AddOptions(CLI::App& app, Arguments& arguments) {
  longshore::sim::Rollouts& rollouts = arguments.options.rollouts;
  app.add_option("--trials", rollouts.count,
                 "Rollouts of each kind of world, rate and fault, of each fault at most 1000 for the comparison with "
                 "other operators")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_option("--rates", arguments.options.requests_per_second, "Requests per second")->capture_default_str();
  app.add_option("--parts", arguments.parts, "Parts of the table: equal, faults, peers, autoscaling")
      ->capture_default_str()
      ->check(CLI::IsMember({"equal", "faults", "peers", "autoscaling"}));
  app.add_option("--peer_rules", arguments.peer_rules,
                 "Path of longshore-peer-rules, which decides by the rules of other operators")
      ->envname("LONGSHORE_PEER_RULES");
  app.add_option("--seed", rollouts.seed, "Seed of the random numbers; the same seed gives the same table")
      ->capture_default_str();
  app.add_option("--threads", rollouts.threads, "Threads")->capture_default_str()->check(CLI::Range(1, 1024));
  app.add_flag("--json", arguments.json, "Print one JSON object instead of the table");
  app.add_flag("--gate", arguments.gate, "Exit with 1 if a row misses its goal");
  app.add_flag("--interval", arguments.interval,
               "Print the interval of the error rates during one rollout instead of the table");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "longshore-sim: simulates how often an equal version is rolled back or promoted, how soon a worse one is found, "
      "by our rules and by those of other operators, and how many nodes autoscaling asks for. Progress is printed to "
      "the standard error output.");
  Arguments arguments;
  arguments.options.rollouts.count = 100;
  arguments.options.rollouts.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  AddOptions(app, arguments);
  CLI11_PARSE(app, argc, argv);
  if (arguments.interval) {
    std::fputs(longshore::sim::IntervalTable(arguments.options.rollouts.seed).c_str(), stdout);
    return 0;
  }

  const Result<std::vector<Row>> rows = Table(arguments);
  if (!rows) {
    fmt::print(stderr, "longshore-sim: {}\n", rows.error().message);
    return 2;
  }
  std::puts(arguments.json ? ToJson(*rows).dump(2).c_str() : ToText(*rows).c_str());
  return arguments.gate && !MeetsGoals(*rows) ? 1 : 0;
}

// Simulates a service second by second: requests to a stable version and a candidate, and pairs. Reproducible by the
// seed.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "controller/decide/analysis/analysis.h"
#include "tests/sim/world.h"

namespace longshore::sim {

// What happened in one or more seconds.
struct Period {
  analysis::Windows windows;
  // The run times of each version in microseconds, for rules that measure quantiles.
  std::vector<double> candidate_run_times_us;
  std::vector<double> stable_run_times_us;
};

// The salt of the bins that Service counts if users are assigned.
inline constexpr const char* kSalt = "uid/2/1";

class Service {
 public:
  // How the evidence of pairs is collected.
  struct Pairs {
    double share = 0.25;
    double per_second_max = 20;  // On one node; the rest is dropped.
  };

  // What is needed. Without the rest, a simulation takes half of the time, but other random numbers.
  enum class Only { kEverything, kErrors, kRunTimes };

  Service(const World& world, const Pairs& pairs, uint64_t seed, Only only = Only::kEverything);

  // Adds the next second to `period`. `keep_run_times`: whether the vectors of run times are needed.
  void AddSecond(double candidate_share, bool keep_run_times, Period& period);

  // What share of all requests a version answers, and fails.
  struct Flow {
    double requests = 0;
    double errors = 0;
  };
  // The flows of stable and of an equal candidate, outside bursts and during one.
  using Flows = std::array<std::array<Flow, 2>, 2>;  // [candidate][burst]
  Flows EqualFlows(double candidate_share) const;
  // As AddSecond for equal versions, but adds only the numbers of requests and errors, which takes a fraction of the
  // time. Arrivals are a Poisson process, so these numbers are independent and have Poisson distributions.
  void AddCounts(const Flows& flows, Period& period);
  // The share of stable's requests that fail in the long run.
  double StableErrors() const;

 private:
  struct Node {
    double log_speed = 0;
    double log_drift = 0;
    double burst_ends_at = -1;
    double burst_begins_at = 0;
    uint64_t requests = 0;  // For the exact share of pairs.
    double paired = 0;      // In this second.
  };
  struct User {
    double log_run_time = 0;
    double assigned_at = 0;  // The user gets the candidate if its share is above this number.
    bool fails = false;
  };
  // What a request is, whichever version runs it.
  struct Input {
    double log_run_time = 0;
    double errors = 0;  // Probability of an error of the input's own user, on either version.
    bool of_class = false;
    bool of_first_user = false;
    bool fails_anywhere = false;
    double assigned_at = 0;
  };

  void Advance(Node& node);
  Input Draw(const Node& node);
  double ErrorsOf(const Input& input, bool candidate, bool first_node) const;
  bool Fails(const Input& input, bool candidate, bool first_node);
  void CountRequest(const Input& input, bool candidate, bool first_node, api::ArmEvidence& arm);
  // The binary logarithm of a run time in microseconds.
  double RunTime(const Input& input, bool candidate, int rows);
  int RowsOf(double requests_per_second);
  int64_t Arrivals(double mean);
  void RunBatches(const std::vector<Input>& inputs, bool candidate, size_t node, Period& period, bool keep);
  void CountRequests(std::span<const Input> inputs, bool candidate, size_t node, int rows,
                     analysis::WindowEvidence& window);
  void Pair(const Input& input, int rows, bool first_node, api::PairEvidence& pairs);
  double Exponential(double mean) { return -mean * std::log1p(-uniform_(random_)); }

  const World world_;
  const Pairs pairs_;
  const Only only_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
  std::vector<Node> nodes_;
  std::vector<User> users_;
  std::vector<double> activity_;  // Cumulative, to draw a user.
  double now_ = 0;                // The simulated time in seconds.
};

}  // namespace longshore::sim

// A simulated fleet that autoscaling decides for: requests arrive, wait, run and may be refused; nodes need time to
// start. Time is simulated; the same seed gives the same run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "controller/decide/autoscale/autoscale.h"
#include "controller/decide/autoscale/load_window.h"

namespace longshore::sim {

// Requests per second at a time in seconds since the beginning.
using RateAt = std::function<double(double)>;

// The requests for one Model. Every run of it takes as long as every other one.
struct SimulatedModel {
  std::string name = "digits";
  double share = 1;  // Of all requests.
  double run_seconds = 0.05;
  double objective_seconds = 0;  // For 99 % of the requests; 0: none.
};

enum class Arrivals { kEven, kPoisson };
// kTwoChoices: the less loaded of two nodes gets the request. kRandom: any node.
enum class Routing { kTwoChoices, kRandom };
// kReports: each second, as from the nodes' reports. kPrometheus: rates over 30 s from scrapes every 5 s.
enum class Metrics { kReports, kPrometheus };

struct WorldOptions {
  uint64_t seed = 1;
  int slots = 4;  // Of each node.
  std::vector<SimulatedModel> models = {{}};
  double run_spread = 0;  // A run takes 1 - run_spread to 1 + run_spread times as long.
  Arrivals arrivals = Arrivals::kPoisson;
  Routing routing = Routing::kTwoChoices;
  Metrics metrics = Metrics::kReports;
  size_t queue_max = 1000;       // Of each node.
  double patience_seconds = 60;  // A request that has waited for so long is refused.
  double start_seconds = 60;
  double start_spread = 0;  // As run_spread.
  int nodes = 1;            // At the beginning; all are ready.
  double noise = 0;         // Each signal is multiplied by 1 - noise to 1 + noise.
  // Each so many seconds the controller restarts (0: never): only the stored status remains, and all metrics are
  // unknown for some seconds.
  int restart_every_s = 0;
  int blind_after_restart_s = 3;
};

// What happened in one second.
struct Second {
  int at = 0;
  int wanted = 0;  // After the decision.
  int ready = 0;
  double arrived = 0;
  double refused = 0;
  double queued = 0;             // At the end.
  double mean_wait_seconds = 0;  // Of the requests that started.
  double utilization = 0;        // Of the ready nodes.
  api::AutoscaleStatus status;
};

class AutoscaleWorld {
 public:
  AutoscaleWorld(api::ServingFleetSpec spec, WorldOptions options);

  // Simulates one second with this rate of requests, and then decides.
  Second Next(double requests_per_second);

  // Makes the metrics of the next seconds unknown, until it is called with false.
  void HideMetrics(bool hide) { hidden_ = hide; }

  static constexpr TimePoint kBegin{std::chrono::seconds(1'800'000'000)};

 private:
  struct Request {
    double arrived = 0;
    size_t model = 0;
  };
  struct Node {
    double ready_at = 0;
    bool leaving = false;
    int running = 0;
    std::deque<Request> queue{};
  };
  struct Completion {
    double at = 0;
    size_t node = 0;
    Request request;
    bool operator>(const Completion& other) const { return at > other.at; }
  };
  double Uniform(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }
  double Spread(double mean, double spread) { return mean * Uniform(1 - spread, 1 + spread); }
  std::vector<double> ArrivalTimes(double requests_per_second);
  std::vector<size_t> ReadyNodes(double for_seconds = 0) const;
  double CountQueued() const;
  void Arrive(double at);
  void FinishUntil(double until);
  void StartQueued(size_t node, double at);
  void AddBusyUntil(double at);
  void RunOn(size_t node, const Request& request, double at);
  void BeginSecond();
  autoscale::FleetMetrics Measure();
  autoscale::FleetMetrics Scrape() const;
  void Restart();
  void AddNoise(autoscale::FleetMetrics& metrics);
  void Scale(int wanted);
  int Wanted() const;

  const api::ServingFleetSpec spec_;
  const WorldOptions options_;
  std::mt19937_64 random_;
  std::vector<Node> nodes_;  // Nodes that have left stay in the list, without requests.
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> running_;
  double now_ = 0;
  double busy_until_ = 0;
  autoscale::Tick tick_;  // The second in progress.
  double refused_ = 0;
  double queued_before_ = 0;
  std::deque<autoscale::Tick> history_;  // The last seconds, the newest last.
  std::vector<autoscale::LatencyObjective> objectives_;
  autoscale::LoadWindow window_;
  autoscale::FleetMetrics scraped_;
  api::AutoscaleStatus status_;
  int blind_until_ = 0;
  bool hidden_ = false;
};

}  // namespace longshore::sim

// Simulated requests to a stable version and a candidate, reproducible by the seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace longshore::sim {

// What is true in the simulation. The candidate equals stable while its error rate does and slowdown is 1.
struct World {
  double candidate_share = 0.25;  // Of the requests.
  double stable_errors = 0.01;    // Share of failing requests.
  double candidate_errors = 0.01;
  double run_time_median_us = 10000;  // Log-normal.
  double run_time_sigma = 0.25;       // Of the logarithm; 0.25 gives p99 / median = 1.8.
  double slowdown = 1;                // The candidate's run times, times stable's.
  double requests_per_second = 100;   // For rules that look once per interval.
};

struct Request {
  bool candidate = false;
  bool error = false;
  double run_time_us = 0;
};

class Stream {
 public:
  Stream(const World& world, uint64_t seed) : world_(world), random_(seed) {}

  Request Next() {
    Request request;
    request.candidate = uniform_(random_) < world_.candidate_share;
    request.error = uniform_(random_) < (request.candidate ? world_.candidate_errors : world_.stable_errors);
    const double scale = world_.run_time_median_us * (request.candidate ? world_.slowdown : 1);
    request.run_time_us = scale * std::exp(world_.run_time_sigma * normal_(random_));
    return request;
  }
  void SetCandidateShare(double share) { world_.candidate_share = share; }

 private:
  World world_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
};

}  // namespace longshore::sim

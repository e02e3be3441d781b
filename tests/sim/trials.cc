#include "tests/sim/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "tests/sim/peer_choice.h"
#include "tests/sim/progress.h"

namespace longshore::sim {
namespace {

std::vector<Course> Run(const Rollouts& rollouts, const std::string& what, const std::function<Course(uint64_t)>& run) {
  std::vector<Course> courses(static_cast<size_t>(rollouts.count));
  Progress progress(what, rollouts.count);
  ForEachRollout(rollouts, [&](size_t i, uint64_t seed) {
    courses[i] = run(seed);
    progress.Add();
  });
  return courses;
}

Ends EndsOf(const std::vector<Course>& courses, double time_to_pass) {
  const auto trials = static_cast<int>(courses.size());
  Ends ends{{0, trials}, {0, trials}, {0, trials}, 0, {}};
  for (const Course& course : courses) {
    ends.requests += course.requests;
    if (course.end == End::kRolledBack) {
      ++ends.rolled_back.count;
      ++ends.reasons[course.reason];
    }
    if (course.end == End::kPromoted) {
      ++ends.promoted.count;
      ends.promoted_in_time.count += course.seconds <= time_to_pass ? 1 : 0;
    }
  }
  return ends;
}

// The element at a quantile; 0 if it is infinite.
double At(std::vector<double> values, double quantile) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(quantile * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return std::isfinite(*at) ? *at : 0;
}

}  // namespace

void ForEachRollout(const Rollouts& rollouts, const std::function<void(size_t rollout, uint64_t seed)>& run) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < rollouts.threads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = thread; i < rollouts.count; i += rollouts.threads) {
        run(static_cast<size_t>(i), rollouts.seed * 1000003 + rollouts.first + static_cast<uint64_t>(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

double TimeToPass(double requests_per_second) {
  if (requests_per_second >= 100) return 30 * 60;
  return requests_per_second >= 10 ? 2 * 3600 : 24 * 3600;
}

Ends RunEqual(Kind kind, double requests_per_second, const Rollouts& rollouts) {
  const auto run = [&](uint64_t seed) {
    const Case drawn = DrawEqual(kind, requests_per_second, seed);
    return RunLadder(drawn.world, drawn.ladder, seed);
  };
  const std::string what = fmt::format("equal versions: {}, {:g} requests/s", NameOf(kind), requests_per_second);
  return EndsOf(Run(rollouts, what, run), TimeToPass(requests_per_second));
}

Ends RunDoubledErrors(double requests_per_second, const Rollouts& rollouts) {
  const Case doubled = DoubledErrors(requests_per_second);
  const auto run = [&](uint64_t seed) { return RunLadder(doubled.world, doubled.ladder, seed); };
  return EndsOf(Run(rollouts, fmt::format("doubled errors: {:g} requests/s", requests_per_second), run), 0);
}

Watch WatchFor(const World& world) {
  return {0.25, std::max(kWatchSecondsMin, kWatchRequestsMin / world.requests_per_second)};
}

Delay RunFault(const World& world, const Rollouts& rollouts) { return RunFault({world, LadderFor(world)}, rollouts); }

Delay RunFault(const Case& fault, const Rollouts& rollouts) {
  const auto& [world, ladder] = fault;
  const Watch watch = WatchFor(world);
  std::vector<double> requests;
  std::vector<double> pairs;
  Delay delay{{0, rollouts.count}, 0, 0, 0};
  const auto run = [&](uint64_t seed) { return RunWatch(world, ladder, watch, seed); };
  for (const Course& course : Run(rollouts, "the delay until a fault is found", run)) {
    const bool found = course.end == End::kRolledBack;
    delay.found.count += found ? 1 : 0;
    requests.push_back(found ? static_cast<double>(course.candidate_requests) : kNever);
    pairs.push_back(found ? static_cast<double>(course.pairs) : kNever);
  }
  delay.median = At(requests, 0.5);
  delay.p90 = At(requests, 0.9);
  delay.median_pairs = At(pairs, 0.5);
  return delay;
}

}  // namespace longshore::sim

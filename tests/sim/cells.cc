#include "tests/sim/cells.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>

namespace longshore::sim {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed * 2654435761 + 12345) {}
  template <typename T>
  T Of(std::initializer_list<T> choices) {
    return choices.begin()[random_() % choices.size()];
  }

 private:
  std::mt19937_64 random_;
};

Conditions DrawConditions(Draw& draw) {
  Conditions drawn;
  drawn.nodes = draw.Of({1, 3});
  drawn.node_sigma = draw.Of({0.0, 0.3});
  drawn.drift_sigma = draw.Of({0.0, 0.1, 0.4});
  drawn.drift_seconds = draw.Of({3.0, 30.0, 300.0});
  drawn.burst_every_seconds = draw.Of({0.0, 20.0, 100.0});
  drawn.burst_errors = draw.Of({0.0, 0.05, 0.5});
  return drawn;
}

bool HasTenants(Kind kind) { return kind == Kind::kTenants || kind == Kind::kBatchedTenants; }
bool HasBatches(Kind kind) { return kind == Kind::kBatched || kind == Kind::kBatchedTenants; }

void DrawUsers(Kind kind, Draw& draw, Case& drawn) {
  Users& users = drawn.world.users;
  if (kind == Kind::kUsers) users = {draw.Of({1000, 10000}), draw.Of({0.3, 0.5, 0.8}), 0, 0};
  if (HasTenants(kind)) users = {draw.Of({20, 50, 200}), draw.Of({0.3, 0.5}), 0, 0};
  if (kind == Kind::kFailingUsers) users = {draw.Of({50, 1000}), 0.3, draw.Of({0.02, 0.05}), draw.Of({0.1, 0.3})};
  if (users.count == 0) return;
  drawn.world.keyed = true;
  drawn.ladder.spec.rollout.assignment_by = api::AssignmentBy::kHeader;
}

}  // namespace

std::vector<Kind> AllKinds() {
  return {Kind::kIndependent,  Kind::kCorrelated, Kind::kUsers,         Kind::kTenants,
          Kind::kFailingUsers, Kind::kBatched,    Kind::kBatchedTenants};
}

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kIndependent: return "independent requests";
    case Kind::kCorrelated: return "drift and bursts";
    case Kind::kUsers: return "assigned users";
    case Kind::kTenants: return "assigned tenants";
    case Kind::kFailingUsers: return "assigned users, some of whom fail often";
    case Kind::kBatched: return "batches";
    case Kind::kBatchedTenants: return "batches, assigned tenants";
  }
  return "";
}

double LookEvery(double requests_per_second) { return std::clamp(std::floor(10 / requests_per_second), 1.0, 10.0); }

Ladder LadderFor(const World& world) {
  Ladder ladder;
  ladder.look_every_seconds = LookEvery(world.requests_per_second);
  if (world.keyed) ladder.spec.rollout.assignment_by = api::AssignmentBy::kHeader;
  return ladder;
}

Case DrawEqual(Kind kind, double requests_per_second, uint64_t seed) {
  Draw draw(seed);
  Case drawn;
  World& world = drawn.world;
  world.requests_per_second = requests_per_second;
  world.stable_errors = world.candidate_errors = draw.Of({0.0, 0.001, 0.01, 0.05, 0.3});
  world.errors_of_inputs = draw.Of({0.0, 0.3, 0.9});
  world.run_time_sigma = draw.Of({0.05, 0.25, 0.5, 1.0});
  drawn.ladder.baseline_requests = draw.Of({0, 100, 1000});
  drawn.ladder.look_every_seconds = LookEvery(requests_per_second);
  api::ModelSpec& spec = drawn.ladder.spec;
  if (draw.Of({false, true})) spec.slo.latency_target = std::chrono::milliseconds(10);
  spec.slo.latency_quantile = 0.9;
  if (kind == Kind::kCorrelated) world.conditions = DrawConditions(draw);
  if (HasBatches(kind)) {
    world.batches.rows_max = draw.Of({8, 32});
    world.batches.fixed_share = draw.Of({0.2, 0.8});
  }
  DrawUsers(kind, draw, drawn);
  return drawn;
}

bool AssignsUsers(Kind kind) { return kind == Kind::kUsers || kind == Kind::kFailingUsers || HasTenants(kind); }

World DrawEqualLike(Kind kind, const World& base, uint64_t seed) {
  World drawn = DrawEqual(kind, base.requests_per_second, seed).world;
  drawn.stable_errors = drawn.candidate_errors = base.stable_errors;
  drawn.run_time_median_us = base.run_time_median_us;
  drawn.run_time_sigma = base.run_time_sigma;
  return drawn;
}

World EqualOf(World world) {
  world.candidate_errors = world.stable_errors;
  world.slowdown = 1;
  world.hidden = {};
  return world;
}

std::vector<Fault> AllFaults(double requests_per_second) {
  std::vector<Fault> faults;
  const auto add = [&](const char* name, auto change) {
    World world;
    world.requests_per_second = requests_per_second;
    change(world);
    faults.push_back({name, world});
  };
  const auto errors = [&](const char* name, double stable, double candidate) {
    add(name, [&](World& world) {
      world.stable_errors = stable;
      world.candidate_errors = candidate;
    });
  };
  errors("errors 1 % -> 2 %", 0.01, 0.02);
  errors("errors 0.1 % -> 1 %", 0.001, 0.01);
  errors("errors 1 % -> 5 %", 0.01, 0.05);
  errors("errors 5 % -> 10 %", 0.05, 0.1);
  add("run time +20 %", [](World& world) { world.slowdown = 1.2; });
  add("run time +50 %", [](World& world) { world.slowdown = 1.5; });
  add("3 % of the inputs run 5 times as long", [](World& world) {
    world.hidden.class_share = 0.03;
    world.hidden.class_slowdown = 5;
  });
  add("3 % of the inputs fail", [](World& world) {
    world.hidden.class_share = 0.03;
    world.hidden.class_errors = 1;
  });
  add("the requests of one tenant fail, users assigned", [](World& world) {
    world.users.count = 200;
    world.keyed = true;
    world.hidden.tenant_fails = true;
  });
  add("one request in five fails on one of four nodes", [](World& world) {
    world.conditions.nodes = 4;
    world.hidden.node_fails = true;
  });
  add("rows of a batch take half as long again", [](World& world) {
    world.batches.rows_max = 32;
    world.batches.fixed_share = 0.2;
    world.hidden.row_slowdown = 1.5;
  });
  add("errors 1 % -> 2 %, users assigned", [](World& world) {
    world.candidate_errors = 0.02;
    world.users = {1000, 0.3, 0.02, 0.1};
    world.keyed = true;
  });
  return faults;
}

std::vector<BinsFault> AllBinsFaults(double requests_per_second) {
  constexpr int kRequestsBefore = 30000;
  World refusing;
  refusing.users = {10000, 0.3, 0, 0};
  refusing.hidden.refused_share = 0.05;
  World failing;
  failing.users = {10000, 0.3, 0, 0};
  failing.candidate_errors = 0.02;
  World with_failing_users = failing;
  with_failing_users.users = {10000, 0.3, 0.02, 1};
  std::vector<BinsFault> faults;
  const auto add = [&](const char* name, World world, int requests_before) {
    world.requests_per_second = requests_per_second;
    world.keyed = true;
    Ladder ladder = LadderFor(world);
    ladder.baseline_requests = requests_before;
    ladder.spec.rollout.pairs.share = 0;
    faults.push_back({name, {world, ladder}});
  };
  add("5 % refused", refusing, 0);
  add("errors 1 % -> 2 %", failing, 0);
  add("errors 1 % -> 2 %, some users always fail, nothing known before", with_failing_users, 0);
  add("errors 1 % -> 2 %, some users always fail, 30,000 requests known before", with_failing_users, kRequestsBefore);
  return faults;
}

Case DoubledErrors(double requests_per_second) {
  Case doubled;
  doubled.world.requests_per_second = requests_per_second;
  doubled.world.candidate_errors = 2 * doubled.world.stable_errors;
  doubled.ladder = LadderFor(doubled.world);
  return doubled;
}

}  // namespace longshore::sim

// The simulated situations whose results make the table of docs/analysis.md: worlds with equal versions, and worlds
// with a fault. The parameters of each rollout are drawn from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/course.h"

namespace longshore::sim {

// One rollout to simulate.
struct Case {
  World world;
  Ladder ladder;
};

// A kind of world. Who sends the requests, and what runs them.
enum class Kind { kIndependent, kCorrelated, kUsers, kTenants, kFailingUsers, kBatched, kBatchedTenants };
std::vector<Kind> AllKinds();
const char* NameOf(Kind kind);

// Draws a world of this kind in which the versions are equal. Error rates, spreads of the run time, baselines,
// objectives, numbers of users and conditions differ from rollout to rollout.
Case DrawEqual(Kind kind, double requests_per_second, uint64_t seed);

bool AssignsUsers(Kind kind);
// Draws such a world with the error rate and the run times of `base`.
World DrawEqualLike(Kind kind, const World& base, uint64_t seed);

// A fault, in the plainest world in which it can exist.
struct Fault {
  std::string name;
  World world;
};
// The faults that are compared with the peers.
std::vector<Fault> AllFaults(double requests_per_second);

// A default rollout in this world.
Ladder LadderFor(const World& world);

// The same world with a candidate that equals stable.
World EqualOf(World world);

// Faults that the bins of users must find alone, because no pairs are run. In some worlds a few users fail all the
// time, and the rollouts differ in whether anything is known about the time before them.
struct BinsFault {
  std::string name;
  Case drawn;
};
std::vector<BinsFault> AllBinsFaults(double requests_per_second);

// A candidate that fails 2 % of the requests, twice as many as stable, and a default rollout.
Case DoubledErrors(double requests_per_second);

// Time between two looks at the evidence: a second, or longer at low traffic, where most seconds have no request.
double LookEvery(double requests_per_second);

}  // namespace longshore::sim

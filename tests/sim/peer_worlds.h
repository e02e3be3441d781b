// The worlds in which the settings of other operators are tried.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/peer_settings.h"
#include "tests/sim/trials.h"

namespace longshore::sim {

// A world with equal versions, in which a rollback is a false alarm.
struct EqualWorld {
  std::string name;
  World world;
  // If there is one, each rollout has a world of this kind, with the error rate and the run times of `world`.
  std::optional<Kind> kind{};

  World Draw(uint64_t seed) const { return kind ? DrawEqualLike(*kind, world, seed) : world; }
  bool AssignsUsers() const { return kind ? sim::AssignsUsers(*kind) : world.keyed; }
};

// Faults that are found by the same measures, in services with the same error rate.
struct Group {
  struct Member {
    Fault fault;
    size_t own = 0;  // The fault's world without the fault: an index of `equal`.
  };
  Measures measures = Measures::kErrors;
  std::vector<Member> members;
  // The worlds of the faults, and then the kinds of worlds for which docs/analysis.md makes its promise. Kinds that
  // change nothing in what is measured are left out: batches do not change errors, and run times do not depend on users
  // who fail.
  std::vector<EqualWorld> equal;
};
std::vector<Group> GroupsOf(const std::vector<Fault>& faults);

// Where a setting must have few false alarms.
enum class Family {
  kOwn,       // In the world of the fault.
  kAssigned,  // There, and in all kinds of worlds that assign as it does: requests, or users.
  kEvery,     // There, and in all kinds of worlds.
};
inline constexpr size_t kFamilies = 3;
std::vector<Family> AllFamilies();
const char* NameOf(Family family);
// Returns indices of group.equal.
std::vector<size_t> WorldsOf(const Group& group, const Group::Member& member, Family family);

// What an operator knows of the service that a rollout with this seed has. Only what the measures need.
Past PastOf(const World& world, uint64_t seed, Measures measures);

// Simulates a rollout for the peers only, and returns it as a line for PeerRules.
std::string RecordLine(const World& world, Measures measures, size_t rollout, uint64_t seed);
// The same for equal versions. If only errors are measured, only errors are simulated.
std::string RecordEqualLine(const EqualWorld& equal, Measures measures, size_t rollout, uint64_t seed);

}  // namespace longshore::sim

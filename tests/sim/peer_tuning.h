// Chooses the settings of other operators that find faults soonest and have few false alarms.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/peer_session.h"
#include "tests/sim/peer_worlds.h"

namespace longshore::sim {

// How many rollouts choose. All settings are tried in the first two, and the best of them are counted again.
struct TuningCounts {
  int screened = 300;  // Equal versions in each world.
  int faulty = 200;    // Of each fault.
  int counted = 2000;  // Equal versions in each world. Few are rolled back, so many are needed to count them.
  size_t listed = 12;  // Settings that are counted for each fault, family of worlds and share of false alarms.
};

// The settings that are chosen for at least one fault of a group, and where each fault finds its own.
struct Tuned {
  // `setting` is an index of `settings`. If there is none, `why` says what false alarms left over.
  struct Choice {
    std::optional<size_t> setting;
    std::string why{};
  };
  using OfFamilies = std::array<OfPeers<Choice>, kFamilies>;
  OfPeers<Json> settings;
  std::vector<OfFamilies> of_members;
};

// Chooses for each member of the group, peer and family of worlds. `rollouts` gives the seed and the threads.
Result<Tuned> Tune(const Group& group, const std::string& program, const Rollouts& rollouts,
                   const TuningCounts& counts = {});

}  // namespace longshore::sim

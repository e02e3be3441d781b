// Predicts the course of a rollout that has not started: runs Decide in a simulation in which everything succeeds.
//
// In the simulation, nodes load their versions at once, each version passes its rehearsal, the candidate is as good as
// stable, each step has enough requests when its hold ends, and each pause for a person is promoted at once. So the
// predicted times are lower bounds.
//
// Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/decide/rollout/rollout.h"

namespace longshore::rollout {

// One line of the predicted history.
struct Moment {
  Duration after{0};  // Time from now.
  Event event;        // `weight_percent` is the candidate's weight after the event; 100 once it is promoted.
  int nodes = 0;      // Number of nodes that hold the candidate or are to load it.
};

struct Preview {
  std::string no_rollout_reason;  // Why there is no rollout; "" if there is one.
  int64_t stable = 0;
  int64_t candidate = 0;
  std::vector<Moment> moments;
  // If the rollout stops indefinitely, its `paused_reason`: "Spec" or "Command". "" if the candidate is promoted.
  std::string held;
  Duration keep_warm{0};  // How long the previous version stays loaded after the promotion.
};

// `model`: the Model as it is after the apply. `latest_version`: the newest version that nodes would find; used only if
// the spec names no version. `nodes`: the names of the nodes of the fleet.
Preview PredictRollout(api::Model model, const std::vector<std::string>& nodes, std::optional<int64_t> latest_version,
                       TimePoint now);

inline constexpr int kMomentsMax = 1000;

}  // namespace longshore::rollout

// What a rollout would do, told before it begins: Decide itself, run ahead in a world where everything goes well.
//
// In that world nodes have at once what they are told to have, every version passes its trial, the candidate is as good
// as stable, a step has its requests when its hold is over, and where a step waits for somebody to say promote,
// somebody does. So the times are the least that there can be.
//
// Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/rollout/rollout.h"

namespace longshore::rollout {

// One line of the history that there would be.
struct Moment {
  Duration after{0};  // Since now.
  Event event;        // With the candidate's weight then; 100 once it is promoted.
  int nodes = 0;      // That hold the candidate, or soon will.
};

struct Preview {
  std::string none;  // Why there is no rollout; "": there is one.
  int64_t stable = 0;
  int64_t candidate = 0;
  std::vector<Moment> moments;
  std::string held;  // paused_reason where it stops for ever: "Spec", "Command"; "": it is promoted.
  Duration soak{0};  // How long the version before stays loaded after that.
};

// `model`: as the controller would find it after the apply. `latest_version`: what nodes find; only used when the spec
// names no version. `nodes`: the names of the fleet's nodes.
Preview Foresee(api::Model model, const std::vector<std::string>& nodes, std::optional<int64_t> latest_version,
                TimePoint now);

inline constexpr int kMomentsMax = 1000;

}  // namespace longshore::rollout

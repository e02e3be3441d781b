#include "controller/decide/rollout/command.h"
#include "controller/decide/rollout/golden_set.h"

namespace longshore::rollout {

Outcome ValidateStable(Draft& draft, const api::Command& command) {
  const int64_t stable = draft.status().stable_version;
  if (draft.spec().validation.golden_set.empty())
    return Refused("this Model has no golden set to run: spec.validation.goldenSet is not set");
  if (stable == 0) return Refused("no version serves yet; a new version runs the golden set in its rehearsal");
  if (command.id.empty()) return Refused("the command needs an id, by which its caller finds the results");
  const int nodes = draft.ReadyNodes(stable);
  if (nodes == 0) return Refused(fmt::format("version {} is not ready on any node", stable));
  ForgetOtherGoldenSets(draft);
  draft.status().golden_set.request = {.id = command.id, .at = draft.now()};
  return Done(
      fmt::format("{} {} the golden set of version {} now", nodes, nodes == 1 ? "node runs" : "nodes run", stable));
}

}  // namespace longshore::rollout

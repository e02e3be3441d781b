#include "controller/decide/rollout/command.h"
#include "controller/decide/rollout/golden_set.h"

namespace longshore::rollout {

std::string WhyNoValidate(const Draft& draft, const api::Command& command) {
  const int64_t stable = draft.status().stable_version;
  if (draft.spec().validation.golden_set.empty())
    return "this Model has no golden set to run: spec.validation.goldenSet is not set";
  if (stable == 0) return "no version serves yet; a new version runs the golden set in its rehearsal";
  if (command.id.empty()) return "the command needs an id, by which its caller finds the results";
  return draft.ReadyNodes(stable) == 0 ? fmt::format("version {} is not ready on any node", stable) : "";
}

std::string ValidateStable(Draft& draft, const api::Command& command) {
  const int64_t stable = draft.status().stable_version;
  const int nodes = draft.ReadyNodes(stable);
  ForgetOtherGoldenSets(draft);
  draft.status().golden_set.request = {.id = command.id, .at = draft.now()};
  return fmt::format("{} {} the golden set of version {} now", nodes, nodes == 1 ? "node runs" : "nodes run", stable);
}

}  // namespace longshore::rollout

#include "serving-node/graph/passes/passes.h"

namespace longshore::graph::passes {

std::span<const Pass> LoadPasses() {
  static constexpr Pass kPasses[] = {{"identities", RemoveIdentities},
                                     {"batch_norms", SplitBatchNorms},
                                     {"scales", DrawInScales},
                                     {"pads", DrawInPads}};
  return kPasses;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Pass& pass : LoadPasses()) names.emplace_back(pass.name);
  names.emplace_back("elementwise");
  return names;
}

}  // namespace longshore::graph::passes

#include "serving-node/graph/passes/passes.h"

namespace longshore::graph::passes {

std::span<const Pass> LoadPasses() {
  static constexpr Pass kPasses[] = {{"identities", RemoveIdentities},
                                     {"batch_norms", SplitBatchNorms},
                                     {"scales", DrawInScales},
                                     {"pads", DrawInPads}};
  return kPasses;
}

}  // namespace longshore::graph::passes

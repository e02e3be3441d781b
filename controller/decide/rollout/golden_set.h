// The repeated runs of the golden set of the stable version. Internal to rollout/.
#pragma once

#include "controller/decide/rollout/draft.h"

namespace longshore::rollout {

// Sets the condition GoldenSetPasses if goldenSet.every is set and a version is stable, and removes it otherwise. Adds
// an event when the golden set begins to fail, and when it passes again. Changes nothing else: a failed run may be due
// to a node, and nothing is known about how the version before would do.
void DescribeGoldenSet(Draft& draft);

}  // namespace longshore::rollout

// The repeated runs of the golden set of the stable version. Internal to rollout/.
#pragma once

#include <optional>

#include "controller/decide/rollout/draft.h"

namespace longshore::rollout {

// Makes status.golden_set that of the stable version and of the golden set of the spec. Forgets what is known about
// another version, or about a golden set that is judged otherwise.
void ForgetOtherGoldenSets(Draft& draft);

// Updates status.golden_set. Sets the condition GoldenSetPasses if goldenSet.every is set and a version is stable, and
// removes it otherwise. Adds an event when the golden set begins to fail, when it passes again, and when its runs are
// overdue. Changes nothing else: a failed run may be due to a node, and nothing is known about how the version before
// would do.
//
// The condition survives restarts: a failure counts until the node runs the golden set again, or is gone for 10
// minutes; if it passed, it stays True until a node reports a run that failed, or the runs are overdue.
void DescribeGoldenSet(Draft& draft);

// When to call DescribeGoldenSet again even if no node reports anything; nullopt: never. Call it afterwards.
std::optional<Duration> CheckGoldenSetIn(const Draft& draft);

}  // namespace longshore::rollout

// How long a node may drain, which whoever starts it knows.
#pragma once

namespace longshore::node_contract {

// An environment variable, in milliseconds: a node ends this long after it has begun to drain, or a second later at
// most, also if connections are left, because it would be killed soon after. Unset: it waits until none is left.
//
// A pod has it because the value belongs to the pod's own grace period; the fleet's spec may have another one by then.
// It is not a flag: the image of a fleet may be an older release, whose node refuses flags that it does not know.
inline constexpr const char* kDrainMaxVariable = "LONGSHORE_DRAIN_MAX_MS";

}  // namespace longshore::node_contract

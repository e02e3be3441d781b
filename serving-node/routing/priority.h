// What a client may ask of the queue that its request waits in.
#pragma once

#include "common/error.h"
#include "serving-node/routing/predict.h"

namespace longshore::routing {

// Header or metadata: 0, what a request has without it, to 9. It travels with a hop.
inline constexpr const char* kPriorityHeader = "x-longshore-priority";

// InvalidArgument for anything else.
Result<int> PriorityOf(const PredictCall& call);

}  // namespace longshore::routing

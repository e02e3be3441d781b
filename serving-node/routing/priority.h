// The priority of a request in the queue of its model, as the client sets it.
#pragma once

#include "common/base/error.h"
#include "serving-node/routing/predict.h"

namespace longshore::routing {

// HTTP header or gRPC metadata with a priority from 0 (the default) to 9. A forwarded request keeps it.
inline constexpr const char* kPriorityHeader = "x-longshore-priority";

// Returns the priority of the call. InvalidArgument if the header is not a number from 0 to 9.
Result<int> PriorityOf(const PredictCall& call);

}  // namespace longshore::routing

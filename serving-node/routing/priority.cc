#include "serving-node/routing/priority.h"

#include "serving-node/batching/batching.h"

namespace longshore::routing {

Result<int> PriorityOf(const PredictCall& call) {
  const auto value = HeaderValue(call.headers, kPriorityHeader);
  if (!value) return 0;
  static_assert(batching::kPriorityMax == 9, "one digit");
  if (value->size() == 1 && value->front() >= '0' && value->front() <= '9') return value->front() - '0';
  return InvalidArgument("{} is not a number from 0 to {}", kPriorityHeader, batching::kPriorityMax);
}

}  // namespace longshore::routing

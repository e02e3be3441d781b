#include "serving-node/tracing/sampler.h"

namespace longshore::tracing {

bool IsSampled(const std::optional<Context>& parent, const TraceId& id, double ratio) {
  constexpr double kIds = 0x1p63;
  if (parent) return parent->sampled;
  return id.low >> 1 < static_cast<uint64_t>(ratio * kIds);
}

}  // namespace longshore::tracing

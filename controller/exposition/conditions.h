// Metrics of the conditions of Models and ServingFleets. Internal to exposition/.
#pragma once

#include <vector>

#include "common/metrics/exposition.h"
#include "controller/api/types.h"

namespace longshore::exposition {

inline void ShowConditions(const metrics::Name& name, const metrics::Labels& object,
                           const std::vector<api::Condition>& conditions, metrics::Exposition* out) {
  for (const api::Condition& condition : conditions) {
    metrics::Labels labels = object;
    labels["type"] = condition.type;
    labels["reason"] = condition.reason;
    out->Set(name, labels, condition.status == "True");
  }
}

}  // namespace longshore::exposition

#include "common/metrics/exposition.h"

#include <utility>

#include "common/base/error.h"

namespace longshore::metrics {

Exposition::Metric& Exposition::At(const Name& name, Kind kind, const Labels& labels) {
  const auto [at, is_new] = families_.try_emplace(name.name);
  if (is_new) at->second = {kind, name.help, {}};
  CHECK(at->second.kind == kind);
  return at->second.metrics[labels];
}

void Exposition::Count(const Name& name, const Labels& labels, double value) {
  At(name, Kind::kCounter, labels).value += value;
}

void Exposition::Set(const Name& name, const Labels& labels, double value) {
  At(name, Kind::kGauge, labels).value += value;
}

void Exposition::Observed(const Name& name, const Labels& labels, Buckets buckets) {
  Buckets& sum = At(name, Kind::kHistogram, labels).buckets;
  if (sum.counts.empty()) {
    sum = std::move(buckets);
  } else {
    sum.Add(buckets);
  }
}

}  // namespace longshore::metrics

// Labels and bookkeeping for metrics with one series per model version. When a version is unloaded, its series is added
// to the series that its model has for all unloaded versions; when a model is removed, its series are added to the
// series with the model label "other". Sums over all series therefore never decrease.
//
// The template parameter Key needs at least the members std::string model, int64_t version and std::string signature.
#pragma once

#include <cstdint>
#include <string>

#include "common/metrics/series.h"

namespace longshore::routing {

// The version number for requests that no version answered and for all unloaded versions.
inline constexpr int64_t kNoVersion = -1;
// The model label for removed models and for models that exceed the limit of series.
inline constexpr const char* kOtherModels = "other";

template <typename Key>
metrics::Labels LabelsOf(const Key& key) {
  return {{"model", key.model},
          {"version", key.version == kNoVersion ? "" : std::to_string(key.version)},
          {"signature", key.signature}};
}

// Converts a distribution of microseconds to buckets of seconds.
inline metrics::Buckets InSeconds(const metrics::Distribution& distribution) {
  constexpr double kMicroseconds = 1e6;
  metrics::Buckets read = distribution.Read(metrics::SecondsBounds());
  read.DivideBy(kMicroseconds);
  return read;
}

// Adds the series of an unloaded version to the series that its model has for all unloaded versions.
template <typename Key, typename Value>
void ForgetVersion(const std::string& model, int64_t version, metrics::Series<Key, Value>* series) {
  series->Move([&](Key* key) {
    if (key->model != model || key->version != version) return false;
    key->version = kNoVersion;
    key->signature.clear();
    return true;
  });
}

// Adds the series of a removed model to the series with the label kOtherModels.
template <typename Key, typename Value>
void ForgetModel(const std::string& model, metrics::Series<Key, Value>* series) {
  series->Move([&](Key* key) {
    if (key->model != model || model == kOtherModels) return false;
    key->model = kOtherModels;
    key->version = kNoVersion;
    key->signature = kOtherModels;
    return true;
  });
}

}  // namespace longshore::routing

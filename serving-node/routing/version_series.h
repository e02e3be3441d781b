// Counters of the versions that serve: told apart while they do, and counted together when they have left.
//
// A Key has at least std::string model, int64_t version and std::string signature.
#pragma once

#include <cstdint>
#include <string>

#include "common/metrics/series.h"

namespace longshore::routing {

// Of a request that no version answered, and of all versions that have left.
inline constexpr int64_t kNoVersion = -1;
// Where models are counted that have left, and those beyond a limit.
inline constexpr const char* kOtherModels = "other";

template <typename Key>
metrics::Labels LabelsOf(const Key& key) {
  return {{"model", key.model},
          {"version", key.version == kNoVersion ? "" : std::to_string(key.version)},
          {"signature", key.signature}};
}

// Of a distribution of microseconds.
inline metrics::Buckets InSeconds(const metrics::Distribution& distribution) {
  constexpr double kMicroseconds = 1e6;
  metrics::Buckets read = distribution.Read(metrics::SecondsBounds());
  read.DivideBy(kMicroseconds);
  return read;
}

// What the version did counts for its model from now on.
template <typename Key, typename Value>
void ForgetVersion(const std::string& model, int64_t version, metrics::Series<Key, Value>* series) {
  series->Move([&](Key* key) {
    if (key->model != model || key->version != version) return false;
    key->version = kNoVersion;
    key->signature.clear();
    return true;
  });
}

// What the model did counts for kOtherModels from now on: sums over all models do not shrink.
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

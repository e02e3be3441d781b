// Since when the Services of fleets have had a ready pod, from their EndpointSlices. Pure.
//
// Kubernetes copies the labels of a Service to its EndpointSlices, so they can be listed by the labels of the fleet.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/kube/cache.h"

namespace longshore::fleet::pods {

struct EndpointSlice {
  std::string fleet;        // "namespace/name".
  std::string service_uid;  // The uid of the Service that owns it.
  bool has_ready = false;   // Whether one of its endpoints gets the connections of clients.
};

// Returns DataLoss if the slice does not belong to a fleet.
Result<EndpointSlice> EndpointSliceFrom(const Json& json);

// The EndpointSlices that have a ready endpoint. Not thread-safe.
class ReadySlices {
 public:
  // `since`: when the slice got a ready endpoint, if it had none before.
  void Update(const kube::Name& name, const EndpointSlice& slice, MonotonicPoint since);
  void Remove(const kube::Name& name, const std::string& fleet);

  // Since when the Service with this uid has had a ready endpoint; nullopt if it has none. The uid matters because the
  // slices of a deleted Service remain for a moment.
  std::optional<MonotonicPoint> Since(const std::string& fleet, const std::string& service_uid) const;

 private:
  struct Entry {
    std::string service_uid;
    MonotonicPoint since;
  };
  std::map<std::string, std::map<kube::Name, Entry>> by_fleet_;
};

}  // namespace longshore::fleet::pods

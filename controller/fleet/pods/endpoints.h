// How many pods of the Services of fleets are ready, and since when one is, from their EndpointSlices. Pure.
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
  int endpoints = 0;
  int ready = 0;  // The number of its endpoints that get connections of clients.
};

// Returns DataLoss if the slice does not belong to a fleet.
Result<EndpointSlice> EndpointSliceFrom(const Json& json);

// The endpoints of a Service.
struct EndpointsSeen {
  int endpoints = 0;
  int ready = 0;
  std::optional<MonotonicPoint> ready_since{};  // Since when at least one has been ready; nullopt: none is.
};

// The EndpointSlices of fleets. Not thread-safe.
class Slices {
 public:
  // `now`: when the slice got a ready endpoint, if it had none before.
  void Update(const kube::Name& name, const EndpointSlice& slice, MonotonicPoint now);
  void Remove(const kube::Name& name, const std::string& fleet);

  // The endpoints of the Service with this uid. The uid matters because the slices of a deleted Service remain for a
  // moment.
  EndpointsSeen Of(const std::string& fleet, const std::string& service_uid) const;

 private:
  struct Entry {
    EndpointSlice slice;
    MonotonicPoint ready_since;  // Only if an endpoint is ready.
  };
  std::map<std::string, std::map<kube::Name, Entry>> by_fleet_;
};

// Why the address of a fleet refuses connections, and what to check. `service`: its name. The text stays the same while
// the counts do, because it is part of a status.
std::string WhyNoneIsReady(const std::string& fleet, const std::string& service, const EndpointsSeen& seen,
                           TimePoint since);

}  // namespace longshore::fleet::pods

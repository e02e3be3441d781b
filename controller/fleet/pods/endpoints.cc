#include "controller/fleet/pods/endpoints.h"

#include <algorithm>

#include "common/json/path.h"
#include "controller/api/units.h"
#include "controller/fleet/pods/manifests.h"

namespace longshore::fleet::pods {

Result<EndpointSlice> EndpointSliceFrom(const Json& json) {
  const Json metadata = At(json, {"metadata"});
  const std::string fleet = TextAt(metadata, {"labels", kFleetLabel});
  if (fleet.empty()) return DataLoss("the EndpointSlice has no label {}", kFleetLabel);
  EndpointSlice slice{.fleet = TextAt(metadata, {"namespace"}) + "/" + fleet,
                      .service_uid = TextAt(metadata, {"ownerReferences", "0", "uid"})};
  for (const Json& endpoint : At(json, {"endpoints"})) {
    // The API defines a missing condition as ready.
    if (At(endpoint, {"conditions", "ready"}) != Json(false)) ++slice.ready;
    ++slice.endpoints;
  }
  return slice;
}

void Slices::Update(const kube::Name& name, const EndpointSlice& slice, MonotonicPoint now) {
  Entry& entry = by_fleet_[slice.fleet][name];
  const bool was_ready = entry.slice.service_uid == slice.service_uid && entry.slice.ready > 0;
  entry = {slice, was_ready ? entry.ready_since : now};
}

void Slices::Remove(const kube::Name& name, const std::string& fleet) {
  const auto slices = by_fleet_.find(fleet);
  if (slices == by_fleet_.end()) return;
  slices->second.erase(name);
  if (slices->second.empty()) by_fleet_.erase(slices);
}

EndpointsSeen Slices::Of(const std::string& fleet, const std::string& service_uid) const {
  EndpointsSeen seen;
  const auto slices = by_fleet_.find(fleet);
  if (slices == by_fleet_.end()) return seen;
  for (const auto& [_, entry] : slices->second) {
    if (entry.slice.service_uid != service_uid) continue;
    seen.endpoints += entry.slice.endpoints;
    seen.ready += entry.slice.ready;
    if (entry.slice.ready > 0)
      seen.ready_since = std::min(seen.ready_since.value_or(entry.ready_since), entry.ready_since);
  }
  return seen;
}

std::string WhyNoneIsReady(const std::string& fleet, const std::string& service, const EndpointsSeen& seen,
                           TimePoint since) {
  const size_t slash = fleet.find('/');
  return fmt::format(
      "Service {} has {} of {} endpoints ready since {} or before, so its address refuses connections; check the "
      "readiness of the pods: kubectl -n {} describe pods -l {}={}",
      service, seen.ready, seen.endpoints, api::FormatTime(since), fleet.substr(0, slash), kFleetLabel,
      fleet.substr(slash + 1));
}

}  // namespace longshore::fleet::pods

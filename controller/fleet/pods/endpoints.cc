#include "controller/fleet/pods/endpoints.h"

#include <algorithm>

#include "common/json/path.h"
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
    if (At(endpoint, {"conditions", "ready"}) != Json(false)) slice.has_ready = true;
  }
  return slice;
}

void ReadySlices::Update(const kube::Name& name, const EndpointSlice& slice, MonotonicPoint since) {
  if (!slice.has_ready) return Remove(name, slice.fleet);
  Entry& entry = by_fleet_[slice.fleet].try_emplace(name, slice.service_uid, since).first->second;
  if (entry.service_uid != slice.service_uid) entry = {slice.service_uid, since};
}

void ReadySlices::Remove(const kube::Name& name, const std::string& fleet) {
  const auto slices = by_fleet_.find(fleet);
  if (slices == by_fleet_.end()) return;
  slices->second.erase(name);
  if (slices->second.empty()) by_fleet_.erase(slices);
}

std::optional<MonotonicPoint> ReadySlices::Since(const std::string& fleet, const std::string& service_uid) const {
  std::optional<MonotonicPoint> since;
  const auto slices = by_fleet_.find(fleet);
  if (slices == by_fleet_.end()) return since;
  for (const auto& [_, entry] : slices->second) {
    if (entry.service_uid == service_uid) since = std::min(since.value_or(entry.since), entry.since);
  }
  return since;
}

}  // namespace longshore::fleet::pods

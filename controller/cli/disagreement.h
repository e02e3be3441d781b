// Differences between the manifest files of a host and the objects that were applied from them. They arise when
// `longshore apply` or `longshore delete` changes an object afterwards.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/cli/place.h"
#include "controller/store/store.h"

namespace longshore::cli {

// The objects with these keys; nullopt if an object does not exist.
using Objects = std::map<api::Key, std::optional<store::Object>>;

enum class ObjectsAre { kStored, kPlanned };  // kPlanned: they are the result of a dry run.

// Returns one line for each object that differs from its definition in a manifest file of the place; "" if none differs
// or the place is a cluster. Skips files that no controller has read yet: they are newer than their objects.
std::string DisagreementsText(const Place& place, const Objects& objects, ObjectsAre are = ObjectsAre::kStored);

// Returns the keys of all objects that were applied from manifest files of the place; empty for a cluster.
std::vector<api::Key> KeysOfManifests(const Place& place);

}  // namespace longshore::cli

// Where a manifest file of a host and the object that was applied from it differ, because `longshore apply` or
// `longshore delete` changed the object afterwards.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/types.h"
#include "controller/cli/place.h"
#include "controller/store/store.h"

namespace longshore::cli {

// Objects by their keys; nullopt: there is no such object.
using Objects = std::map<api::Key, std::optional<store::Object>>;

enum class ObjectsAre { kStored, kPlanned };  // kPlanned: a dry run says that they would be so.

// A line for each object that a manifest file of the place defines otherwise. "" when all agree, and for a cluster. A
// file that no controller has read yet is left out: it is newer than its objects.
std::string DisagreementsText(const Place& place, const Objects& objects, ObjectsAre are = ObjectsAre::kStored);

// The keys of all objects that were applied from manifest files of the place; empty for a cluster.
std::vector<api::Key> KeysOfManifests(const Place& place);

}  // namespace longshore::cli

#include "controller/cli/delete.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <istream>
#include <ostream>

#include "controller/cli/commands.h"
#include "controller/cli/disagreement.h"
#include "controller/cli/manifests.h"
#include "controller/cli/select.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

// What to delete: objects that the user named, or that exist and are selected.
Result<std::vector<api::Key>> KeysFor(const Options& options, const Place& place) {
  std::vector<api::Key> keys;
  if (!options.files.empty()) {
    ASSIGN_OR_RETURN(const std::vector<api::ParsedObject> objects, ReadManifests(options, place.home));
    for (const api::ParsedObject& object : objects) keys.push_back(api::KeyOf(object));
    return keys;
  }
  for (const input::Target& target : options.targets) {
    if (!target.name.empty()) {
      keys.push_back({target.kind, options.namespace_, target.name});
      continue;
    }
    ASSIGN_OR_RETURN(const store::Listing listing, Select(options, target.kind, *place.store));
    for (const store::Object& object : listing.objects) keys.push_back(store::KeyOf(object));
    for (const store::Unreadable& object : listing.unreadable) keys.push_back(object.key);
  }
  return keys;
}

// Returns the models that refer to the fleet and are not deleted too.
Result<std::vector<std::string>> ModelsOn(const api::Key& fleet, const std::vector<api::Key>& deleted,
                                          store::Store& store) {
  ASSIGN_OR_RETURN(const store::Listing listing, store.List(api::kModelKind));
  std::vector<std::string> names;
  for (const store::Object& object : listing.objects) {
    const Result<api::Model> model = ToModel(object);
    if (!model || std::ranges::find(deleted, store::KeyOf(object)) != deleted.end()) continue;
    if (api::FleetOf(model->metadata, model->spec) != fleet.namespace_ + "/" + fleet.name) continue;
    names.push_back(object.metadata.namespace_ + "/" + object.metadata.name);
  }
  return names;
}

Status Confirm(const api::Key& fleet, const std::vector<std::string>& models, std::istream& in, std::ostream& out) {
  out << fmt::format("{} serves {}, which then {} no longer served. Delete it? [y/N] ", api::ToString(fleet),
                     fmt::join(models, ", "), models.size() == 1 ? "is" : "are")
      << std::flush;
  std::string answer;
  std::getline(in, answer);
  if (answer == "y" || answer == "yes") return {};
  return FailedPrecondition("nothing was deleted");
}

Status ConfirmAll(const std::vector<api::Key>& keys, const Place& place, std::istream& in, std::ostream& out) {
  for (const api::Key& key : keys) {
    if (key.kind != api::kServingFleetKind) continue;
    ASSIGN_OR_RETURN(const std::vector<std::string> models, ModelsOn(key, keys, *place.store));
    if (!models.empty()) RETURN_IF_ERROR(Confirm(key, models, in, out));
  }
  return {};
}

}  // namespace

Status Delete(const Options& options, const Place& place, std::istream& in, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::vector<api::Key> keys, KeysFor(options, place));
  if (options.can_ask && !options.yes) RETURN_IF_ERROR(ConfirmAll(keys, place, in, out));
  Objects deleted_objects;
  if (keys.empty()) out << "nothing to delete: no object is selected\n";
  std::vector<Error> missing;
  for (const api::Key& key : keys) {
    const Status deleted = DeleteObject(*place.store, key);
    if (deleted) {
      out << api::ToString(key) << " deleted\n";
      deleted_objects[key] = std::nullopt;
    } else if (deleted.error().code != Code::kNotFound) {
      return deleted;
    } else if (!options.ignore_not_found) {
      missing.push_back(deleted.error());
    }
  }
  out << DisagreementsText(place, deleted_objects);
  return CheckFound(missing);
}

}  // namespace longshore::cli

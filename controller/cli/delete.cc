#include "controller/cli/delete.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <istream>
#include <optional>
#include <ostream>

#include "controller/cli/commands.h"
#include "controller/cli/host/disagreement.h"
#include "controller/cli/input/ask.h"
#include "controller/cli/manifests.h"
#include "controller/cli/select.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

constexpr size_t kNamesMax = 10;  // In one question.

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

// The Models that may refer to a fleet.
struct ModelsSeen {
  std::vector<store::Object> models;
  bool has_all_namespaces = true;  // False if this user may not list the Models of other namespaces.
};

// A fleet may serve Models of other namespaces than its own.
Result<ModelsSeen> SeeModels(const Place& place) {
  if (place.cluster) {
    const SteadyClock timer;
    ASSIGN_OR_RETURN(const auto everywhere, StoreOfAllNamespaces(*place.cluster, timer));
    const auto listing = everywhere->List(api::kModelKind);
    if (listing) return ModelsSeen{listing->objects};
    if (listing.error().code != Code::kPermissionDenied) return tl::make_unexpected(listing.error());
  }
  ASSIGN_OR_RETURN(const store::Listing listing, place.store->List(api::kModelKind));
  return ModelsSeen{listing.objects, !place.cluster};
}

// Returns the names of the models that the fleet serves, except for those that are `ignored`.
std::vector<std::string> ModelsOn(const api::ServingFleet& fleet, const std::vector<store::Object>& models,
                                  const std::vector<api::Key>& ignored) {
  const std::string name = fleet.metadata.namespace_ + "/" + fleet.metadata.name;
  std::vector<std::string> names;
  for (const store::Object& object : models) {
    const Result<api::Model> model = ToModel(object);
    if (!model || std::ranges::find(ignored, store::KeyOf(object)) != ignored.end()) continue;
    if (api::FleetOf(model->metadata, model->spec) == name && api::Allows(fleet, object.metadata.namespace_))
      names.push_back(object.metadata.namespace_ + "/" + object.metadata.name);
  }
  return names;
}

bool AllowsOthers(const api::ServingFleet& fleet) {
  return fleet.spec.allowed_namespaces.all || !fleet.spec.allowed_namespaces.names.empty();
}

std::string NamesText(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kNamesMax);
  const std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  return names.size() == shown ? text : fmt::format("{} and {} more", text, names.size() - shown);
}

// Returns what the deletion of the fleet would do to models; "" if it does nothing to them.
std::string EffectOf(const api::ServingFleet& fleet, const ModelsSeen& seen, const std::vector<api::Key>& ignored) {
  const std::string name =
      api::ToString(api::Key{api::kServingFleetKind, fleet.metadata.namespace_, fleet.metadata.name});
  const std::vector<std::string> models = ModelsOn(fleet, seen.models, ignored);
  const bool may_have_more = !seen.has_all_namespaces && AllowsOthers(fleet);
  if (models.empty()) {
    return may_have_more ? name + " may serve Models of other namespaces, which you may not list" : "";
  }
  return fmt::format("{} serves {}, which then {} no longer served{}", name, NamesText(models),
                     models.size() == 1 ? "is" : "are",
                     may_have_more ? " (and perhaps Models of other namespaces, which you may not list)" : "");
}

Status Confirm(const Options& options, const std::string& effect, std::istream& in, std::ostream& out) {
  if (!options.can_ask) return FailedPrecondition("nothing was deleted: {}; use --yes to delete it", effect);
  if (input::AskYes(effect + ". Delete it?", in, out)) return {};
  return FailedPrecondition("nothing was deleted");
}

// A selection may contain more than its author thought of. So it asks also for fleets whose models are deleted too, and
// does not delete such a fleet without an answer. A person who names a fleet and its models knows that both end.
Status ConfirmAll(const Options& options, const std::vector<api::Key>& keys, const Place& place, std::istream& in,
                  std::ostream& out) {
  const bool is_selection = options.all || !options.selector.empty();
  if (!is_selection && !options.can_ask) return {};
  std::optional<ModelsSeen> seen;
  for (const api::Key& key : keys) {
    if (key.kind != api::kServingFleetKind) continue;
    const auto object = place.store->Get(key);
    const auto fleet = object ? store::ToFleet(*object) : tl::make_unexpected(object.error());
    if (!fleet) continue;  // The deletion reports it.
    if (!seen) {
      ASSIGN_OR_RETURN(seen, SeeModels(place));
    }
    const std::string effect = EffectOf(*fleet, *seen, is_selection ? std::vector<api::Key>() : keys);
    if (!effect.empty()) RETURN_IF_ERROR(Confirm(options, effect, in, out));
  }
  return {};
}

// Returns an error with the messages of all; the first failure, if there is one, determines its code.
Status ErrorOfAll(const std::vector<Error>& failed, const std::vector<Error>& missing) {
  if (failed.empty()) return CheckFound(missing);
  std::string all;
  for (const std::vector<Error>& errors : {failed, missing}) {
    for (const Error& error : errors) all += (all.empty() ? "" : "\n") + error.message;
  }
  return tl::make_unexpected(Error{failed.front().code, all});
}

}  // namespace

Status Delete(const Options& options, const Place& place, std::istream& in, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::vector<api::Key> keys, KeysFor(options, place));
  if (!options.yes) RETURN_IF_ERROR(ConfirmAll(options, keys, place, in, out));
  host::Objects deleted_objects;
  if (keys.empty()) out << "nothing to delete: no object is selected\n";
  std::vector<Error> missing;
  std::vector<Error> failed;
  for (const api::Key& key : keys) {
    const Status deleted = DeleteObject(*place.store, key);
    if (deleted) {
      out << api::ToString(key) << " deleted\n";
      deleted_objects[key] = std::nullopt;
    } else if (deleted.error().code != Code::kNotFound) {
      failed.push_back(
          {deleted.error().code, fmt::format("{} was not deleted: {}", api::ToString(key), deleted.error().message)});
      if (deleted.error().code == Code::kUnavailable) break;  // The others would fail too, each after a timeout.
    } else if (!options.ignore_not_found) {
      missing.push_back(deleted.error());
    }
  }
  out << host::DisagreementsText(place.manifests, deleted_objects);
  return ErrorOfAll(failed, missing);
}

}  // namespace longshore::cli

#include "controller/cli/select.h"

#include <algorithm>

#include "controller/cli/command/get_or_hint.h"

namespace longshore::cli {
namespace {

void Append(const store::Listing& from, store::Listing& to) {
  for (const store::Object& object : from.objects) {
    const auto is_same = [&](const store::Object& other) { return store::KeyOf(other) == store::KeyOf(object); };
    if (std::ranges::none_of(to.objects, is_same)) to.objects.push_back(object);
  }
  to.unreadable.insert(to.unreadable.end(), from.unreadable.begin(), from.unreadable.end());
}

}  // namespace

input::Fleets StoredFleets(store::Store& store) {
  input::Fleets fleets;
  for (const store::Object& object : store.List(api::kServingFleetKind).value_or(store::Listing{}).objects) {
    if (const auto fleet = ToFleet(object)) fleets[store::KeyOf(object)] = fleet->spec;
  }
  return fleets;
}

input::Models StoredModels(store::Store& store) {
  input::Models models;
  for (const store::Object& object : store.List(api::kModelKind).value_or(store::Listing{}).objects) {
    if (const auto model = ToModel(object)) models[store::KeyOf(object)] = model->spec;
  }
  return models;
}

Result<store::Listing> Select(const Options& options, const std::string& kind, store::Store& store) {
  if (!options.name.empty()) {
    ASSIGN_OR_RETURN(const store::Object object, command::GetOrHint(store, {kind, options.namespace_, options.name}));
    return store::Listing{{object}, {}};
  }
  ASSIGN_OR_RETURN(store::Listing listing, store.List(kind));
  std::erase_if(listing.objects,
                [&](const store::Object& object) { return !input::Matches(options.selector, object.metadata.labels); });
  if (!options.all_namespaces) {
    std::erase_if(listing.objects,
                  [&](const store::Object& object) { return object.metadata.namespace_ != options.namespace_; });
    std::erase_if(listing.unreadable,
                  [&](const store::Unreadable& object) { return object.key.namespace_ != options.namespace_; });
  }
  return listing;
}

std::vector<std::string> KindsOf(const std::vector<input::Target>& targets) {
  if (targets.empty()) return {api::kModelKind, api::kServingFleetKind};
  std::vector<std::string> kinds;
  for (const input::Target& target : targets) {
    if (std::ranges::find(kinds, target.kind) == kinds.end()) kinds.push_back(target.kind);
  }
  return kinds;
}

Result<Selected> SelectTargets(const Options& options, store::Store& store) {
  std::vector<input::Target> targets = options.targets;
  if (targets.empty()) targets = {{api::kModelKind, ""}, {api::kServingFleetKind, ""}};
  Selected selected;
  for (const input::Target& target : targets) {
    Options one = options;
    one.name = target.name;
    Result<store::Listing> listing = Select(one, target.kind, store);
    if (!listing && listing.error().code != Code::kNotFound) return tl::make_unexpected(listing.error());
    if (listing) {
      Append(*listing, selected.listing);
    } else if (!options.ignore_not_found) {
      selected.missing.push_back(listing.error());
    }
  }
  return selected;
}

Status CheckFound(const std::vector<Error>& missing) {
  if (missing.empty()) return {};
  std::string all;
  for (const Error& error : missing) all += (all.empty() ? "" : "\n") + error.message;
  return NotFound("{}", all);
}

Status CheckReadable(const store::Listing& listing) {
  if (listing.unreadable.empty()) return {};
  std::string all;
  for (const store::Unreadable& object : listing.unreadable) {
    all += fmt::format("{}{}: {}", all.empty() ? "" : "\n", ToString(object.key), object.why);
  }
  return DataLoss("some objects cannot be read:\n{}", all);
}

}  // namespace longshore::cli

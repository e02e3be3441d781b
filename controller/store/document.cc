#include "controller/store/document.h"

#include <algorithm>
#include <map>

#include "controller/api/format.h"
#include "controller/api/parse.h"

namespace longshore::store {
namespace {

constexpr size_t kNameMax = 253;

using Texts = std::map<std::string, std::string>;

api::Metadata MetadataFromJson(const Json& json) {
  api::Metadata metadata;
  metadata.name = json.at("name").get<std::string>();
  metadata.namespace_ = json.value("namespace", metadata.namespace_);
  metadata.uid = json.value("uid", "");
  metadata.generation = json.value("generation", int64_t{0});
  metadata.resource_version = json.value("resourceVersion", "");
  metadata.labels = json.value("labels", Texts{});
  metadata.annotations = json.value("annotations", Texts{});
  return metadata;
}

Json MetadataToJson(const api::Metadata& metadata) {
  Json json = {{"name", metadata.name},
               {"namespace", metadata.namespace_},
               {"uid", metadata.uid},
               {"generation", metadata.generation},
               {"resourceVersion", metadata.resource_version}};
  if (!metadata.labels.empty()) json["labels"] = metadata.labels;
  if (!metadata.annotations.empty()) json["annotations"] = metadata.annotations;
  return json;
}

bool IsDnsName(const std::string& name) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > kNameMax || !alphanumeric(name.front()) || !alphanumeric(name.back())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) { return alphanumeric(c) || c == '-' || c == '.'; });
}

}  // namespace

api::Key KeyOf(const Object& object) { return {object.kind, object.metadata.namespace_, object.metadata.name}; }

Json ToDocument(const Object& object) {
  return {{"apiVersion", api::kApiVersion},
          {"kind", object.kind},
          {"metadata", MetadataToJson(object.metadata)},
          {"spec", object.spec},
          {"status", object.status}};
}

Result<Object> FromDocument(const Json& document) {
  try {
    Object object;
    object.kind = document.at("kind").get<std::string>();
    object.metadata = MetadataFromJson(document.at("metadata"));
    object.spec = document.at("spec");
    object.status = document.value("status", Json());
    return object;
  } catch (const Json::exception& error) {  // A field is missing or has the wrong type.
    return InvalidArgument("not an object of {}: {}", api::kApiVersion, error.what());
  }
}

std::vector<api::ServingFleet> FleetsOf(const Listing& listing) {
  std::vector<api::ServingFleet> fleets;
  for (const Object& object : listing.objects) {
    if (auto fleet = ToFleet(object)) fleets.push_back(std::move(*fleet));
  }
  return fleets;
}

std::map<api::Key, api::ObservedFleet> FleetsToObserve(const Listing& listing) {
  std::map<api::Key, api::ObservedFleet> observed;
  for (const Unreadable& one : listing.unreadable) {
    if (one.key.kind == api::kServingFleetKind) observed[one.key] = {};
  }
  for (const Object& object : listing.objects) {
    if (object.kind != api::kServingFleetKind) continue;
    const auto fleet = ToFleet(object);
    observed[KeyOf(object)] = fleet ? api::ToObserve(*fleet) : api::ObservedFleet{};
  }
  return observed;
}

Object WithDefaults(Object object) {
  if (object.kind == api::kModelKind) {
    if (const auto spec = api::ModelSpecFromJson(object.spec, object.metadata.name)) object.spec = api::ToJson(*spec);
  } else if (const auto spec = api::ServingFleetSpecFromJson(object.spec)) {
    object.spec = api::ToJson(*spec);
  }
  return object;
}

Status CheckKey(const api::Key& key) {
  if (key.kind != api::kModelKind && key.kind != api::kServingFleetKind) {
    return InvalidArgument("kind \"{}\" is not {} or {}", key.kind, api::kModelKind, api::kServingFleetKind);
  }
  for (const std::string& name : {key.namespace_, key.name}) {
    if (IsDnsName(name)) continue;
    return InvalidArgument("\"{}\" is not a valid name: use at most {} characters of a-z, 0-9, \"-\" and \".\"", name,
                           kNameMax);
  }
  return {};
}

Result<api::Model> ToModel(const Object& object) {
  api::Model model{.metadata = object.metadata, .spec = {}, .status = {}};
  ASSIGN_OR_RETURN(model.spec, api::ModelSpecFromJson(object.spec, object.metadata.name));
  ASSIGN_OR_RETURN(model.status, api::ModelStatusFromJson(object.status));
  return model;
}

Result<api::ServingFleet> ToFleet(const Object& object) {
  api::ServingFleet fleet{.metadata = object.metadata, .spec = {}, .status = {}};
  ASSIGN_OR_RETURN(fleet.spec, api::ServingFleetSpecFromJson(object.spec));
  ASSIGN_OR_RETURN(fleet.status, api::ServingFleetStatusFromJson(object.status));
  return fleet;
}

}  // namespace longshore::store

#include "controller/cli/doctor/observe/stored.h"

#include "controller/cli/doctor/objects.h"
#include "controller/store/document.h"

namespace longshore::cli::doctor::observe {
namespace {

void Add(const store::Object& object, Stored& stored) {
  const auto add = [&](auto parsed, auto& list) {
    if (parsed) {
      list.push_back(std::move(*parsed));
    } else {
      stored.problems.push_back(CheckUnreadable(store::KeyOf(object), parsed.error().message));
    }
  };
  if (object.kind == api::kModelKind) {
    add(store::ToModel(object), stored.models);
  } else {
    add(store::ToFleet(object), stored.fleets);
  }
}

}  // namespace

Stored ReadStored(store::Store& store, const std::string& namespace_) {
  Stored stored;
  // The fleets are listed after the Models, whose statuses cannot know a newer fleet then.
  for (const char* kind : {api::kModelKind, api::kServingFleetKind}) {
    const auto listing = store.List(kind);
    if (!listing) {
      stored.problems.push_back(CheckUnlisted(kind, listing.error()));
      continue;
    }
    if (kind == api::kServingFleetKind) stored.to_observe = store::FleetsToObserve(*listing);
    for (const store::Object& object : listing->objects) {
      if (object.metadata.namespace_ == namespace_) Add(object, stored);
    }
    for (const store::Unreadable& one : listing->unreadable) {
      if (one.key.namespace_ == namespace_) stored.problems.push_back(CheckUnreadable(one.key, one.why));
    }
  }
  return stored;
}

}  // namespace longshore::cli::doctor::observe

// Converts objects to and from JSON documents in the form of the Kubernetes API. Stores keep and users see this form.
#pragma once

#include <map>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/store/store.h"

namespace longshore::store {

api::Key KeyOf(const Object& object);

// Returns {apiVersion, kind, metadata{name, namespace, uid, generation, resourceVersion, labels, annotations}, spec,
// status}.
Json ToDocument(const Object& object);

// Returns InvalidArgument, which names the field, if a field is missing or has the wrong type.
Result<Object> FromDocument(const Json& document);

// These functions parse the spec and the status. Their errors are those of api/parse.h and name the field.
Result<api::Model> ToModel(const Object& object);
Result<api::ServingFleet> ToFleet(const Object& object);

// Returns the objects of the listing that are valid fleets.
std::vector<api::ServingFleet> FleetsOf(const Listing& listing);

// Returns the fleets of the listing as the status of each of their Models must have observed them; a fleet that cannot
// be read is there without uid.
std::map<api::Key, api::ObservedFleet> FleetsToObserve(const Listing& listing);

// Returns the object with its spec as this release writes it: with the default of each field that it leaves out, and
// with one form of each value ("10m" and "600s" are the same). Returns it unchanged if its spec is not valid.
Object WithDefaults(Object object);

// Returns InvalidArgument unless the kind is known, and the namespace and the name are DNS names (RFC 1123, at most 253
// characters, lower case), which are also safe as file names.
Status CheckKey(const api::Key& key);

}  // namespace longshore::store

// Objects as the JSON documents that stores keep and people see: the form of the Kubernetes API.
#pragma once

#include "common/error.h"
#include "common/json/json.h"
#include "controller/store/store.h"

namespace longshore::store {

api::Key KeyOf(const Object& object);

// {apiVersion, kind, metadata{name, namespace, uid, generation, resourceVersion, labels, annotations}, spec, status}.
Json ToDocument(const Object& object);

// InvalidArgument naming the field that is missing or of another type.
Result<Object> FromDocument(const Json& document);

// As values. Errors as api/parse's, naming the field.
Result<api::Model> ToModel(const Object& object);
Result<api::ServingFleet> ToFleet(const Object& object);

// InvalidArgument unless the namespace and the name are DNS names (RFC 1123, at most 253 characters, lower case), which
// makes them safe as names of files too.
Status CheckKey(const api::Key& key);

}  // namespace longshore::store

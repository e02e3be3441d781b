// The interface to the stored objects of Longshore's kinds.
//
// There are two implementations, and one contract test for both (store_contract_test.h): LocalStore uses a directory,
// KubeStore uses the Kubernetes API. Objects are JSON documents {apiVersion, kind, metadata, spec, status}; api/ parses
// them into values.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::store {

struct Object {
  api::Metadata metadata;
  std::string kind;
  Json spec;
  Json status;
};

// An object that exists but cannot be read.
struct Unreadable {
  api::Key key;
  std::string why;  // Names the place, for example a file.
};

struct Listing {
  std::vector<Object> objects;  // Ordered by namespace and name.
  std::vector<Unreadable> unreadable;
};

// Called with the key of an object that may have changed; after a new list, also with keys of unchanged objects.
using OnChange = std::function<void(const api::Key& key)>;

// Its destructor stops the watch.
class Watch {
 public:
  virtual ~Watch() = default;
};

// Thread-safe. Every method may fail with Unavailable. A write that failed with Unavailable may nevertheless have been
// executed.
class Store {
 public:
  virtual ~Store() = default;

  // Returns NotFound if the object does not exist, and DataLoss if it cannot be read.
  virtual Result<Object> Get(const api::Key& key) = 0;

  // Returns the keys of all objects of a kind in order, including unreadable ones. Together with Get, this lists
  // objects with little memory.
  virtual Result<std::vector<api::Key>> Keys(const std::string& kind) = 0;

  // Returns all objects of a kind; unreadable objects do not hide the others.
  virtual Result<Listing> List(const std::string& kind) = 0;

  // Creates the object or replaces its spec, labels and annotations; the store sets uid, generation and resource
  // version. Writes nothing if these fields equal the stored ones. Does not change the status.
  virtual Result<Object> Apply(const Object& object) = 0;

  // Returns what Apply would store now, or its error, and writes nothing. The generation is the only field set by the
  // store that is valid in the result.
  virtual Result<Object> DryApply(const Object& object) = 0;

  // Replaces the status. Returns Aborted if `resource_version` is not the stored one, and NotFound if no object with
  // this key and uid exists.
  virtual Result<Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                                   const Json& status) = 0;

  // Replaces these fields of the status, and leaves all others as they are, also those that this release does not know.
  // A null removes the field; other values must not be objects. Errors as for PutStatus.
  virtual Result<Object> PatchStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                                     const Json& fields) = 0;

  // Returns Aborted if the stored uid differs, so that a new object of the same name is not deleted by mistake.
  virtual Status Delete(const api::Key& key, const std::string& uid) = 0;

  // Calls `on_change` for every existing object and for every later change, on a thread of the store.
  virtual Result<std::unique_ptr<Watch>> WatchAll(OnChange on_change) = 0;
};

}  // namespace longshore::store

// The seam for cluster state: the objects of our own kinds, wherever they live.
//
// Two homes, one contract test (store_contract_test.h): LocalStore, a directory; later KubeStore, the Kubernetes API.
// Objects travel as JSON documents {apiVersion, kind, metadata, spec, status}; api/ turns them into values.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::store {

struct Object {
  api::Metadata metadata;
  std::string kind;
  Json spec;
  Json status;
};

// An object that is there and cannot be read.
struct Unreadable {
  api::Key key;
  std::string why;  // Names the place, a file for example.
};

struct Listing {
  std::vector<Object> objects;  // Ordered by namespace and name.
  std::vector<Unreadable> unreadable;
};

// What changed. A relist may repeat what is known: receivers are level-based and only take the key.
using OnChange = std::function<void(const api::Key& key)>;

// Stops the watch when it goes.
class Watch {
 public:
  virtual ~Watch() = default;
};

// Thread-safe. Every method may fail with Unavailable, and a write that failed so may have happened all the same.
class Store {
 public:
  virtual ~Store() = default;

  // NotFound when it is not there; DataLoss when it cannot be read.
  virtual Result<Object> Get(const api::Key& key) = 0;

  // Of all objects of a kind, those that cannot be read too, in order. With Get it is a list that needs little memory.
  virtual Result<std::vector<api::Key>> Keys(const std::string& kind) = 0;

  // All objects of a kind. One that cannot be read hides no other.
  virtual Result<Listing> List(const std::string& kind) = 0;

  // Creates the object or replaces its spec, labels and annotations; gives uid, generation and resource version.
  // A spec equal to the stored one writes nothing. The status is not touched.
  virtual Result<Object> Apply(const Object& object) = 0;

  // What Apply would store now, with every refusal of its; nothing is written. Of what the store gives only the
  // generation is to be relied on.
  virtual Result<Object> DryApply(const Object& object) = 0;

  // Replaces the status. Aborted when resource_version is not the stored one; NotFound when the object or the uid is
  // gone.
  virtual Result<Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                                   const Json& status) = 0;

  // Aborted when the stored uid is another: a new object of the same name is never deleted for the old one.
  virtual Status Delete(const api::Key& key, const std::string& uid) = 0;

  // Calls on_change for every object there is and for every change after that, on a thread of the store's.
  virtual Result<std::unique_ptr<Watch>> WatchAll(OnChange on_change) = 0;
};

}  // namespace longshore::store

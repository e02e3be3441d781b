// A store that forwards all calls to another store: the base class of wrappers, which override only what they change.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/store/store.h"

namespace longshore::store {

class ForwardingStore : public Store {
 public:
  // `store` must outlive this object.
  explicit ForwardingStore(Store& store) : store_(store) {}

  Result<Object> Get(const api::Key& key) override { return store_.Get(key); }
  Result<std::vector<api::Key>> Keys(const std::string& kind) override { return store_.Keys(kind); }
  Result<Listing> List(const std::string& kind) override { return store_.List(kind); }
  Result<Object> Apply(const Object& object) override { return store_.Apply(object); }
  Result<Object> DryApply(const Object& object) override { return store_.DryApply(object); }
  Result<Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                           const Json& status) override {
    return store_.PutStatus(key, uid, resource_version, status);
  }
  Result<Object> PatchStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                             const Json& fields) override {
    return store_.PatchStatus(key, uid, resource_version, fields);
  }
  Status Delete(const api::Key& key, const std::string& uid) override { return store_.Delete(key, uid); }
  Result<std::unique_ptr<Watch>> WatchAll(OnChange on_change) override { return store_.WatchAll(std::move(on_change)); }

 private:
  Store& store_;
};

}  // namespace longshore::store

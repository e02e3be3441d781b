#include "controller/runtime/fence.h"

#include <utility>

namespace longshore::runtime {
namespace {

Status Check(const MayWrite& may_write) {
  if (may_write()) return {};
  return FailedPrecondition("this controller leads no more");
}

class FencedStore final : public store::Store {
 public:
  FencedStore(store::Store& store, MayWrite may_write) : store_(store), may_write_(std::move(may_write)) {}

  Result<store::Object> Get(const api::Key& key) override { return store_.Get(key); }
  Result<store::Listing> List(const std::string& kind) override { return store_.List(kind); }
  Result<std::unique_ptr<store::Watch>> WatchAll(store::OnChange on_change) override {
    return store_.WatchAll(std::move(on_change));
  }
  Result<store::Object> DryApply(const store::Object& object) override { return store_.DryApply(object); }
  Result<store::Object> Apply(const store::Object& object) override {
    RETURN_IF_ERROR(Check(may_write_));
    return store_.Apply(object);
  }
  Result<store::Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                                  const Json& status) override {
    RETURN_IF_ERROR(Check(may_write_));
    return store_.PutStatus(key, uid, resource_version, status);
  }
  Status Delete(const api::Key& key, const std::string& uid) override {
    RETURN_IF_ERROR(Check(may_write_));
    return store_.Delete(key, uid);
  }

 private:
  store::Store& store_;
  const MayWrite may_write_;
};

class FencedFleet final : public fleet::Fleet {
 public:
  FencedFleet(fleet::Fleet& fleet, MayWrite may_write) : fleet_(fleet), may_write_(std::move(may_write)) {}

  Result<fleet::Addresses> Ensure(const api::ServingFleet& fleet) override {
    RETURN_IF_ERROR(Check(may_write_));
    return fleet_.Ensure(fleet);
  }
  Status Scale(const std::string& fleet, int nodes, const std::vector<std::string>& leave_first) override {
    RETURN_IF_ERROR(Check(may_write_));
    return fleet_.Scale(fleet, nodes, leave_first);
  }
  Status Remove(const std::string& fleet) override {
    RETURN_IF_ERROR(Check(may_write_));
    return fleet_.Remove(fleet);
  }
  std::vector<fleet::NodeInfo> Nodes(const std::string& fleet) const override { return fleet_.Nodes(fleet); }
  std::vector<std::string> Fleets() const override { return fleet_.Fleets(); }

 private:
  fleet::Fleet& fleet_;
  const MayWrite may_write_;
};

}  // namespace

std::unique_ptr<store::Store> WithFence(store::Store& store, MayWrite may_write) {
  return std::make_unique<FencedStore>(store, std::move(may_write));
}

std::unique_ptr<fleet::Fleet> WithFence(fleet::Fleet& fleet, MayWrite may_write) {
  return std::make_unique<FencedFleet>(fleet, std::move(may_write));
}

}  // namespace longshore::runtime

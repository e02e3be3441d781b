// The store that keeps objects in a Kubernetes cluster, through its API server.
//
// Without a watch every read is a request; the command line uses it in this way. With a watch, reads use a cache, which
// list and watch keep up to date and which contains the store's own writes immediately.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "controller/kube/api.h"
#include "controller/kube/cache.h"
#include "controller/kube/reflector.h"
#include "controller/store/store.h"

namespace longshore::store::kube {

struct KubeStoreOptions {
  std::vector<std::string> namespaces{};  // Namespaces to list and watch; empty: all.
  longshore::kube::ApiOptions api{};
  // Limit of the time that WatchAll waits for the first list of every collection.
  std::chrono::milliseconds first_list_max{30'000};
  // Whether WatchAll fails as soon as the server refuses a list because a right is missing. A controller waits instead,
  // because its rights may be granted only after its start.
  bool fails_if_forbidden = false;
};

class KubeStore final : public Store {
 public:
  static Result<std::unique_ptr<KubeStore>> Open(const longshore::kube::Cluster& cluster,
                                                 const KubeStoreOptions& options, const MonotonicClock& clock);
  ~KubeStore() override;

  Result<Object> Get(const api::Key& key) override;
  Result<std::vector<api::Key>> Keys(const std::string& kind) override;
  Result<Listing> List(const std::string& kind) override;
  // Uses server-side apply as the field manager "longshore"; fields of the spec that other managers own are kept.
  Result<Object> Apply(const Object& object) override;
  // Uses the dry run of the API server, which applies its defaults, validation rules and admission control.
  Result<Object> DryApply(const Object& object) override;
  Result<Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                           const Json& status) override;
  // Returns InvalidArgument if the kind of the cluster does not have a field.
  Result<Object> PatchStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                             const Json& fields) override;
  Status Delete(const api::Key& key, const std::string& uid) override;
  // There can be only one watch at a time. Waits until every collection has been listed once. If that fails, returns
  // Unavailable, which names the collection that could not be listed and the reason.
  Result<std::unique_ptr<Watch>> WatchAll(OnChange on_change) override;

  // Returns the number of lists that were started, summed over all collections.
  int64_t lists() const;
  // For each collection, takes the time since the API server last answered for it; returns the longest of these times.
  Duration staleness() const;

 private:
  struct Mirrored;  // A watched collection.
  class WatchGuard;

  KubeStore(const KubeStoreOptions& options, const MonotonicClock& clock) : options_(options), clock_(clock) {}
  std::shared_ptr<Mirrored> MirrorOf(const api::Key& key) const;
  std::vector<std::shared_ptr<Mirrored>> MirrorsOf(const std::string& kind) const;
  enum class Mode { kWrite, kDryRun };
  Result<std::string> SendApply(const Object& object, Mode mode);
  Result<Object> Written(const std::string& answer);
  Result<Object> WriteStatus(const api::Key& key, const std::string& uid, const longshore::kube::Call& call);
  Result<Listing> ListDirectly(const std::string& kind);

  const KubeStoreOptions options_;
  const MonotonicClock& clock_;
  longshore::kube::Cluster cluster_;
  std::unique_ptr<longshore::kube::Api> api_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Mirrored>> mirrored_;  // Guarded by the mutex. Empty without a watch.
};

}  // namespace longshore::store::kube

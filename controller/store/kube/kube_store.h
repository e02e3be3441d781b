// The store whose home is a Kubernetes cluster: objects of our kinds by the API server.
//
// Without a watch every read is a request: that is how the command line uses it. With one, reads are answered by a
// cache that list and watch keep, and that has our own writes at once.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/kube/api.h"
#include "controller/kube/cache.h"
#include "controller/kube/reflector.h"
#include "controller/store/store.h"

namespace longshore::store {

struct KubeStoreOptions {
  std::vector<std::string> namespaces{};  // Listed and watched; empty: all.
  kube::ApiOptions api{};
  // For the first list of every collection. After that the store waits for nothing.
  std::chrono::milliseconds first_list_max{30'000};
};

class KubeStore final : public Store {
 public:
  static Result<std::unique_ptr<KubeStore>> Open(const kube::Cluster& cluster, const KubeStoreOptions& options,
                                                 const MonotonicClock& clock);
  ~KubeStore() override;

  Result<Object> Get(const api::Key& key) override;
  Result<std::vector<api::Key>> Keys(const std::string& kind) override;
  Result<Listing> List(const std::string& kind) override;
  // Server-side apply, as the manager "longshore"; what others own of the spec stays theirs.
  Result<Object> Apply(const Object& object) override;
  // The server's own dry run: its defaults, rules and admission.
  Result<Object> DryApply(const Object& object) override;
  Result<Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                           const Json& status) override;
  Status Delete(const api::Key& key, const std::string& uid) override;
  // One at a time. Returns when every collection has been listed once; Unavailable naming what kept it from being.
  Result<std::unique_ptr<Watch>> WatchAll(OnChange on_change) override;

  // Of all collections: lists begun, and how long nothing was heard of the quietest.
  int64_t lists() const;
  Duration staleness() const;

 private:
  struct Mirrored;  // A collection that is watched.
  class WatchGuard;

  KubeStore(const KubeStoreOptions& options, const MonotonicClock& clock) : options_(options), clock_(clock) {}
  std::shared_ptr<Mirrored> MirrorOf(const api::Key& key) const;
  std::vector<std::shared_ptr<Mirrored>> MirrorsOf(const std::string& kind) const;
  enum class Mode { kWrite, kDryRun };
  Result<std::string> SendApply(const Object& object, Mode mode);
  Result<Object> Written(const std::string& answer);
  Result<Listing> ListDirectly(const std::string& kind);

  const KubeStoreOptions options_;
  const MonotonicClock& clock_;
  kube::Cluster cluster_;
  std::unique_ptr<kube::Api> api_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Mirrored>> mirrored_;  // Guarded by the mutex. Empty without a watch.
};

}  // namespace longshore::store

// Finds out that the kinds (CRDs) of the cluster are older than this program. The API server then drops the fields of a
// status that it does not know, without an error.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "controller/store/forwarding_store.h"

namespace longshore::store::kube {

// Thread-safe.
class OldKinds final : public ForwardingStore {
 public:
  // How long a status whose fields were dropped is not written again.
  static constexpr Duration kPause = std::chrono::minutes(1);

  // Both must outlive this object.
  OldKinds(Store& store, const MonotonicClock& clock) : ForwardingStore(store), clock_(clock) {}

  // Notices that an object was deleted.
  Result<Object> Get(const api::Key& key) override;

  // Logs once which fields were dropped. Without them, the stored status differs from the wanted one at each
  // reconciliation: so a status that was written already is not written again during kPause, unless the object has
  // changed meanwhile.
  Result<Object> PutStatus(const api::Key& key, const std::string& uid, const std::string& resource_version,
                           const Json& status) override;

  // Returns what to do about dropped fields; "" if none were dropped by the newest write of any object.
  std::string problem() const;

 private:
  struct Written {
    std::string resource_version;  // After the write.
    std::string status;            // As it was wanted.
    std::set<std::string> dropped;
    MonotonicPoint at;
  };
  void Note(const api::Key& key, const Json& wanted, const Object& stored);
  void Forget(const api::Key& key);
  std::string MessageLocked() const;

  const MonotonicClock& clock_;
  mutable std::mutex mutex_;
  std::map<api::Key, Written> written_;  // Only objects whose fields were dropped. Guarded by the mutex.
  bool is_logged_ = false;               // Guarded by the mutex.
};

}  // namespace longshore::store::kube

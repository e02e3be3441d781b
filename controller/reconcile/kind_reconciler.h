// The interface of the reconcilers. Each of them reconciles the objects of one kind.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/api/types.h"

namespace longshore::reconcile {

// The time after which to reconcile again if nothing changes; nullopt if this is not needed. After an error, the caller
// reconciles again soon.
using Outcome = Result<std::optional<Duration>>;

struct StatusWrite {
  api::Key key;
  std::string uid;
  std::string resource_version;
  Json status;
};

// A reconciliation in progress: the status to write, and what to do after the write.
struct Reconciliation {
  std::optional<StatusWrite> write;
  // Call it exactly once with the result of the write, or with OK if there is nothing to write.
  std::function<Outcome(const Status& written)> finish;
};

class KindReconciler {
 public:
  virtual ~KindReconciler() = default;

  // Reads the existing objects of this kind, if they must be known before an object of any kind is reconciled. Called
  // before each reconciliation; does nothing once it has succeeded.
  virtual void Learn() {}

  // Moves the actual state one step towards the spec of the object, as far as this is possible before its status is
  // written. The key has the kind of this reconciler; the object may be deleted.
  virtual Result<Reconciliation> Begin(const api::Key& key) = 0;
};

}  // namespace longshore::reconcile

// Reconciles one object at a time: observe, compute, apply. Each kind has a reconciler of its own (kind_reconciler.h).
//
// Level-based: each reconciliation starts from the current state of the store, the fleet and the nodes. It does not
// depend on which change triggered it, or on whether an earlier reconciliation was interrupted.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "controller/reconcile/kind_reconciler.h"
#include "controller/reconcile/shared.h"

namespace longshore::reconcile {

// All members except Write must be called from one thread.
//
// The cost depends on the size of the change, not on the size of the fleet: reconciling a Model reads the nodes that
// report it and the nodes that receive its state; reconciling a fleet reads the nodes with new reports and schedules
// the Models that these reports affect.
class Reconciler {
 public:
  Reconciler(Deps deps, Options options);

  // Moves the actual state one step towards the spec of the object.
  Outcome Reconcile(const api::Key& key);

  // The same in three calls, so that status writes of several objects can be in progress at once: Begin, then Write if
  // there is something to write, then finish. Reconciliations of other objects may happen in between, but not of the
  // same object. Begin returns InvalidArgument for a kind without a reconciler.
  Result<Reconciliation> Begin(const api::Key& key);
  Status Write(const StatusWrite& write) const;  // May be called on any thread.

 private:
  Shared shared_;
  std::map<std::string, std::unique_ptr<KindReconciler>> of_kind_;
};

}  // namespace longshore::reconcile

#include "controller/reconcile/reconciler.h"

#include <utility>

#include "controller/reconcile/fleet_reconciler.h"
#include "controller/reconcile/model_reconciler.h"

namespace longshore::reconcile {

Reconciler::Reconciler(Deps deps, Options options) : shared_(std::move(deps), std::move(options)) {
  of_kind_[std::string(api::kModelKind)] = std::make_unique<ModelReconciler>(shared_);
  of_kind_[std::string(api::kServingFleetKind)] = std::make_unique<FleetReconciler>(shared_);
}

Outcome Reconciler::Reconcile(const api::Key& key) {
  ASSIGN_OR_RETURN(const Reconciliation reconciliation, Begin(key));
  return reconciliation.finish(reconciliation.write ? Write(*reconciliation.write) : Status());
}

Result<Reconciliation> Reconciler::Begin(const api::Key& key) {
  const auto found = of_kind_.find(key.kind);
  if (found == of_kind_.end()) return InvalidArgument("{}: no reconciler handles this kind", ToString(key));
  for (const auto& [_, reconciler] : of_kind_) reconciler->Learn();
  return found->second->Begin(key);
}

Status Reconciler::Write(const StatusWrite& write) const {
  RETURN_IF_ERROR(shared_.deps.store.PutStatus(write.key, write.uid, write.resource_version, write.status));
  return {};
}

}  // namespace longshore::reconcile

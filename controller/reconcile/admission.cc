#include "controller/reconcile/admission.h"

#include <algorithm>

#include "common/base/error.h"

namespace longshore::reconcile {
namespace {

// Returns how many of the `others` get a place in a quota before `model` does.
int CountBefore(const Applicant& model, const std::vector<Applicant>& others, bool of_its_namespace) {
  return static_cast<int>(std::ranges::count_if(others, [&](const Applicant& other) {
    if (of_its_namespace && other.key.namespace_ != model.key.namespace_) return false;
    return other.serves || other.key < model.key;
  }));
}

}  // namespace

std::optional<Refusal> RefusalOf(const api::ServingFleet& fleet, const Applicant& model,
                                 const std::vector<Applicant>& others) {
  const std::string name = fleet.metadata.namespace_ + "/" + fleet.metadata.name;
  if (!Allows(fleet, model.key.namespace_)) {
    return Refusal{"NamespaceNotAllowed",
                   fmt::format("fleet {} does not serve Models of namespace {}: see its spec.allowedNamespaces", name,
                               model.key.namespace_)};
  }
  if (model.serves) return std::nullopt;
  const api::Quotas& quotas = fleet.spec.quotas;
  if (quotas.models_max && CountBefore(model, others, false) >= *quotas.models_max) {
    return Refusal{"AboveQuota", fmt::format("fleet {} already has {} Models, the limit in its spec.quotas.modelsMax",
                                             name, *quotas.models_max)};
  }
  const auto& each_max = quotas.models_per_namespace_max;
  if (each_max && CountBefore(model, others, true) >= *each_max) {
    return Refusal{"AboveQuota", fmt::format("fleet {} already has {} Models of namespace {}, the limit in its "
                                             "spec.quotas.perNamespace.modelsMax",
                                             name, *each_max, model.key.namespace_)};
  }
  return std::nullopt;
}

}  // namespace longshore::reconcile

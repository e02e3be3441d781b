#include "controller/reconcile/admission.h"

#include <gtest/gtest.h>

namespace longshore::reconcile {
namespace {

api::ServingFleet Fleet(api::AllowedNamespaces allowed, api::Quotas quotas = {}) {
  api::ServingFleet fleet;
  fleet.metadata.name = "gpu";
  fleet.metadata.namespace_ = "shared";
  fleet.spec.allowed_namespaces = std::move(allowed);
  fleet.spec.quotas = quotas;
  return fleet;
}

Applicant Of(const std::string& namespace_, const std::string& name, bool serves = false) {
  return {{api::kModelKind, namespace_, name}, serves};
}

// Returns the reason of the refusal, or "taken" if the fleet accepts the Model.
std::string Answer(const api::ServingFleet& fleet, const Applicant& model, const std::vector<Applicant>& others = {}) {
  const auto refusal = RefusalOf(fleet, model, others);
  return refusal ? refusal->reason : "taken";
}

TEST(Admission, FleetServesItsOwnAndAllowedNamespaces) {
  const std::string no = "NamespaceNotAllowed";
  EXPECT_EQ(Answer(Fleet({}), Of("shared", "m")), "taken");
  EXPECT_EQ(Answer(Fleet({}), Of("a", "m")), no);
  EXPECT_EQ(Answer(Fleet({.all = false, .names = {"a"}}), Of("a", "m")), "taken");
  EXPECT_EQ(Answer(Fleet({.all = false, .names = {"a"}}), Of("shared", "m")), "taken");
  EXPECT_EQ(Answer(Fleet({.all = false, .names = {"a"}}), Of("b", "m")), no);
  EXPECT_EQ(Answer(Fleet({.all = true, .names = {}}), Of("b", "m")), "taken");
  EXPECT_EQ(Answer(Fleet({}), Of("a", "m", true)), no) << "also a Model that serves is refused";
}

TEST(Admission, QuotaPrefersServingModelsThenOrderOfKeys) {
  const api::ServingFleet fleet = Fleet({}, {.models_max = 2, .models_per_namespace_max = {}});
  EXPECT_EQ(Answer(fleet, Of("shared", "b"), {Of("shared", "a")}), "taken");
  EXPECT_EQ(Answer(fleet, Of("shared", "c"), {Of("shared", "a"), Of("shared", "b")}), "AboveQuota");
  EXPECT_EQ(Answer(fleet, Of("shared", "b"), {Of("shared", "a"), Of("shared", "c")}), "taken");
  EXPECT_EQ(Answer(fleet, Of("shared", "b"), {Of("shared", "a"), Of("shared", "c", true)}), "AboveQuota");
  EXPECT_EQ(Answer(fleet, Of("shared", "z", true), {Of("shared", "a"), Of("shared", "b")}), "taken");
}

TEST(Admission, QuotaPerNamespaceCountsOnlyThatNamespace) {
  const api::ServingFleet fleet = Fleet({.all = true, .names = {}}, {.models_max = {}, .models_per_namespace_max = 1});
  EXPECT_EQ(Answer(fleet, Of("b", "m"), {Of("a", "m")}), "taken");
  EXPECT_EQ(Answer(fleet, Of("b", "m"), {Of("b", "l")}), "AboveQuota");
  EXPECT_NE(RefusalOf(fleet, Of("b", "m"), {Of("b", "l")})->message.find("of namespace b, the limit"),
            std::string::npos);
}

}  // namespace
}  // namespace longshore::reconcile

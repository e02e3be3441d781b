// Reconciles Models: observes what the nodes report of a Model, makes a decision, sends it to the nodes and writes the
// status of the Model.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/decide/plan/plan.h"
#include "controller/decide/rollout/rollout.h"
#include "controller/reconcile/admission.h"
#include "controller/reconcile/kind_reconciler.h"
#include "controller/reconcile/shared.h"

namespace longshore::reconcile {

class ModelReconciler final : public KindReconciler {
 public:
  explicit ModelReconciler(Shared& shared) : shared_(shared) {}

  // All Models must be known before a node gets a snapshot: a node unloads a Model that its snapshot lacks.
  void Learn() override;
  Result<Reconciliation> Begin(const api::Key& key) override;

 private:
  Result<api::Model> ReadModel(const store::Object& object) const;
  void RestoreNewFields(api::Model& model) const;
  void NoteNewFields(const api::Model& model, const api::ModelStatus& status);
  traffic::Counted CountRequests(const ModelMemory& memory) const;
  Duration RecordTraffic(ModelMemory& memory, api::ModelStatus& status) const;
  void NoteReadable(const api::Key& key, const Result<api::Model>& model);
  ModelMemory& MemoryOf(const api::Model& model, bool refused);
  static void NoteModel(const api::Model& model, ModelMemory& memory);
  Reconciliation Apply(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed);
  Duration MayWaitFor(const api::Model& model, const rollout::Decision& decision) const;
  Reconciliation DeferWrite(const api::Model& model, const rollout::Decision& decision,
                            const rollout::Observed& observed, Duration at_most);
  Outcome FinishModel(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed,
                      const Status& written);
  void TakeEvidence(const api::Model& model, const rollout::Decision& decision, const rollout::Observed& observed);
  void Remember(const api::Key& key, const api::Model& model, const rollout::Placement& placement);
  void RemoveModel(const api::Key& key);
  std::string ConflictOf(const api::Key& key, const ModelMemory& memory) const;
  Result<std::optional<Refusal>> RefusalByFleet(const api::Model& model, const std::string& fleet);
  std::string WhyNoFleet(const std::string& fleet) const;
  rollout::Observed Observe(const api::Model& model, const ModelMemory& memory) const;
  void ObserveNode(const ModelMemory& memory, const std::string& name, const FleetBook::ModelReports& in_book,
                   rollout::Observed& observed) const;
  std::vector<api::Sentence> UntoldNodes(const api::Model& model, const ModelMemory& memory,
                                         const rollout::Observed& observed) const;
  void Send(const api::Key& key, const plan::SendModel& send, const std::string& fleet);
  std::vector<plan::NodeHolds> HoldsOf(const ModelMemory& memory, const std::set<std::string>& recipients) const;
  void ReportProblems(const api::Model& model, const std::string& conflict, const std::optional<Refusal>& refusal,
                      api::ModelStatus& status);

  Shared& shared_;
};

}  // namespace longshore::reconcile

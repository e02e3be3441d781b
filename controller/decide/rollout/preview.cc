#include "controller/decide/rollout/preview.h"

#include <algorithm>

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

// The shortest and the longest wait after which Next looks for a change. The maximum is longer than any hold that a
// manifest may contain.
constexpr Duration kWaitMin = std::chrono::milliseconds(1);
constexpr Duration kWaitMax = std::chrono::hours(24 * 40);

bool Moved(const api::ModelStatus& before, const Decision& decision) {
  const api::RolloutStatus& from = before.rollout;
  const api::RolloutStatus& to = decision.status.rollout;
  return !decision.events.empty() || from.phase != to.phase || from.step_index != to.step_index ||
         from.weight_percent != to.weight_percent || before.stable_version != decision.status.stable_version;
}

// Evidence that proves every step: many requests and pairs with equal results for the candidate and stable.
analysis::WindowEvidence GoodWindow(const api::Rollout& policy) {
  constexpr int64_t kRequests = 1000000000;  // The largest requestsMin.
  api::ArmEvidence stable;
  stable.requests = kRequests;
  stable.run_times[0] = {kRequests};
  api::ArmEvidence candidate = stable;
  candidate.pairs.pairs = kRequests;
  candidate.pairs.ratio_buckets.resize(kRatioBucketOfOne + 1);
  candidate.pairs.ratio_buckets.back() = kRequests;
  if (policy.shadow) {
    for (const api::OutputRule& rule : policy.shadow->compare)
      candidate.pairs.outputs.push_back({.rule = analysis::TextOf(rule), .pairs = kRequests});
  }
  return {candidate, stable};
}

class Simulation {
 public:
  Simulation(api::Model model, const std::vector<std::string>& nodes, std::optional<int64_t> latest_version,
             TimePoint now)
      : model_(std::move(model)), now_(now) {
    seen_.latest_version = latest_version;
    for (const std::string& name : nodes) {
      seen_.nodes.push_back({name, false, {}});
      seen_.nodes.back().source = SourceSeen{model_.spec.source_sha256, SourceState::kReady, ""};
    }
    if (!nodes.empty()) seen_.windows[nodes.front()] = GoodWindow(model_.spec.rollout);
    seen_.stable_past = GoodWindow(model_.spec.rollout).stable;
    ApplyPlacement(PlacementNow(model_, seen_, now_));
  }

  const api::Model& model() const { return model_; }
  TimePoint now() const { return now_; }
  std::string NoRolloutReason() const { return WhyNoRollout(model_, seen_, now_); }

  // Advances the time to the next change and applies it; nullopt if nothing will change.
  std::optional<Decision> Next() {
    Duration moved{0};
    if (!MovesAfter(moved)) {
      Duration rested{0};
      for (moved = kWaitMin; !MovesAfter(moved); moved *= 2) {
        if (moved > kWaitMax) return std::nullopt;
        rested = moved;
      }
      while (moved - rested > kWaitMin) {
        const Duration middle = rested + (moved - rested) / 2;
        (MovesAfter(middle) ? moved : rested) = middle;
      }
    }
    now_ += moved;
    Decision decision = Decide(model_, seen_, now_);
    model_.status = decision.status;
    ApplyPlacement(decision.placement);
    return decision;
  }

  void Promote() {
    model_.status.command = api::Command{
        .verb = "promote", .generation = model_.metadata.generation, .step = model_.status.rollout.step_index};
  }

 private:
  bool MovesAfter(Duration wait) const { return Moved(model_.status, Decide(model_, seen_, now_ + wait)); }

  void ApplyPlacement(const Placement& placement) {
    for (NodeSeen& node : seen_.nodes) {
      node.versions.clear();
      for (const VersionPlacement& placed : placement.versions) {
        const bool here = std::ranges::find(placed.nodes, node.name) != placed.nodes.end();
        if (here) node.versions[placed.version].state = NodeState::kReady;
      }
    }
  }

  api::Model model_;
  Observed seen_;
  TimePoint now_;
};

int NodesOfCandidate(const Decision& decision) {
  for (const VersionPlacement& placed : decision.placement.versions) {
    if (placed.version == decision.status.rollout.candidate) return static_cast<int>(placed.nodes.size());
  }
  return 0;
}

// Whether the rollout waits for a person who promotes it, as the manifest says.
bool WaitsForPromote(const std::string& paused_reason) {
  return paused_reason == "Manual" || paused_reason == "ShadowPassed" || paused_reason == "Preview";
}

}  // namespace

Preview PredictRollout(api::Model model, const std::vector<std::string>& nodes, std::optional<int64_t> latest_version,
                       TimePoint now) {
  Simulation simulation(std::move(model), nodes, latest_version, now);
  Preview preview;
  preview.no_rollout_reason = simulation.NoRolloutReason();
  while (preview.no_rollout_reason.empty() && preview.moments.size() < kMomentsMax) {
    const std::optional<Decision> decision = simulation.Next();
    if (!decision) break;
    const api::RolloutStatus& rollout = decision->status.rollout;
    for (Event event : decision->events) {
      // The person of the simulation promotes at once, before the evidence of the step is used.
      if (event.reason == "PromotedWithoutProof") continue;
      // The verdict is that of the simulation.
      if (event.reason == "ShadowPassed") event.message = "the pairs have shown what the phase requires";
      preview.moments.push_back({simulation.now() - now, event, NodesOfCandidate(*decision)});
    }
    preview.stable = rollout.stable;
    preview.candidate = rollout.candidate;
    const bool awaits_promote = WaitsForPromote(rollout.paused_reason);
    preview.held = awaits_promote ? "" : rollout.paused_reason;
    if (awaits_promote) simulation.Promote();
    if (!api::IsUnderWay(rollout.phase) && !simulation.NoRolloutReason().empty()) break;
  }
  if (preview.stable != 0) preview.keep_warm = simulation.model().spec.rollout.keep_warm;
  return preview;
}

}  // namespace longshore::rollout

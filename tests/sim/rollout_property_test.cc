// Whatever happens in whatever order, some things stay true. Random histories of a model: nodes come, go, load, fail
// and trip guards, people change the spec and give commands, traffic is good and bad. The seed is printed when one
// breaks.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/fleet/state_digest.h"
#include "controller/api/format.h"
#include "controller/plan/plan.h"
#include "controller/rollout/rollout.h"

namespace longshore::sim {
namespace {

using rollout::NodeState;

class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {
    model_.metadata.uid = "u";
    model_.metadata.generation = 1;
    model_.spec.fleet = "cpu";
    model_.spec.served_name = "digits";
    model_.spec.version = 1;
    model_.spec.rollout.requests_min = 20;
    model_.spec.rollout.hold = std::chrono::seconds(2);
    for (const char* name : {"a", "b"}) observed_.nodes.push_back({name, false, {}});
  }

  // Something happens, then the controller looks.
  void Step() {
    now_ += std::chrono::milliseconds(Draw(3000));
    switch (Draw(30)) {
      case 0: ChangeSpec(); break;
      case 1: GiveCommand(); break;
      case 2: AddOrRemoveNode(); break;
      case 3: Misbehave(); break;
      default: break;
    }
    MoveNodes();
    SeeTraffic();
    Look();
  }

  void Look() {
    before_ = model_.status;
    decision_ = rollout::Decide(model_, observed_, now_);
    if (decision_.evidence_used) observed_.windows.clear();
    for (const auto& event : decision_.events) ++happened_[event.reason];
    plan_ = plan::MakePlan(model_, decision_, holds_);
    Check();
    Apply();
  }

  // Nothing happens any more.
  void Settle() {
    model_.status.command.reset();
    for (auto& node : observed_.nodes)
      std::erase_if(node.versions, [](const auto& seen) { return seen.second.guard.has_value(); });
    for (int i = 0; i < 200; ++i) {
      now_ += std::chrono::minutes(2);
      MoveNodes();
      SeeGoodTraffic();
      Look();
    }
  }

  // How often something happened; a history in which nothing does proves nothing.
  const std::map<std::string, int>& happened() const { return happened_; }
  const plan::Plan& last_plan() const { return plan_; }
  const api::Model& model() const { return model_; }

 private:
  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }

  void ChangeSpec() {
    ++model_.metadata.generation;
    model_.spec.version = 1 + Draw(4);
    model_.spec.rollout.strategy = Draw(5) == 0 ? api::Strategy::kImmediate : api::Strategy::kCanary;
    model_.spec.rollout.paused = Draw(6) == 0;
    model_.spec.rollout.steps.assign(static_cast<size_t>(1 + Draw(3)), {});
    double weight = 0;
    for (auto& step : model_.spec.rollout.steps) {
      step.weight_percent = weight += 1 + Draw(30);
      step.manual_pause = Draw(5) == 0;
    }
    if (Draw(4) == 0) model_.spec.version_labels["x"] = 1 + Draw(4);
  }

  void GiveCommand() {
    const std::vector<std::string> verbs = {"promote", "abort", "pause", "resume", "retry"};
    model_.status.command =
        api::Command{verbs[static_cast<size_t>(Draw(5))], model_.metadata.generation - Draw(2), Draw(3)};
  }

  void AddOrRemoveNode() {
    auto& nodes = observed_.nodes;
    if (nodes.size() < 5 && Draw(2) == 0) {
      nodes.push_back({std::string(1, static_cast<char>('c' + Draw(20))) + std::to_string(next_node_++), false, {}});
    } else if (!nodes.empty()) {
      const auto gone = nodes.begin() + Draw(static_cast<int>(nodes.size()));
      std::erase_if(holds_, [&](const auto& held) { return held.node == gone->name; });
      states_.erase(gone->name);
      nodes.erase(gone);
    }
    for (auto& node : nodes) node.draining = Draw(10) == 0;
  }

  void Misbehave() {
    for (auto& node : observed_.nodes) {
      for (auto& [version, seen] : node.versions) {
        if (Draw(6) != 0) continue;
        if (Draw(2) == 0)
          seen.state = NodeState::kFailed;
        else if (version == model_.status.rollout.candidate)
          seen.guard = rollout::GuardSeen{"NonFinite", "NaN"};
      }
    }
  }

  const control::ModelState* HeldBy(const std::string& node) const {
    const auto held = states_.find(node);
    return held == states_.end() ? nullptr : &held->second;
  }

  // Nodes do what they were told, a state at a time.
  void MoveNodes() {
    for (auto& node : observed_.nodes) {
      const control::ModelState* state = HeldBy(node.name);
      std::map<int64_t, rollout::VersionSeen> next;
      for (int i = 0; state != nullptr && i < state->versions_size(); ++i) {
        if (!state->versions(i).load()) continue;
        rollout::VersionSeen seen = node.versions[state->versions(i).version()];
        if (seen.state != NodeState::kFailed && Draw(3) != 0) Advance(seen);
        next[state->versions(i).version()] = seen;
      }
      node.versions = next;
    }
  }

  static void Advance(rollout::VersionSeen& seen) {
    switch (seen.state) {
      case NodeState::kAbsent: seen.state = NodeState::kTrial; break;
      case NodeState::kTrial: seen.state = NodeState::kLoading; break;
      case NodeState::kLoading: seen.state = NodeState::kReady; break;
      default: break;
    }
  }

  void SeeTraffic() {
    SeeGoodTraffic();
    if (Draw(40) == 0) observed_.windows["a"].candidate.errors += observed_.windows["a"].candidate.requests / 2;
  }
  void SeeGoodTraffic() {
    observed_.windows["a"].stable.requests += Draw(200);
    if (model_.status.rollout.weight_percent > 0) observed_.windows["a"].candidate.requests += Draw(30);
  }

  void Apply() {
    for (const plan::Action& action : plan_) {
      if (const auto* write = std::get_if<plan::WriteStatus>(&action)) model_.status = write->status;
      if (const auto* send = std::get_if<plan::SendModel>(&action)) Hold(*send);
    }
  }
  void Hold(const plan::SendModel& send) {
    std::erase_if(holds_, [&](const auto& held) { return held.node == send.node; });
    states_.erase(send.node);
    if (send.state) states_[send.node] = *send.state;
    holds_.push_back({send.node, send.state ? DigestOfPart(SerializePart(*send.state)) : ""});
  }

  void Check() {
    // What nodes hold is known of each node that is there.
    int weights = 0;
    for (const auto& placed : decision_.placement.versions) {
      weights += placed.weight_bp;
      EXPECT_GE(placed.weight_bp, 0);
      if (placed.candidate && placed.weight_bp > 0) {
        EXPECT_GE(ReadyNodes(placed.version), 1) << "weight on version " << placed.version << " that is ready nowhere";
      }
    }
    EXPECT_TRUE(weights == 10000 || weights == 0) << weights;
    EXPECT_EQ(weights == 10000, decision_.status.stable_version != 0);
    CheckStable();
    CheckFinal();
    CheckOrder();
    for (const auto& node : observed_.nodes) AddHold(node.name);
  }

  // Stable never changes but by a promotion, of what is ready on enough nodes.
  void CheckStable() {
    const int64_t stable = decision_.status.stable_version;
    if (stable == before_.stable_version) return;
    EXPECT_EQ(decision_.status.rollout.phase, api::RolloutPhase::kCompleted);
    EXPECT_GE(ReadyNodes(stable), 1);
    EXPECT_EQ(decision_.status.failed.end(),
              std::find_if(decision_.status.failed.begin(), decision_.status.failed.end(), [&](const auto& failed) {
                return failed.version == stable && failed.generation == model_.metadata.generation;
              }));
  }

  // What was rolled back and remembered does not start again by itself.
  void CheckFinal() {
    if (before_.rollout.phase != api::RolloutPhase::kRolledBack || before_.command) return;
    for (const auto& failed : before_.failed) {
      const bool same = failed.version == *model_.spec.version && failed.generation == model_.metadata.generation;
      EXPECT_TRUE(!same || decision_.status.rollout.phase != api::RolloutPhase::kValidating);
    }
  }

  // Safety to nodes before the status, anything else after it.
  void CheckOrder() {
    size_t write = plan_.size();
    for (size_t i = 0; i < plan_.size(); ++i) {
      if (std::holds_alternative<plan::WriteStatus>(plan_[i])) write = i;
    }
    if (write == plan_.size()) return;
    EXPECT_EQ(write, decision_.safety ? plan_.size() - 1 : 0u);
  }

  int ReadyNodes(int64_t version) const {
    int ready = 0;
    for (const auto& node : observed_.nodes) {
      const auto seen = node.versions.find(version);
      if (!node.draining && seen != node.versions.end() && seen->second.state == NodeState::kReady) ++ready;
    }
    return ready;
  }

  void AddHold(const std::string& node) {
    if (std::none_of(holds_.begin(), holds_.end(), [&](const auto& held) { return held.node == node; }))
      holds_.push_back({node, {}});
  }

  std::mt19937_64 random_;
  api::Model model_;
  rollout::Observed observed_;
  std::vector<plan::NodeHolds> holds_;
  std::map<std::string, control::ModelState> states_;  // The same, by node.
  api::ModelStatus before_;
  rollout::Decision decision_;
  plan::Plan plan_;
  TimePoint now_{std::chrono::hours(500000)};
  std::map<std::string, int> happened_;
  int next_node_ = 0;
};

TEST(RolloutProperties, HoldOnEveryPathThroughRandomHistories) {
  std::map<std::string, int> happened;
  for (uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    History history(seed);
    for (int step = 0; step < 300; ++step) history.Step();
    for (const auto& [what, times] : history.happened()) happened[what] += times;
  }
  for (const char* what :
       {"Started", "Validated", "Step", "Paused", "Resumed", "Promoting", "Promoted", "RolledBack", "NodesLost"}) {
    EXPECT_GT(happened[what], 20) << what;
  }
}

TEST(RolloutProperties, ASteadyStateWritesAndSendsNothing) {
  for (uint64_t seed = 1; seed <= 50 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    History history(seed);
    for (int step = 0; step < 100; ++step) history.Step();
    history.Settle();
    const auto phase = history.model().status.rollout.phase;
    const bool rests = phase == api::RolloutPhase::kNone || phase == api::RolloutPhase::kCompleted ||
                       phase == api::RolloutPhase::kRolledBack;
    EXPECT_TRUE(!rests || history.last_plan().empty()) << api::ToJson(history.model().status).dump(2);
  }
}

}  // namespace
}  // namespace longshore::sim

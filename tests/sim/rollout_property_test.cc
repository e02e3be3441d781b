// Tests properties of rollouts that hold in every history. The histories of one model are random: nodes come, go, load,
// fail and trip guards; people change the spec and give commands; traffic is good or bad; and the store and the stream
// to the nodes have faults. Each run draws new seeds and prints them; LONGSHORE_SEED=N repeats the run whose first seed
// is N.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "common/node_contract/state_digest.h"
#include "controller/api/format.h"
#include "controller/decide/plan/plan.h"
#include "controller/decide/rollout/rollout.h"
#include "tests/seeds/seeds.h"
#include "tests/sim/callers.h"

namespace longshore::sim {
namespace {

using rollout::NodeState;

enum class Faults { kNone, kSome };

class History {
 public:
  explicit History(uint64_t seed, Faults faults = Faults::kNone) : random_(seed), faults_(faults) {
    model_.metadata.uid = "u";
    model_.metadata.generation = 1;
    model_.spec.fleet = "cpu";
    model_.spec.served_name = "digits";
    model_.spec.version = 1;
    model_.spec.rollout.requests_min = 20;
    model_.spec.rollout.hold = std::chrono::seconds(2);
    model_.spec.rollout.patience = std::chrono::seconds(20);
    for (const char* name : {"a", "b"}) observed_.nodes.push_back({name, false, {}});
  }

  // Lets something happen, then lets the controller reconcile.
  void Step() {
    now_ += std::chrono::milliseconds(Draw(3000));
    switch (Draw(30)) {
      case 0: ChangeSpec(); break;
      case 1:
      case 4: callers_.Act(model_.metadata, model_.status); break;
      case 2: AddOrRemoveNode(); break;
      case 3: Misbehave(); break;
      case 5: ChangeMemory(); break;
      default: break;
    }
    MoveNodes();
    SeeTraffic();
    Reconcile();
  }

  void Reconcile() {
    // The controller may read a status that is older than its last write.
    const bool is_stale = previous_ && HasFault("StaleRead", 15);
    api::Model read = model_;
    if (is_stale) read.status = *previous_;
    before_ = read.status;
    decision_ = rollout::Decide(read, observed_, now_);
    if (decision_.evidence_used) observed_.windows.clear();
    for (const auto& event : decision_.events) ++happened_[event.reason];
    plan_ = plan::MakePlan(read, decision_, holds_);
    Check();
    Apply(is_stale);
  }

  // Lets the controller reconcile until nothing changes, without further events and faults, in a fleet that has nodes.
  void Settle() {
    faults_ = Faults::kNone;
    model_.spec.rollout.progress_deadline = std::chrono::minutes(10);
    for (auto& node : observed_.nodes) node.draining = node.departing = false;
    if (observed_.nodes.empty()) observed_.nodes.push_back({"last", false, {}});
    for (auto& node : observed_.nodes)
      std::erase_if(node.versions, [](const auto& seen) { return seen.second.guard.has_value(); });
    for (int i = 0; i < 200; ++i) {
      now_ += std::chrono::minutes(2);
      MoveNodes();
      SeeGoodTraffic();
      Reconcile();
    }
    callers_.CheckAllAnswered(model_.status);
  }

  // How often each event happened. The test requires each at least once: a history without events shows nothing.
  const std::map<std::string, int>& happened() const { return happened_; }
  // How often each command had each result: "promote Done".
  const std::map<std::string, int>& command_results() const { return callers_.results(); }
  const plan::Plan& last_plan() const { return plan_; }
  // Whether each node holds the state that the last decision gives it.
  bool NodesHoldTheDecision() const {
    std::vector<plan::NodeHolds> nothing;
    for (const auto& node : observed_.nodes) nothing.push_back({node.name, ""});
    const plan::Plan sends = plan::MakePlan(model_, decision_, nothing);
    return sends.size() == nothing.size() && std::all_of(sends.begin(), sends.end(), [&](const plan::Action& action) {
             const auto* send = std::get_if<plan::SendModel>(&action);
             return send != nullptr && send->state && DigestOf(*send->state) == DigestOf(send->node);
           });
  }
  const api::Model& model() const { return model_; }

 private:
  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }

  void ChangeSpec() {
    ++model_.metadata.generation;
    if (Draw(3) != 0) model_.spec.version = 1 + Draw(4);
    DrawStrategy();
    model_.spec.rollout.paused = Draw(6) == 0;
    model_.spec.rollout.on_inconclusive = static_cast<api::OnInconclusive>(Draw(3));
    model_.spec.rollout.progress_deadline = Draw(3) == 0 ? std::chrono::seconds(10) : std::chrono::minutes(10);
    model_.spec.rollout.max_unavailable = {.value = Draw(3), .is_percent = false};
    if (Draw(3) == 0) model_.spec.rollout.max_unavailable = {.value = 10 * Draw(6), .is_percent = true};
    const bool has_steps = model_.spec.rollout.strategy == api::Strategy::kCanary;
    model_.spec.rollout.steps.assign(has_steps ? static_cast<size_t>(1 + Draw(3)) : 0, {});
    double weight = 0;
    for (auto& step : model_.spec.rollout.steps) {
      step.weight_percent = weight += 1 + Draw(30);
      step.manual_pause = Draw(5) == 0;
      step.proof = static_cast<api::Proof>(Draw(3));
    }
    model_.spec.validation.golden_set = Draw(2) == 0 ? "golden.tfrecord" : "";
    if (Draw(4) == 0) model_.spec.version_labels["x"] = 1 + Draw(4);
  }

  // Half of the specs have steps without a phase before them.
  void DrawStrategy() {
    using api::Strategy;
    constexpr Strategy kStrategies[] = {Strategy::kImmediate, Strategy::kShadow, Strategy::kBlueGreen,
                                        Strategy::kCanary};
    api::Rollout& rollout = model_.spec.rollout;
    rollout.strategy = kStrategies[std::min(Draw(6), 3)];
    rollout.shadow.reset();
    if (rollout.strategy == Strategy::kShadow || (rollout.strategy != Strategy::kImmediate && Draw(3) == 0)) {
      rollout.shadow = {.hold = std::chrono::seconds(2), .proof = static_cast<api::Proof>(Draw(3))};
      if (Draw(2) == 0) rollout.shadow->compare = {{.output = "o", .rows = Draw(2) == 0 ? 0.9 : 0.5}};
    }
    rollout.preview = {};
    if (Draw(2) == 0) rollout.preview.auto_promote = std::chrono::seconds(1 + Draw(10));
  }

  void AddOrRemoveNode() {
    auto& nodes = observed_.nodes;
    if (nodes.size() < 5 && Draw(2) == 0) {
      nodes.push_back({std::string(1, static_cast<char>('c' + Draw(20))) + std::to_string(next_node_++), false, {}});
    } else if (!nodes.empty()) {
      const auto gone = nodes.begin() + Draw(static_cast<int>(nodes.size()));
      std::erase_if(holds_, [&](const auto& held) { return held.node == gone->name; });
      std::erase_if(delayed_, [&](const plan::SendModel& send) { return send.node == gone->name; });
      states_.erase(gone->name);
      nodes.erase(gone);
    }
    for (auto& node : nodes) {
      node.draining = Draw(10) == 0;
      node.departing = Draw(8) == 0;
    }
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

  // A version stops fitting into the memory of a node, or there is memory for all versions again. On a node that has
  // the version already, this matters only when it has to load it again.
  void ChangeMemory() {
    if (Draw(3) == 0) return no_room_.clear();
    if (observed_.nodes.empty()) return;
    const auto& node = observed_.nodes[static_cast<size_t>(Draw(static_cast<int>(observed_.nodes.size())))];
    no_room_.emplace(node.name, 1 + Draw(4));
  }

  const control::ModelState* HeldBy(const std::string& node) const {
    const auto held = states_.find(node);
    return held == states_.end() ? nullptr : &held->second;
  }

  // Nodes receive delayed messages, and the versions that they should load advance by one state at most.
  void MoveNodes() {
    std::erase_if(delayed_, [&](const plan::SendModel& send) {
      if (faults_ == Faults::kSome && Draw(2) == 0) return false;
      Receive(send);
      return true;
    });
    for (auto& node : observed_.nodes) {
      const control::ModelState* state = HeldBy(node.name);
      std::map<int64_t, rollout::VersionSeen> next;
      for (int i = 0; state != nullptr && i < state->versions_size(); ++i) {
        if (!state->versions(i).load()) continue;
        rollout::VersionSeen seen = node.versions[state->versions(i).version()];
        const bool fits = !no_room_.contains({node.name, state->versions(i).version()});
        if (seen.state != NodeState::kFailed && Draw(3) != 0) Advance(seen, fits);
        next[state->versions(i).version()] = seen;
      }
      node.versions = next;
    }
  }

  static void Advance(rollout::VersionSeen& seen, bool fits) {
    switch (seen.state) {
      case NodeState::kAbsent:
      case NodeState::kNoMemory: seen.state = fits ? NodeState::kRehearsal : NodeState::kNoMemory; break;
      case NodeState::kRehearsal: seen.state = NodeState::kLoading; break;
      case NodeState::kLoading: seen.state = NodeState::kReady; break;
      default: break;
    }
  }

  void SeeTraffic() {
    SeeGoodTraffic();
    api::ArmEvidence& candidate = observed_.windows["a"].candidate;
    if (Draw(40) == 0) candidate.errors += candidate.requests / 2;
    if (Draw(40) == 0) candidate.pairs.mismatched += 1;
    for (api::OutputEvidence& output : candidate.pairs.outputs)
      if (Draw(20) == 0) output.differs = output.pairs;
  }
  void SeeGoodTraffic() {
    observed_.windows["a"].stable.requests += Draw(200);
    api::ArmEvidence& candidate = observed_.windows["a"].candidate;
    if (model_.status.rollout.weight_percent > 0) candidate.requests += Draw(30);
    if (!model_.spec.rollout.shadow) return;
    api::PairEvidence more{.pairs = Draw(200)};
    more.ratio_buckets.resize(kRatioBucketOfOne + 1);
    more.ratio_buckets.back() = more.pairs;
    for (const api::OutputRule& rule : model_.spec.rollout.shadow->compare)
      more.outputs.push_back({.rule = analysis::TextOf(rule), .pairs = more.pairs});
    analysis::Add(more, candidate.pairs);
  }

  // Executes the actions of the plan in order, as far as the faults allow.
  void Apply(bool is_stale) {
    const bool recovers = std::exchange(is_restarted_, false);
    for (const plan::Action& action : plan_) {
      if (recovers ? HasFault("CrashInRecovery", 8) : HasFault("Crash", 60)) return Restart();
      if (const auto* write = std::get_if<plan::WriteStatus>(&action)) {
        // The object has changed since it was read, so the status is not stored. Messages that were sent before stay
        // sent.
        if (is_stale || HasFault("Conflict", 10)) return;
        previous_ = std::exchange(model_.status, write->status);
        callers_.CheckStored(*previous_, model_.status);
        if (HasFault("AnswerLost", 20)) return;  // The status is stored, but the controller gets an error.
      }
      if (const auto* send = std::get_if<plan::SendModel>(&action)) Send(*send);
    }
  }

  // After a restart, the controller knows only what is stored and what the nodes report. Messages under way are lost
  // with their streams.
  void Restart() {
    is_restarted_ = true;
    delayed_.clear();
    observed_.windows.clear();
    holds_.clear();
    for (const auto& node : observed_.nodes) holds_.push_back({node.name, DigestOf(node.name)});
  }

  static std::string DigestOf(const control::ModelState& state) {
    return node_contract::DigestOfPart(node_contract::SerializePart(state));
  }
  std::string DigestOf(const std::string& node) const {
    const control::ModelState* state = HeldBy(node);
    return state == nullptr ? "" : DigestOf(*state);
  }

  // Whether this fault happens now, with a probability of 1 / one_in.
  bool HasFault(const char* fault, int one_in) {
    if (faults_ == Faults::kNone || Draw(one_in) != 0) return false;
    ++happened_[fault];
    return true;
  }

  // A newer message replaces a delayed one, because a node rejects a message that is older than the one it has.
  void Send(const plan::SendModel& send) {
    std::erase_if(delayed_, [&](const plan::SendModel& other) { return other.node == send.node; });
    std::erase_if(holds_, [&](const auto& held) { return held.node == send.node; });
    if (HasFault("MessageLost", 10)) return;  // The stream broke, so the controller does not know what the node has.
    holds_.push_back({send.node, send.state ? DigestOf(*send.state) : ""});
    if (HasFault("MessageDelayed", 4)) {
      delayed_.push_back(send);
    } else {
      Receive(send);
    }
  }

  void Receive(const plan::SendModel& send) {
    states_.erase(send.node);
    if (send.state) states_[send.node] = *send.state;
  }

  // The status offers exactly the commands that the next decision would execute.
  void CheckAcceptedCommands() {
    const std::vector<std::string>& accepted = decision_.status.accepted_commands;
    for (const std::string verb : {"promote", "resume", "pause", "abort", "undo", "retry", "validate"}) {
      if (!decision_.status.commands.empty()) return;  // They may change what is accepted.
      api::Model model = model_;
      model.status = decision_.status;
      model.status.commands = {api::CommandFor(verb, model.metadata.generation, model.status)};
      model.status.commands[0].id = "offered";
      const api::CommandAnswer answer = rollout::Decide(model, observed_, now_).status.answers.back();
      const bool is_offered = std::ranges::count(accepted, verb) > 0;
      EXPECT_EQ(answer.id, "offered");
      EXPECT_EQ(answer.result, is_offered ? api::CommandResult::kDone : api::CommandResult::kRefused)
          << ToString(answer) << "\n"
          << Describe();
      ++happened_[verb + (is_offered ? " offered" : " not offered")];
    }
  }

  void Check() {
    int weights = 0;
    for (const auto& placed : decision_.placement.versions) {
      weights += placed.weight_bp;
      EXPECT_GE(placed.weight_bp, 0);
      if (placed.candidate && placed.weight_bp > 0) {
        EXPECT_GE(ReadyNodes(placed.version), 1) << "weight on version " << placed.version << " that is ready nowhere\n"
                                                 << Describe();
      }
    }
    EXPECT_TRUE(weights == 10000 || weights == 0) << weights;
    EXPECT_EQ(weights == 10000, decision_.status.stable_version != 0);
    CheckLastHolders();
    CheckStable();
    CheckWithoutWeight();
    CheckBadNodes();
    CheckFinal();
    CheckOrder();
    CheckStableStaysLoaded();
    if (Draw(4) == 0) CheckAcceptedCommands();
    callers_.CheckDecision(before_, decision_.status, model_.metadata.generation);
    for (const auto& node : observed_.nodes) AddHold(node.name);
  }

  // The decision and its inputs, for failure messages.
  std::string Describe() const {
    std::string text = fmt::format("status before: {}\nstatus decided: {}\n", api::ToJson(before_)["rollout"].dump(),
                                   api::ToJson(decision_.status)["rollout"].dump());
    for (const auto& node : observed_.nodes) {
      text += fmt::format("node {}{}{}:", node.name, node.draining ? " (draining)" : "",
                          node.departing ? " (departing)" : "");
      for (const auto& [version, seen] : node.versions) {
        text +=
            fmt::format(" {} in state {}{}", version, static_cast<int>(seen.state), seen.guard ? " with guard" : "");
      }
      text += "\n";
    }
    for (const auto& event : decision_.events) text += fmt::format("event {}: {}\n", event.reason, event.message);
    return text;
  }

  // Only a promotion or an undo changes stable, and only to a version that is ready.
  void CheckStable() {
    const int64_t stable = decision_.status.stable_version;
    if (stable == before_.stable_version) return;
    const bool is_undone = decision_.status.rollout.verdict.reason == "Undone";
    EXPECT_EQ(decision_.status.rollout.phase,
              is_undone ? api::RolloutPhase::kRolledBack : api::RolloutPhase::kCompleted);
    if (is_undone) ++happened_["UndoneAtOnce"];
    EXPECT_GE(ReadyNodes(stable), 1);
    EXPECT_EQ(decision_.status.failed.end(),
              std::find_if(decision_.status.failed.begin(), decision_.status.failed.end(), [&](const auto& failed) {
                return failed.version == stable && failed.generation == model_.metadata.generation;
              }));
  }

  // With a strategy without steps, a candidate has no weight before it is stable, and only a person or autoPromote
  // makes it stable, unless it is the first version or an undo.
  void CheckWithoutWeight() {
    const api::RolloutStatus& rollout = decision_.status.rollout;
    const api::Rollout& policy = model_.spec.rollout;
    const bool has_no_steps = policy.strategy == api::Strategy::kShadow || policy.strategy == api::Strategy::kBlueGreen;
    if (IsWithoutWeight(rollout.phase)) {
      ++happened_[std::string(api::RolloutPhaseName(rollout.phase))];
      EXPECT_EQ(rollout.weight_percent, 0) << Describe();
      EXPECT_NE(policy.strategy, api::Strategy::kImmediate) << Describe();
    }
    if (!has_no_steps || rollout.stable == 0 || rollout.undo_generation != 0) return;
    if (IsUnderWay(rollout.phase)) {
      EXPECT_EQ(rollout.weight_percent, 0) << Describe();
    }
    const bool is_promoted = std::ranges::count(decision_.events, "Promoted", &rollout::Event::reason) > 0;
    if (!is_promoted) return;
    ++happened_["PromotedAtOnce"];
    if (policy.strategy == api::Strategy::kShadow) {
      EXPECT_TRUE(rollout.promoted_by_command || before_.rollout.phase == api::RolloutPhase::kPromoting) << Describe();
    }
  }

  // Requests for a version are forwarded to a node that has it ready whenever there is one, and departing nodes keep
  // it.
  void CheckLastHolders() {
    for (const auto& placed : decision_.placement.versions) {
      for (const auto& node : observed_.nodes) {
        const auto seen = node.versions.find(placed.version);
        if (seen == node.versions.end() || seen->second.state != NodeState::kReady) continue;
        EXPECT_FALSE(placed.ready.empty()) << "version " << placed.version << "\n" << Describe();
        if (!node.departing || node.draining) continue;
        ++happened_["Departing"];
        EXPECT_EQ(std::ranges::count(placed.nodes, node.name), 1) << "version " << placed.version << "\n" << Describe();
      }
    }
  }

  // A failed load ends a rollout only if no other node is ready with the candidate or too many nodes failed, and a
  // promotion leaves out only nodes that maxUnavailable allows to be without the version.
  void CheckBadNodes() {
    const api::RolloutStatus& rollout = decision_.status.rollout;
    for (const rollout::Event& event : decision_.events) {
      int failed = 0, ready = 0, nodes = 0;
      for (const auto& node : observed_.nodes) {
        if (node.draining || node.departing) continue;
        ++nodes;
        const auto seen = node.versions.find(rollout.candidate);
        if (seen == node.versions.end()) continue;
        failed += seen->second.state == NodeState::kFailed ? 1 : 0;
        ready += seen->second.state == NodeState::kReady ? 1 : 0;
      }
      const int tolerated = model_.spec.rollout.max_unavailable.Of(nodes);
      if (event.reason == "RolledBack" && rollout.verdict.reason == "LoadFailed") {
        EXPECT_TRUE(ready == 0 || failed > tolerated) << Describe();
      }
      if (event.reason == "Promoted" && rollout.stable != 0) {
        EXPECT_GE(ready * 2, nodes) << Describe();
        EXPECT_GE(ready, nodes - tolerated) << Describe();
        if (ready < nodes) ++happened_["PromotedWithoutABadNode"];
      }
      if (event.reason == "RolledBack" && rollout.verdict.reason == "NotEnoughMemory") ++happened_["NotEnoughMemory"];
    }
  }

  // A version that is marked as failed, for example because of an undo, does not start again by itself. A version that
  // lacked memory does, when a node has more of it.
  void CheckFinal() {
    const bool starts = decision_.status.rollout.attempt != before_.rollout.attempt;
    if (!starts || before_.command || !before_.commands.empty()) return;
    for (const auto& failed : before_.failed) {
      EXPECT_FALSE(failed.version == decision_.status.rollout.candidate &&
                   failed.generation == model_.metadata.generation && failed.reason != "NotEnoughMemory")
          << "version " << failed.version << " failed: " << failed.reason;
    }
  }

  // A message that is sent before the status does not unload the version that serves according to the stored status:
  // the write may fail, and then that version goes on serving.
  void CheckStableStaysLoaded() {
    for (const plan::Action& action : plan_) {
      const auto* send = std::get_if<plan::SendModel>(&action);
      if (send == nullptr) return;  // The status is written.
      const auto node = std::ranges::find(observed_.nodes, send->node, &rollout::NodeSeen::name);
      if (node == observed_.nodes.end() || node->draining) continue;
      const auto seen = node->versions.find(before_.stable_version);
      const bool is_ready = seen != node->versions.end() && seen->second.state == NodeState::kReady;
      const bool unloads = is_ready && !(send->state && Loads(*send->state, before_.stable_version));
      EXPECT_FALSE(unloads) << "version " << before_.stable_version << " on node " << send->node << "\n" << Describe();
    }
  }

  static bool Loads(const control::ModelState& state, int64_t version) {
    return std::ranges::any_of(
        state.versions(), [&](const control::VersionState& held) { return held.version() == version && held.load(); });
  }

  // A decision that takes weight away is sent to the nodes before the status is written, any other decision after it.
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
  Callers callers_{random_};
  Faults faults_;
  api::Model model_;
  rollout::Observed observed_;
  std::vector<plan::NodeHolds> holds_;                 // What the controller sent to the nodes that exist.
  std::map<std::string, control::ModelState> states_;  // What nodes hold, by node.
  std::vector<plan::SendModel> delayed_;               // Sent, and not received yet; at most one per node.
  std::set<std::pair<std::string, int64_t>> no_room_;  // Nodes and versions that do not fit into their memory.
  std::optional<api::ModelStatus> previous_;           // The stored status before the last write.
  bool is_restarted_ = false;                          // Whether the next reconciliation is the first after a crash.
  api::ModelStatus before_;
  rollout::Decision decision_;
  plan::Plan plan_;
  TimePoint now_{std::chrono::hours(500000)};
  std::map<std::string, int> happened_;
  int next_node_ = 0;
};

constexpr uint64_t kHistories = 220;

bool HasEnded(const api::Model& model) {
  const api::RolloutPhase phase = model.status.rollout.phase;
  return phase == api::RolloutPhase::kNone || phase == api::RolloutPhase::kCompleted ||
         phase == api::RolloutPhase::kRolledBack;
}

bool WaitsForAPerson(const api::Model& model) {
  return model.status.rollout.phase == api::RolloutPhase::kPaused || model.spec.rollout.paused ||
         model.status.rollout.paused_by_command || !model.status.rollout.paused_reason.empty();
}

TEST(RolloutProperties, HoldOnEveryPathThroughRandomHistories) {
  const uint64_t first = seeds::First(kHistories);
  std::map<std::string, int> happened;
  for (uint64_t seed = first; seed < first + kHistories && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("LONGSHORE_SEED={}", seed));
    History history(seed, seed % 3 == 0 ? Faults::kNone : Faults::kSome);
    for (int step = 0; step < 300; ++step) history.Step();
    for (const auto& [what, times] : history.happened()) happened[what] += times;
    for (const auto& [what, times] : history.command_results()) happened[what] += times;
  }
  for (const char* what : {"Started",
                           "Validated",
                           "Step",
                           "Paused",
                           "Resumed",
                           "Promoting",
                           "Promoted",
                           "RolledBack",
                           "NodesLost",
                           "Undone",
                           "Crash",
                           "StaleRead",
                           "Conflict",
                           "AnswerLost",
                           "MessageLost",
                           "MessageDelayed",
                           "UndoneAtOnce",
                           "repeated",
                           "undo Done",
                           "abort Done",
                           "CrashInRecovery",
                           "promote Superseded",
                           "promote Done",
                           "undo Refused",
                           "NotEnoughMemory",
                           "PromotedWithoutABadNode",
                           "Shadow",
                           "Preview",
                           "ShadowPassed",
                           "StrategyChanged",
                           "OutputRulesChanged",
                           "PromotedAtOnce",
                           "Departing",
                           "promote offered",
                           "promote not offered",
                           "resume offered",
                           "resume not offered",
                           "pause offered",
                           "pause not offered",
                           "abort offered",
                           "abort not offered",
                           "undo offered",
                           "undo not offered",
                           "retry offered",
                           "retry not offered",
                           "validate offered",
                           "validate not offered"}) {
    EXPECT_GT(happened[what], 3) << what;
  }
}

TEST(RolloutProperties, EveryHistoryComesToRestAndASteadyStateWritesAndSendsNothing) {
  const uint64_t first = seeds::First(kHistories);
  std::map<std::string, int> phases;
  for (uint64_t seed = first; seed < first + kHistories && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("LONGSHORE_SEED={}", seed));
    History history(seed, Faults::kSome);
    for (int step = 0; step < 100; ++step) history.Step();
    history.Settle();
    const bool ended = HasEnded(history.model());
    EXPECT_TRUE(ended || WaitsForAPerson(history.model())) << api::ToJson(history.model().status).dump(2);
    EXPECT_TRUE(!ended || history.last_plan().empty()) << api::ToJson(history.model().status).dump(2);
    EXPECT_TRUE(!ended || history.NodesHoldTheDecision()) << api::ToJson(history.model().status).dump(2);
    ++phases[api::ToJson(history.model().status)["rollout"]["phase"].get<std::string>()];
  }
  EXPECT_GT(phases["Completed"], 10);
  EXPECT_GT(phases["RolledBack"], 2);
}

}  // namespace
}  // namespace longshore::sim

// The command undo.
#include <algorithm>
#include <optional>

#include "controller/decide/rollout/command.h"
#include "controller/decide/rollout/phases.h"
#include "controller/decide/rollout/rollout.h"
#include "controller/decide/rollout/warm.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

// Whether the version has served, as far as the status tells.
bool HasServed(const api::ModelStatus& status, int64_t version) {
  return version == status.rollout.stable || std::ranges::any_of(status.history, [&](const auto& entry) {
           return entry.version == version && IsAboutServing(entry);
         });
}

bool ServesByUndo(const api::ModelStatus& status) {
  const auto last = std::ranges::find_if(status.history.rbegin(), status.history.rend(), IsAboutServing);
  return last != status.history.rend() && last->what == kUndone && last->version == status.stable_version;
}

// Why the Model cannot return to this version; "" if it can.
std::string WhyNotTo(const Draft& draft, int64_t version) {
  if (version == draft.status().stable_version) return fmt::format("version {} serves already", version);
  if (HasServed(draft.status(), version)) return "";
  return fmt::format(
      "version {} has not served yet, as far as the history shows; name it in the manifest to roll it out", version);
}

// What the command undo would do.
struct UndoPlan {
  enum class How { kEndRollout, kAtOnce, kByRollout };
  How how = How::kEndRollout;
  int64_t to = 0;         // The version that is to serve.
  std::string refused{};  // Why nothing is done; "": it is done.
};
UndoPlan Refused(std::string why) { return {.refused = std::move(why)}; }

// While a rollout is under way. If two people give the command undo, the second one must not end the rollout that the
// first one has begun.
UndoPlan PlanToEndRollout(const Draft& draft, const api::Command& command) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  if (IsUndo(draft) && command.to != rollout.stable) {
    return Refused(
        fmt::format("the rollout to version {} by an earlier undo is under way; abort ends it", rollout.candidate));
  }
  if (command.to != 0 && command.to != rollout.stable) {
    return Refused(fmt::format(
        "the rollout of version {} is under way: undo ends it and returns to version {}, and to no other version",
        rollout.candidate, rollout.stable));
  }
  return {.how = UndoPlan::How::kEndRollout, .to = rollout.stable};
}

std::string EndRollout(Draft& draft, const api::Command& command) {
  const int64_t candidate = draft.rollout().candidate;
  const int64_t stable = draft.rollout().stable;
  Abort(draft, command);
  const std::string ended = fmt::format("the rollout of version {} has ended", candidate);
  return stable == 0 ? ended : fmt::format("{}; version {} serves all requests", ended, stable);
}

// Half of the nodes are enough, as in LostItsNodes: the others forward requests until they have loaded the version.
bool IsReadyOnEnoughNodes(const Draft& draft, int64_t version) {
  const int ready = draft.ReadyNodes(version);
  return ready > 0 && ready * 2 >= draft.StableNodes();
}

// Whether the nodes were told to keep the version. A node that was told to unload it may still report it as ready.
bool IsKept(const Draft& draft, int64_t version) {
  const std::optional<Warm> warm = WarmOf(draft.policy(), draft.status(), draft.now());
  return (warm && warm->version == version) || draft.IsLabelled(version);
}

// A person who gives undo because of a version that was rolled back may not want to leave the version that serves.
std::string RolledBackBefore(const Draft& draft, const api::Command& command) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  return command.to == 0 && WouldUndoLeaveAGoodVersion(draft.status())
             ? fmt::format("version {} had been rolled back already, so undo left version {}; ", rollout.candidate,
                           draft.status().stable_version)
             : "";
}

std::string ReturnAtOnce(Draft& draft, int64_t to) {
  api::RolloutStatus& rollout = draft.rollout();
  const int64_t left = draft.status().stable_version;
  draft.Forget(to);
  draft.status().stable_version = to;
  draft.status().sources.try_emplace(to, draft.spec().source_uri, draft.spec().source_sha256);
  rollout.stable = to;
  rollout.candidate = left;
  rollout.weight_percent = 0;
  rollout.undo_generation = 0;
  rollout.verdict = {"Fail", kUndone, fmt::format("version {} was undone by command", left), {}};
  draft.SetPhase(RolloutPhase::kRolledBack);
  NoteUndo(draft, left, to);
  return fmt::format(
      "version {} serves all requests; version {} stays loaded for a while, and is rolled out again only after a "
      "change "
      "of the manifest or the command retry",
      to, left);
}

UndoPlan PlanRollout(const Draft& draft, int64_t to) {
  if (draft.policy().paused) return Refused("spec.rollout.paused is true: change the manifest");
  if (draft.NodesCount() == 0) return Refused(draft.WhyNoNodes());
  if (!draft.status().sources.contains(to) && !draft.spec().source_sha256.empty()) {
    return Refused(fmt::format(
        "the archive of version {} is not known any more; name it in the manifest: source and version", to));
  }
  return {.how = UndoPlan::How::kByRollout, .to = to};
}

// The version keeps the files that it had when it served.
std::string ReturnByRollout(Draft& draft, int64_t to) {
  api::ModelStatus& status = draft.status();
  const auto source = status.sources.extract(to);
  const auto digest = status.digests.extract(to);
  const int ready = draft.ReadyNodes(to);
  const int64_t left = status.stable_version;
  Start(draft, to, ", by the command undo");
  if (source) status.sources[to] = source.mapped();
  if (digest) status.digests[to] = digest.mapped();
  draft.rollout().undo_generation = draft.generation();
  return fmt::format(
      "version {} is not kept warm ({} of {} nodes have it), so a rollout to it has begun, without steps but "
      "with rehearsal and golden set; version {} serves until then",
      to, ready, draft.StableNodes(), left);
}

UndoPlan PlanUndo(const Draft& draft, const api::Command& command) {
  const api::ModelStatus& status = draft.status();
  const bool is_under_way = IsUnderWay(status.rollout.phase);
  const int64_t leaves = is_under_way ? status.rollout.candidate : status.stable_version;
  if (command.from != 0 && command.from != leaves) {
    return Refused(fmt::format("the command was to leave version {}, but version {} {}", command.from, leaves,
                               is_under_way ? "is being rolled out" : "serves"));
  }
  if (is_under_way) return PlanToEndRollout(draft, command);
  if (status.stable_version == 0) return Refused("no version has served yet");
  if (command.to == 0 && ServesByUndo(status)) {
    return Refused(fmt::format(
        "version {} serves because of an earlier undo; to go forward again, use retry, or name the version with --to",
        status.stable_version));
  }
  const std::optional<int64_t> to = command.to != 0 ? command.to : PreviousOf(status);
  if (!to) return Refused(fmt::format("no version served before version {}", status.stable_version));
  if (std::string why = WhyNotTo(draft, *to); !why.empty()) return Refused(std::move(why));
  if (IsKept(draft, *to) && IsReadyOnEnoughNodes(draft, *to)) return {.how = UndoPlan::How::kAtOnce, .to = *to};
  return PlanRollout(draft, *to);
}

}  // namespace

bool WouldUndoLeaveAGoodVersion(const api::ModelStatus& status) {
  return status.rollout.phase == RolloutPhase::kRolledBack && status.rollout.verdict.reason != kUndone;
}

std::optional<int64_t> VersionToReturnTo(const api::Model& model) {
  const api::ModelStatus& status = model.status;
  if (IsUnderWay(status.rollout.phase) || !ServesByUndo(status)) return std::nullopt;
  const std::optional<int64_t> left = PreviousOf(status);
  if (!left || !HasServed(status, *left)) return std::nullopt;
  // As in PlanRollout: a version that nodes do not keep needs a rollout.
  const bool knows_files = status.sources.contains(*left) || model.spec.source_sha256.empty();
  if (model.spec.rollout.paused || status.nodes.empty() || !knows_files) return std::nullopt;
  return left;
}

bool IsUndo(const Draft& draft) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  return rollout.undo_generation != 0 &&
         (rollout.undo_generation == draft.generation() || draft.Target() == rollout.candidate);
}

void NoteUndo(Draft& draft, int64_t left, int64_t to) {
  draft.Remember(left, kUndone, fmt::format("the command undo returned to version {}", to));
  draft.RecordOf(to, kUndone,
                 fmt::format("version {} serves all requests again, by the command undo; it replaces {}", to, left),
                 true);
}

std::string WhyNoUndo(const Draft& draft, const api::Command& command) { return PlanUndo(draft, command).refused; }

std::string Undo(Draft& draft, const api::Command& command) {
  const UndoPlan plan = PlanUndo(draft, command);
  CHECK(plan.refused.empty());
  const std::string before = RolledBackBefore(draft, command);
  switch (plan.how) {
    case UndoPlan::How::kEndRollout: return EndRollout(draft, command);
    case UndoPlan::How::kAtOnce: return before + ReturnAtOnce(draft, plan.to);
    case UndoPlan::How::kByRollout: break;
  }
  return before + ReturnByRollout(draft, plan.to);
}

}  // namespace longshore::rollout

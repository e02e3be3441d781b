#include <set>

#include "controller/decide/rollout/draft.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

// Each of the functions below returns why the command was refused, or "" if it was executed.

std::string PromoteStep(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  const bool in_step = rollout.phase == RolloutPhase::kStep || rollout.phase == RolloutPhase::kPaused;
  if (!in_step || rollout.weight_percent == 0) {
    return fmt::format(
        "the phase of the rollout is {}: promote works only in a step in which the new version gets requests",
        api::RolloutPhaseName(rollout.phase));
  }
  if (draft.policy().paused) return "spec.rollout.paused is true: change the manifest";
  const bool last = rollout.step_index + 1 >= static_cast<int>(draft.policy().steps.size());
  if (!last) ++rollout.step_index;
  rollout.paused_by_command = false;
  rollout.promoted_by_command = true;
  draft.SetPhase(last ? RolloutPhase::kPromoting : RolloutPhase::kStep);
  draft.Record("PromotedByCommand",
               fmt::format("version {} continues from {:g}%", rollout.candidate, rollout.weight_percent));
  return "";
}

std::string Abort(Draft& draft) {
  if (!IsUnderWay(draft.rollout().phase)) return "no rollout is under way";
  draft.RollBack("Aborted", "aborted by command", true);
  return "";
}

std::string Pause(Draft& draft) {
  if (!IsUnderWay(draft.rollout().phase)) return "no rollout is under way";
  if (draft.rollout().paused_by_command) return "the rollout is already paused";
  draft.rollout().paused_by_command = true;
  return "";
}

std::string Resume(Draft& draft) {
  if (draft.policy().paused) return "spec.rollout.paused is true: change the manifest";
  if (!draft.rollout().paused_by_command)
    return "the rollout is not paused by a command; use promote to continue after a step with `pause: Manual`";
  draft.rollout().paused_by_command = false;
  return "";
}

std::string Retry(Draft& draft) {
  std::set<int64_t> wanted;
  for (const auto& [_, version] : draft.spec().version_labels) wanted.insert(version);
  if (const auto target = draft.Target()) wanted.insert(*target);
  std::erase_if(wanted, [&](int64_t version) { return draft.FailureOf(version) == nullptr; });
  if (wanted.empty()) return "no version that the spec names has failed";
  for (const int64_t version : wanted) draft.Forget(version);
  return "";
}

std::string Do(Draft& draft, const api::Command& command) {
  if (command.generation != draft.generation()) {
    return fmt::format("the command was for generation {}, but the Model is at generation {}", command.generation,
                       draft.generation());
  }
  if (command.step != draft.rollout().step_index) {
    return fmt::format("the command was for step {}, but the rollout is at step {}", command.step,
                       draft.rollout().step_index);
  }
  if (command.verb == "promote") return PromoteStep(draft);
  if (command.verb == "abort") return Abort(draft);
  if (command.verb == "pause") return Pause(draft);
  if (command.verb == "resume") return Resume(draft);
  if (command.verb == "retry") return Retry(draft);
  return "the commands are promote, abort, pause, resume and retry";
}

}  // namespace

void TakeCommand(Draft& draft) {
  if (!draft.status().command) return;
  const api::Command command = *draft.status().command;
  const std::string refused = Do(draft, command);
  draft.status().command.reset();
  draft.status().command_result =
      refused.empty() ? fmt::format("{}: done", command.verb) : fmt::format("{}: refused: {}", command.verb, refused);
}

}  // namespace longshore::rollout

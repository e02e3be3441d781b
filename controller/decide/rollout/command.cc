#include "controller/decide/rollout/command.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "common/base/text.h"
#include "controller/decide/rollout/phases.h"
#include "controller/decide/rollout/rollout.h"

namespace longshore::rollout {
namespace {

using api::RolloutPhase;

constexpr size_t kVerbBytesMax = 64;
constexpr size_t kMessageBytesMax = 1024;

// Records that a person promotes a candidate without the proof or the sample that the spec requires first.
void NoteMissingProof(Draft& draft) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  const bool is_shown = IsWithoutWeight(rollout.phase) && rollout.shadow_done;
  if (RequiredProof(draft) == api::Proof::kNone || is_shown || rollout.verdict.result == "Pass") return;
  draft.Record("PromotedWithoutProof", rollout.verdict.message, true);
}

// Ends the phase without weight.
void PromoteFromShadow(Draft& draft) {
  api::RolloutStatus& rollout = draft.rollout();
  const bool has_steps = draft.policy().strategy == api::Strategy::kCanary;
  NoteMissingProof(draft);
  draft.Record("PromotedByCommand", fmt::format("version {} leaves the phase {} and {}", rollout.candidate,
                                                api::RolloutPhaseName(rollout.phase),
                                                has_steps ? "begins with the steps" : "gets all requests"));
  rollout.shadow_done = true;
  rollout.paused_by_command = false;
  rollout.promoted_by_command = true;
  draft.SetPhase(has_steps ? RolloutPhase::kStep : RolloutPhase::kPromoting);
}

// Why the manifest keeps the rollout paused, whatever a user commands; "" if it does not.
std::string WhyHeldBySpec(const Draft& draft) {
  return draft.policy().paused ? "spec.rollout.paused is true: change the manifest" : "";
}

std::string WhyNoPromote(const Draft& draft, const api::Command&) {
  const api::RolloutStatus& rollout = draft.status().rollout;
  const bool in_step = rollout.phase == RolloutPhase::kStep || rollout.phase == RolloutPhase::kPaused;
  if (!IsWithoutWeight(rollout.phase) && (!in_step || rollout.weight_percent == 0)) {
    return fmt::format(
        "the phase of the rollout is {}: promote works only in a step in which the new version gets requests, and in "
        "the phases Shadow and Preview",
        api::RolloutPhaseName(rollout.phase));
  }
  return WhyHeldBySpec(draft);
}

std::string PromoteStep(Draft& draft, const api::Command&) {
  api::RolloutStatus& rollout = draft.rollout();
  if (IsWithoutWeight(rollout.phase)) {
    PromoteFromShadow(draft);
    return "";
  }
  const bool last = rollout.step_index + 1 >= static_cast<int>(draft.policy().steps.size());
  if (last) NoteMissingProof(draft);
  if (!last) ++rollout.step_index;
  rollout.paused_by_command = false;
  rollout.promoted_by_command = true;
  draft.SetPhase(last ? RolloutPhase::kPromoting : RolloutPhase::kStep);
  draft.Record("PromotedByCommand",
               fmt::format("version {} continues from {:g}%", rollout.candidate, rollout.weight_percent));
  return "";
}

std::string WhyNoPause(const Draft& draft, const api::Command&) {
  if (!IsUnderWay(draft.status().rollout.phase)) return "no rollout is under way";
  return draft.status().rollout.paused_by_command ? "the rollout is already paused" : "";
}

std::string Pause(Draft& draft, const api::Command&) {
  draft.rollout().paused_by_command = true;
  return "";
}

std::string WhyNoResume(const Draft& draft, const api::Command&) {
  if (const std::string why = WhyHeldBySpec(draft); !why.empty()) return why;
  if (draft.status().rollout.paused_by_command) return "";
  return "the rollout is not paused by a command; promote ends a step with `pause: Manual`, and the phases Shadow and "
         "Preview";
}

std::string Resume(Draft& draft, const api::Command&) {
  draft.rollout().paused_by_command = false;
  return "";
}

// The versions that the spec names and that are not tried because they have failed.
std::set<int64_t> FailedOfSpec(const Draft& draft) {
  std::set<int64_t> wanted;
  for (const auto& [_, version] : draft.spec().version_labels) wanted.insert(version);
  if (const auto target = draft.Target()) wanted.insert(*target);
  std::erase_if(wanted, [&](int64_t version) { return draft.FailureOf(version) == nullptr; });
  return wanted;
}

std::string WhyNoRetry(const Draft& draft, const api::Command&) {
  return FailedOfSpec(draft).empty() ? "no version that the spec names has failed" : "";
}

std::string Retry(Draft& draft, const api::Command&) {
  for (const int64_t version : FailedOfSpec(draft)) draft.Forget(version);
  return "";
}

// A command, why it would be refused, and what it does.
struct Handler {
  std::string_view verb;
  std::string (*why_refused)(const Draft& draft, const api::Command& command);
  std::string (*execute)(Draft& draft, const api::Command& command);
};
constexpr std::array<Handler, 7> kHandlers = {{{"promote", WhyNoPromote, PromoteStep},
                                               {"resume", WhyNoResume, Resume},
                                               {"pause", WhyNoPause, Pause},
                                               {"abort", WhyNoAbort, Abort},
                                               {"undo", WhyNoUndo, Undo},
                                               {"retry", WhyNoRetry, Retry},
                                               {"validate", WhyNoValidate, ValidateStable}}};

// Returns nullptr if there is no such command.
const Handler* HandlerOf(const api::Command& command) {
  const auto* const found = std::ranges::find(kHandlers, command.verb, &Handler::verb);
  return found == kHandlers.end() ? nullptr : found;
}

// Why the command is not for the present rollout; "" if it is.
std::string WhyOutdated(const Draft& draft, const api::Command& command) {
  if (command.generation != draft.generation()) {
    return fmt::format("the command was for generation {}, but the Model is at generation {}", command.generation,
                       draft.generation());
  }
  const api::RolloutStatus& rollout = draft.status().rollout;
  const bool is_of_rollout = command.verb != "retry" && command.verb != "undo" && command.verb != "validate";
  if (is_of_rollout && command.attempt != 0 && command.attempt != rollout.attempt) {
    return fmt::format("the command was for rollout {} of this Model, but the last one is rollout {}", command.attempt,
                       rollout.attempt);
  }
  const bool is_of_step = is_of_rollout && command.verb != "abort";
  if (is_of_step && command.step != rollout.step_index) {
    return fmt::format("the command was for step {}, but the rollout is at step {}", command.step + 1,
                       rollout.step_index + 1);
  }
  return "";
}

// Abort and undo give requests back to a version that is known to be good.
bool GoesBack(const api::Command& command) { return command.verb == "abort" || command.verb == "undo"; }

// Removes and returns all commands that are to be answered. The command of a client of release 0.1 is the last one.
std::vector<api::Command> TakeQueue(api::ModelStatus& status) {
  std::set<std::string> known;
  for (const api::CommandAnswer& answer : status.answers) known.insert(answer.id);
  std::vector<api::Command> queue = std::exchange(status.commands, {});
  std::erase_if(queue, [&](const api::Command& command) { return !known.insert(command.id).second; });
  if (status.command) queue.push_back(*std::exchange(status.command, std::nullopt));
  return queue;
}

void Answer(api::ModelStatus& status, const api::Command& command, api::CommandResult result,
            const std::string& message, TimePoint now) {
  const api::CommandAnswer answer{.id = command.id,
                                  .verb = CutText(command.verb, kVerbBytesMax),
                                  .result = result,
                                  .message = CutText(message, kMessageBytesMax),
                                  .at = now};
  if (command.id.empty()) {
    status.command_result = ToString(answer);
    return;
  }
  status.answers.push_back(answer);
  if (status.answers.size() > api::kAnswersMax) status.answers.erase(status.answers.begin());
}

// Records who gave a command that is executed now, if that is known.
void NoteGiver(Draft& draft, const api::Command& command) {
  if (!command.by.empty()) draft.Record("CommandGiven", fmt::format("{}, by {}", command.verb, command.by));
}

// Puts back the commands that were not answered.
void PutBack(Draft& draft, std::vector<api::Command>::const_iterator from,
             std::vector<api::Command>::const_iterator to) {
  for (; from != to; ++from) {
    if (from->id.empty()) draft.status().command = *from;
    if (!from->id.empty()) draft.status().commands.push_back(*from);
  }
}

}  // namespace

std::string WhyNoAbort(const Draft& draft, const api::Command&) {
  return IsUnderWay(draft.status().rollout.phase) ? "" : "no rollout is under way";
}

std::string Abort(Draft& draft, const api::Command&) {
  draft.RollBack("Aborted", "aborted by command", true);
  return "";
}

std::string WhyRefused(const Draft& draft, const api::Command& command) {
  if (const std::string why = WhyOutdated(draft, command); !why.empty()) return why;
  const Handler* handler = HandlerOf(command);
  if (handler == nullptr) return "the commands are promote, abort, pause, resume, retry, undo and validate";
  return handler->why_refused(draft, command);
}

void DescribeCommands(Draft& draft) {
  std::vector<std::string> accepted;
  for (const Handler& handler : kHandlers) {
    api::Command command = api::CommandFor(std::string(handler.verb), draft.generation(), draft.status());
    command.id = "any";
    if (WhyRefused(draft, command).empty()) accepted.push_back(command.verb);
  }
  draft.status().accepted_commands = std::move(accepted);
}

void TakeCommands(Draft& draft) {
  const std::vector<api::Command> queue = TakeQueue(draft.status());
  const int64_t stable = draft.status().stable_version;
  const auto last_back = std::ranges::find_if(queue.rbegin(), queue.rend(), GoesBack).base();
  for (auto command = queue.begin(); command != queue.end(); ++command) {
    if (draft.status().stable_version != stable) return PutBack(draft, command, queue.end());
    if (command < last_back && !GoesBack(*command)) {
      Answer(draft.status(), *command, api::CommandResult::kSuperseded,
             fmt::format("the command {} was given after it", std::prev(last_back)->verb), draft.now());
      continue;
    }
    const std::string why_refused = WhyRefused(draft, *command);
    if (why_refused.empty()) NoteGiver(draft, *command);
    const std::string message = why_refused.empty() ? HandlerOf(*command)->execute(draft, *command) : why_refused;
    Answer(draft.status(), *command, why_refused.empty() ? api::CommandResult::kDone : api::CommandResult::kRefused,
           message, draft.now());
  }
}

void RefuseCommands(api::ModelStatus& status, const std::string& why, TimePoint now) {
  status.accepted_commands.clear();
  for (const api::Command& command : TakeQueue(status)) {
    Answer(status, command, api::CommandResult::kRefused, why, now);
  }
}

}  // namespace longshore::rollout

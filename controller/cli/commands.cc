#include "controller/cli/commands.h"

#include "controller/api/format.h"
#include "controller/api/parse.h"
#include "controller/cli/changes.h"
#include "controller/cli/select.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

// Adds the command to the current status of the model.
Result<store::Object> PutCommand(store::Store& store, const api::Key& key, const std::string& verb) {
  for (int attempt = 0; attempt < kConflictRetriesMax; ++attempt) {
    ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, key));
    ASSIGN_OR_RETURN(api::Model model, ToModel(object));
    model.status.command =
        api::Command{.verb = verb, .generation = object.metadata.generation, .step = model.status.rollout.step_index};
    const auto written =
        store.PutStatus(key, object.metadata.uid, object.metadata.resource_version, api::ToJson(model.status));
    if (written || written.error().code != Code::kAborted) return written;
  }
  return Aborted("{}: its status changed during each of {} attempts to write the command", api::ToString(key),
                 kConflictRetriesMax);
}

// Removes a command that no controller has taken, and returns nullopt. If a controller has taken the command meanwhile,
// returns the controller's answer.
Result<std::optional<std::string>> Withdraw(store::Store& store, const api::Key& key) {
  for (int attempt = 0; attempt < kConflictRetriesMax; ++attempt) {
    ASSIGN_OR_RETURN(const store::Object object, store.Get(key));
    ASSIGN_OR_RETURN(api::Model model, ToModel(object));
    if (!model.status.command) return model.status.command_result;
    model.status.command.reset();
    const auto written =
        store.PutStatus(key, object.metadata.uid, object.metadata.resource_version, api::ToJson(model.status));
    if (written) return std::nullopt;
    if (written.error().code != Code::kAborted) return tl::make_unexpected(written.error());
  }
  return Aborted(
      "{}: no controller took the command in time, and it could not be withdrawn, so a controller may still execute it",
      api::ToString(key));
}

}  // namespace

bool IsRefusal(const std::string& command_result) { return command_result.find(": refused: ") != std::string::npos; }

Result<std::vector<Applied>> ApplyManifest(store::Store& store, const Manifest& manifest, ApplyMode mode) {
  ASSIGN_OR_RETURN(const std::vector<api::ParsedObject> parsed,
                   api::ParseManifests(manifest.file, manifest.text, manifest.home, manifest.namespace_));
  std::vector<Applied> applied;
  for (const api::ParsedObject& object : parsed) {
    const auto before = store.Get(api::KeyOf(object));
    if (!before && before.error().code != Code::kNotFound) return tl::make_unexpected(before.error());
    const store::Object wanted{
        .metadata = object.metadata, .kind = object.kind, .spec = api::SpecToJson(object), .status = {}};
    Applied one;
    if (before) one.before = *before;
    ASSIGN_OR_RETURN(one.after, mode == ApplyMode::kDryRun ? store.DryApply(wanted) : store.Apply(wanted));
    applied.push_back(std::move(one));
  }
  return applied;
}

std::vector<text::Difference> DifferencesOf(const Applied& applied) {
  return text::Differences(applied.before ? store::ToDocument(*applied.before) : Json(),
                           store::ToDocument(applied.after));
}

std::string OutcomeOf(const Applied& applied) {
  if (!applied.before) return "created";
  return DifferencesOf(applied).empty() ? "unchanged" : "changed";
}

Status DeleteObject(store::Store& store, const api::Key& key) {
  ASSIGN_OR_RETURN(const store::Object object, GetOrHint(store, key));
  return store.Delete(key, object.metadata.uid);
}

Result<std::string> SendCommand(store::Store& store, const api::Key& key, const std::string& verb,
                                std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  ASSIGN_OR_RETURN(const auto changes, Changes::Watch(store, [&](const api::Key& changed) { return changed == key; }));
  ASSIGN_OR_RETURN(const store::Object written, PutCommand(store, key, verb));
  while (true) {
    ASSIGN_OR_RETURN(const store::Object object, store.Get(key));
    ASSIGN_OR_RETURN(const api::Model model, ToModel(object));
    if (!model.status.command) return model.status.command_result;
    if (!changes->WaitUntil(deadline)) break;
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> late, Withdraw(store, key));
  if (late) return *late;
  return DeadlineExceeded(
      "no controller took the command \"{} {}\" within {} ms, so it was withdrawn; is longshore-controller running?",
      verb, key.name, patience.count());
}

}  // namespace longshore::cli

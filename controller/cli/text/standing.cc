#include "controller/cli/text/standing.h"

#include <algorithm>
#include <set>

#include "controller/cli/text/explain.h"
#include "controller/cli/text/table.h"
#include "controller/cli/text/text.h"

namespace longshore::cli::text {
namespace {

// The condition that is False while nodes lack a version that they should have. Other nodes answer for them, so the
// object is as wanted.
constexpr const char* kNodesAvailable = "NodesAvailable";
// The condition that is False while the version that serves fails its golden set. It is the version that the manifest
// asks for, so the object is as wanted.
constexpr const char* kGoldenSetPasses = "GoldenSetPasses";
// The condition that is False while pairs have too little room. The rollout goes on, only more slowly.
constexpr const char* kPairsHaveRoom = "PairsHaveRoom";
// The condition that is False while nodes cannot write something to their disks. They serve as wanted.
constexpr const char* kStorageWritable = "StorageWritable";

// The reason of the condition ManifestAccepted of a fleet while the CRDs are older than the controller. All is served
// as wanted, but statuses lack fields.
constexpr const char* kOldKinds = "OldKinds";

// The reason of the condition Stalled of a fleet whose nodes cannot be started or whose address is taken. The
// controller tries again until it can.
constexpr const char* kNeedsHelp = "NeedsHelp";

// Whether the condition says that the version that serves fails its golden set, or that a run of it is overdue.
bool IsGoldenTrouble(const api::Condition& condition) {
  return condition.type == kGoldenSetPasses && (condition.status == "False" || condition.reason == "Overdue");
}

// Whether the condition reports a problem. Conditions of the types in kOthers are shown in another way, or are False if
// all is well.
bool IsTrouble(const api::Condition& condition) {
  static const std::set<std::string> kOthers = {"Ready", "Reconciling", "Stalled", "Progressing"};
  return IsGoldenTrouble(condition) || (condition.status == "False" && !kOthers.contains(condition.type));
}

// Whether only a person can end the trouble: a label names a version that failed or has no files, or the manifest that
// defines the object was deleted. It may also be short, while somebody copies files or an editor replaces one.
bool NeedsAPerson(const api::Condition& condition) {
  static const std::set<std::string> kMayPass = {"NotReady", "NotEnoughMemory"};
  if (condition.type == "LabelsServed") return !kMayPass.contains(condition.reason);
  return condition.type == "ManifestAccepted" && condition.reason == "Vanished";
}

// Why an object waits for a controller. One of a cluster that no controller has ever processed may be in a namespace
// that the controller does not watch.
std::string NotProcessed(const api::Metadata& metadata, int64_t observed_generation, const HostSeen& seen) {
  const std::string text = "no controller has processed this manifest yet";
  if (observed_generation > 0 || seen.is_host) return text;
  return fmt::format("{}; on a cluster, is namespace {} one that the controller watches (watchNamespaces)?", text,
                     metadata.namespace_);
}

// The report that follows from the conditions that Models and ServingFleets have in common.
template <typename ObjectStatus>
Report ByConditions(const api::Metadata& metadata, const ObjectStatus& status, const HostSeen& seen) {
  const std::vector<api::Condition>& conditions = status.conditions;
  const auto find = [&](const char* type) {
    const auto found = std::ranges::find(conditions, type, &api::Condition::type);
    return found == conditions.end() ? api::Condition{} : *found;
  };
  const api::Condition ready = find("Ready");
  if (status.observed_generation < metadata.generation || ready.type.empty())
    return {Standing::kUnderWay, NotProcessed(metadata, status.observed_generation, seen)};
  if (status.epoch < seen.epoch)
    return {Standing::kUnderWay, "the controller has started but has not reconciled this object yet"};
  const api::Condition stalled = find("Stalled");
  if (stalled.status == "True")
    return {Standing::kFailed, stalled.reason + ": " + stalled.message, stalled.reason == kNeedsHelp};
  const auto trouble = std::ranges::find_if(conditions, [](const api::Condition& condition) {
    static const std::set<std::string> kAsWantedWith = {kNodesAvailable, kGoldenSetPasses, kPairsHaveRoom,
                                                        kStorageWritable};
    return IsTrouble(condition) && !kAsWantedWith.contains(condition.type) && condition.reason != kOldKinds;
  });
  if (trouble != conditions.end()) {
    const bool is_failed = NeedsAPerson(*trouble);
    return {is_failed ? Standing::kFailed : Standing::kUnderWay, trouble->type + ": " + trouble->message, is_failed};
  }
  const bool done = ready.status == "True" && find("Reconciling").status != "True";
  if (const auto old = std::ranges::find(conditions, kOldKinds, &api::Condition::reason); old != conditions.end())
    return {done ? Standing::kAsWanted : Standing::kUnderWay, old->message};
  for (const api::Condition& shown : {find(kGoldenSetPasses), find(kNodesAvailable), find(kStorageWritable)}) {
    if (IsTrouble(shown)) return {done ? Standing::kAsWanted : Standing::kUnderWay, shown.type + ": " + shown.message};
  }
  return {done ? Standing::kAsWanted : Standing::kUnderWay, ready.message};
}

// If no controller has read the manifest yet, only the manifest counts, because the object's status is about an older
// text of the manifest.
Report WithManifest(const api::Key& key, const Report& of_object, const HostSeen& seen) {
  const auto found = seen.manifest_of.find(key);
  if (found == seen.manifest_of.end()) return of_object;
  const ManifestReport& manifest = seen.manifests.at(found->second);
  if (manifest.is_read && of_object.standing >= manifest.report.standing) return of_object;
  return {manifest.report.standing, manifest.file + ": " + manifest.report.why};
}

std::string RolloutWithCause(const api::Model& model) {
  const std::string cause = CauseOf(model);
  return RolloutInShort(model) + (cause.empty() ? "" : ": " + cause);
}

// Returns the report if the status of the Model is not about its fleet as it is now. Whatever such a status says, it
// may be untrue: the version may be on the nodes of a deleted fleet, or on all nodes of one that has more nodes now.
std::optional<Report> ByFleet(const api::Model& model, const HostSeen& seen) {
  const api::Key fleet = api::FleetKey(api::FleetOf(model.metadata, model.spec));
  if (const auto at = seen.manifest_of.find(fleet); at != seen.manifest_of.end()) {
    const ManifestReport& manifest = seen.manifests.at(at->second);
    if (!manifest.is_read) return Report{Standing::kUnderWay, manifest.file + ": " + manifest.report.why};
  }
  const auto found = std::ranges::find(model.status.conditions, "FleetFound", &api::Condition::type);
  if (!seen.fleets || found == model.status.conditions.end()) return std::nullopt;
  const auto now = seen.fleets->find(fleet);
  const bool exists = now != seen.fleets->end();
  const auto report = [&](const char* what) {
    return Report{Standing::kUnderWay,
                  fmt::format("{} {}, which the controller has not processed yet", api::ToString(fleet), what)};
  };
  if (exists != (found->status == "True")) return report(exists ? "exists now" : "does not exist");
  const api::ObservedFleet& observed = model.status.observed_fleet;
  if (!exists || now->second.uid.empty() || observed.uid.empty() || observed == now->second) return std::nullopt;
  return report(observed.uid != now->second.uid ? "was created again" : "has changed");
}

Report ReportWithoutManifest(const api::Model& model, const HostSeen& seen) {
  if (const auto report = ByFleet(model, seen)) return *report;
  Report report = ByConditions(model.metadata, model.status, seen);
  // A failure that may be over soon does not hide a rollout.
  if (report.standing == Standing::kFailed && !report.is_retried) return report;
  if (IsUnderWay(model.status.rollout.phase)) return {Standing::kUnderWay, RolloutWithCause(model)};
  const bool served = !model.spec.version || *model.spec.version == model.status.stable_version;
  if (report.standing == Standing::kAsWanted && !served)
    return {Standing::kUnderWay, fmt::format("version {} has not begun its rollout", *model.spec.version)};
  return report;
}

std::string ServesText(const api::Model& model) {
  if (model.status.stable_version == 0) return "no version yet";
  const std::string why = WhyNothingServes(model);
  return why.empty() ? fmt::format("version {}", model.status.stable_version) : "no version: " + why;
}

std::string Line(const char* name, const std::string& text) {
  return text.empty() ? "" : fmt::format("  {:<9} {}\n", name, text);
}

std::string VerdictInShort(const api::Model& model, TimePoint now) {
  const api::Verdict& verdict = model.status.rollout.verdict;
  const bool has_none = verdict.result.empty() || verdict.reason == "NotStarted";
  if (!api::IsUnderWay(model.status.rollout.phase) || has_none) return "";
  const std::string age = AgeOfNumbers(model, now);
  return fmt::format("{} ({}): {}{}", verdict.result, verdict.reason, verdict.message,
                     age.empty() ? "" : fmt::format(" (the numbers were last updated {} ago)", age));
}

}  // namespace

const char* StandingName(Standing standing) {
  switch (standing) {
    case Standing::kAsWanted: return "as wanted";
    case Standing::kUnderWay: return "under way";
    case Standing::kFailed: break;
  }
  return "failed";
}

Report ReportOf(const api::Model& model, const HostSeen& seen) {
  const api::Key key{api::kModelKind, model.metadata.namespace_, model.metadata.name};
  return WithManifest(key, ReportWithoutManifest(model, seen), seen);
}

Report ReportOf(const api::ServingFleet& fleet, const HostSeen& seen) {
  const api::Key key{api::kServingFleetKind, fleet.metadata.namespace_, fleet.metadata.name};
  return WithManifest(key, ByConditions(fleet.metadata, fleet.status, seen), seen);
}

Standing StandingOf(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models,
                    const HostSeen& seen) {
  Standing worst = Standing::kAsWanted;
  for (const ManifestReport& manifest : seen.manifests) worst = std::max(worst, manifest.report.standing);
  for (const api::ServingFleet& fleet : fleets) worst = std::max(worst, ReportOf(fleet, seen).standing);
  for (const api::Model& model : models) worst = std::max(worst, ReportOf(model, seen).standing);
  return worst;
}

bool HasFailedForGood(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models,
                      const HostSeen& seen) {
  const auto has = [](const Report& report) { return report.standing == Standing::kFailed && !report.is_retried; };
  return std::ranges::any_of(seen.manifests, has, &ManifestReport::report) ||
         std::ranges::any_of(fleets, has, [&](const auto& fleet) { return ReportOf(fleet, seen); }) ||
         std::ranges::any_of(models, has, [&](const auto& model) { return ReportOf(model, seen); });
}

std::string StatusTable(const std::vector<api::ServingFleet>& fleets, const std::vector<api::Model>& models,
                        const HostSeen& seen) {
  Table table({"KIND", "NAME", "IS", "SERVES", "WHY"});
  for (const ManifestReport& manifest : seen.manifests)
    table.Add({"manifest", manifest.file, StandingName(manifest.report.standing), "-", manifest.report.why});
  for (const api::ServingFleet& fleet : fleets) {
    const Report report = ReportOf(fleet, seen);
    table.Add({"fleet", fleet.metadata.namespace_ + "/" + fleet.metadata.name, StandingName(report.standing), "-",
               report.why});
  }
  for (const api::Model& model : models) {
    const Report report = ReportOf(model, seen);
    const bool serves = model.status.stable_version != 0 && WhyNothingServes(model).empty();
    table.Add({"model", model.metadata.namespace_ + "/" + model.metadata.name, StandingName(report.standing),
               serves ? std::to_string(model.status.stable_version) : "-", report.why});
  }
  return table.Text();
}

std::string StatusOfModel(const api::Model& model, TimePoint now, const HostSeen& seen) {
  const Report report = ReportOf(model, seen);
  const api::ModelStatus& status = model.status;
  std::string text =
      fmt::format("Model {}/{}: {}\n", model.metadata.namespace_, model.metadata.name, StandingName(report.standing));
  text += Line("why", report.why);
  text += Line("serves", ServesText(model));
  text += Line("wanted", model.spec.version ? fmt::format("version {}", *model.spec.version) : "the newest version");
  if (IsUnderWay(status.rollout.phase)) text += Line("waits", WaitReason(model, now));
  text += Line("verdict", VerdictInShort(model, now));
  for (const api::Condition& condition : status.conditions) {
    if (IsTrouble(condition)) text += Line("trouble", condition.type + ": " + condition.message);
  }
  return text;
}

}  // namespace longshore::cli::text

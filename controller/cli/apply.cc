#include "controller/cli/apply.h"

#include <algorithm>
#include <ostream>
#include <set>

#include "controller/api/sentences.h"
#include "controller/cli/absent.h"
#include "controller/cli/commands.h"
#include "controller/cli/host/definitions.h"
#include "controller/cli/host/disagreement.h"
#include "controller/cli/input/ports.h"
#include "controller/cli/input/source_check.h"
#include "controller/cli/manifests.h"
#include "controller/cli/select.h"
#include "controller/cli/text/plan.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

// Returns the model's fleet from the manifest if the manifest defines it, otherwise from the store; nullopt if neither
// has it.
Result<std::optional<api::ServingFleet>> FleetOf(const api::Model& model, const std::vector<Applied>& applied,
                                                 store::Store& store) {
  const api::Key key = api::FleetKey(api::FleetOf(model.metadata, model.spec));
  const auto written =
      std::ranges::find_if(applied, [&](const Applied& one) { return store::KeyOf(one.after) == key; });
  const auto object = written != applied.end() ? Result<store::Object>(written->after) : store.Get(key);
  if (!object && object.error().code == Code::kNotFound) return std::nullopt;
  if (!object) return tl::make_unexpected(object.error());
  ASSIGN_OR_RETURN(api::ServingFleet fleet, ToFleet(*object));
  return fleet;
}

// For a fleet that neither the manifest nor the store has.
std::string WhyNoFleet(const api::Model& model, const std::vector<Applied>& applied, store::Store& store) {
  std::vector<api::Key> known = store.Keys(api::kServingFleetKind).value_or(std::vector<api::Key>{});
  for (const Applied& one : applied) {
    if (one.after.kind == api::kServingFleetKind) known.push_back(store::KeyOf(one.after));
  }
  return api::NoFleetSentence(api::FleetKey(api::FleetOf(model.metadata, model.spec)), known);
}

// One line for each Model whose fleet does not exist. A fleet that cannot be read, for example for lack of rights, may
// exist.
std::string WarningsText(const std::vector<Applied>& applied, store::Store& store) {
  std::string text;
  for (const Applied& one : applied) {
    if (one.after.kind != api::kModelKind) continue;
    const auto model = ToModel(one.after);
    const auto fleet = model ? FleetOf(*model, applied, store) : tl::make_unexpected(model.error());
    if (!fleet || *fleet) continue;
    text += fmt::format("Warning: {} cannot be served: {}\n", api::ToString(store::KeyOf(one.after)),
                        WhyNoFleet(*model, applied, store));
  }
  return text;
}

// One line for each port of an applied fleet that another fleet has, too; of two applied fleets, the second one has the
// line. Two fleets of a cluster may have the same ports.
std::string PortsText(const std::vector<Applied>& applied, const Place& place) {
  if (place.manifests.empty()) return "";
  input::Fleets others = StoredFleets(*place.store);
  for (const Applied& one : applied) others.erase(store::KeyOf(one.after));
  std::string text;
  for (const Applied& one : applied) {
    if (one.after.kind != api::kServingFleetKind) continue;
    const auto fleet = ToFleet(one.after);
    if (!fleet) continue;
    const api::Key key = store::KeyOf(one.after);
    for (const auto& [other, spec] : others) {
      for (const std::string& conflict : input::SharedPorts(fleet->spec, spec))
        text += fmt::format("Warning: {}: {} of {}; on one host each fleet needs its own ports\n", api::ToString(key),
                            conflict, api::ToString(other));
    }
    others.emplace(key, fleet->spec);
  }
  return text;
}

// One line for each applied Model with a served name that another Model of its fleet has.
std::string ServedNamesText(const std::vector<Applied>& applied, store::Store& store) {
  input::Models others = StoredModels(store);
  for (const Applied& one : applied) others.erase(store::KeyOf(one.after));
  input::ServedNames names;
  for (const auto& [key, spec] : others) names.Add(key, spec, "");
  std::string text;
  for (const Applied& one : applied) {
    if (one.after.kind != api::kModelKind) continue;
    const auto model = ToModel(one.after);
    const std::string taken = model ? names.Add(store::KeyOf(one.after), model->spec, "") : "";
    if (!taken.empty()) text += fmt::format("Warning: {}: {}\n", api::ToString(store::KeyOf(one.after)), taken);
  }
  return text;
}

// One line for each label of an applied Model whose version is not in the Model's folder on this host, and for a golden
// set that its metric cannot judge. Neither keeps a rollout from beginning.
std::string SourcesText(const std::vector<Applied>& applied, const Place& place) {
  if (place.manifests.empty()) return "";
  std::string text;
  for (const Applied& one : applied) {
    if (one.after.kind != api::kModelKind) continue;
    const auto model = ToModel(one.after);
    if (!model) continue;
    for (const auto& problems : {input::LabelProblems(model->spec), input::MetricProblems(model->spec)}) {
      for (const input::FieldProblem& problem : problems)
        text += fmt::format("Warning: {}: {}\n", api::ToString(store::KeyOf(one.after)), input::ToString(problem));
    }
  }
  return text;
}

// One line for each namespace of applied objects that no controller serves.
std::string NamespacesText(const std::vector<Applied>& applied, const Place& place) {
  std::set<std::string> namespaces;
  for (const Applied& one : applied) namespaces.insert(one.after.metadata.namespace_);
  std::string text;
  for (const std::string& namespace_ : namespaces) {
    const std::string unwatched = WhyUnwatched(namespace_, place);
    if (!unwatched.empty()) text += fmt::format("Warning: {}\n", unwatched);
  }
  return text;
}

// The names of the fleet's nodes. If the fleet has fewer nodes than `replicas_min`, includes the names that the missing
// nodes would get.
std::vector<std::string> NodeNamesOf(const api::ServingFleet& fleet) {
  std::vector<std::string> nodes;
  for (const api::FleetNodeStatus& node : fleet.status.nodes) nodes.push_back(node.name);
  for (int i = static_cast<int>(nodes.size()); i < fleet.spec.replicas_min; ++i) {
    nodes.push_back(fmt::format("{}-{}", fleet.metadata.name, i));
  }
  return nodes;
}

// A guess at the newest version that nodes would find, which this program does not know: the candidate of the rollout
// under way, otherwise the number after the stable version. nullopt if the model names its version.
std::optional<int64_t> NewestOf(const api::Model& model) {
  if (model.spec.version) return std::nullopt;
  const api::RolloutStatus& rollout = model.status.rollout;
  return IsUnderWay(rollout.phase) ? rollout.candidate : model.status.stable_version + 1;
}

// Returns why the rollout would fail on this host; "" if nothing points there, or on a cluster.
std::string ProblemHere(const api::ModelSpec& spec, const Place& place) {
  if (place.manifests.empty()) return "";
  const std::vector<input::FieldProblem> problems = input::SourceProblems(spec);
  return problems.empty() ? "" : input::ToString(problems.front());
}

Result<std::string> PlanOf(const Applied& one, const std::vector<Applied>& applied, const Place& place, TimePoint now) {
  ASSIGN_OR_RETURN(api::Model model, ToModel(one.after));
  if (one.before) {  // The object that a dry run returns may lack the status.
    ASSIGN_OR_RETURN(model.status, api::ModelStatusFromJson(one.before->status));
  }
  ASSIGN_OR_RETURN(const std::optional<api::ServingFleet> fleet, FleetOf(model, applied, *place.store));
  const std::string name = api::FleetOf(model.metadata, model.spec);
  rollout::Preview no_rollout;
  if (!fleet) no_rollout.no_rollout_reason = WhyNoFleet(model, applied, *place.store);
  if (fleet && !api::Allows(*fleet, model.metadata.namespace_))
    no_rollout.no_rollout_reason =
        fmt::format("fleet {} does not serve Models of namespace {}", name, model.metadata.namespace_);
  if (fleet && no_rollout.no_rollout_reason.empty()) no_rollout.no_rollout_reason = ProblemHere(model.spec, place);
  if (!no_rollout.no_rollout_reason.empty()) return text::PlanText(model, no_rollout, {});
  const std::vector<std::string> nodes = NodeNamesOf(*fleet);
  return text::PlanText(model, rollout::PredictRollout(model, nodes, NewestOf(model), now),
                        {.nodes = nodes.size(), .concurrent_runs_max = fleet->spec.concurrent_runs_max});
}

host::Objects Before(const std::vector<Applied>& applied) {
  host::Objects objects;
  for (const Applied& one : applied) objects.emplace(store::KeyOf(one.after), one.before);
  return objects;
}

host::Objects After(const std::vector<Applied>& applied) {
  host::Objects objects;
  for (const Applied& one : applied) objects.emplace(store::KeyOf(one.after), one.after);
  return objects;
}

}  // namespace

Status Apply(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::vector<api::ParsedObject> objects, ReadManifests(options, place.home));
  RETURN_IF_ERROR(host::CheckDefinedOnce(objects, place.manifests));
  const ApplyMode mode = options.dry_run ? ApplyMode::kDryRun : ApplyMode::kWrite;
  ASSIGN_OR_RETURN(const std::vector<Applied> applied, ApplyObjects(*place.store, objects, mode));
  for (const Applied& one : applied) {
    out << api::ToString(store::KeyOf(one.after)) << " " << OutcomeOf(one) << (options.dry_run ? " (dry run)\n" : "\n")
        << KeptText(place, one);
  }
  out << PortsText(applied, place) << ServedNamesText(applied, *place.store) << SourcesText(applied, place)
      << NamespacesText(applied, place);
  out << host::DisagreementsText(place.manifests, After(applied),
                                 options.dry_run ? host::ObjectsAre::kPlanned : host::ObjectsAre::kStored);
  if (!options.dry_run) {
    out << WarningsText(applied, *place.store);
    return {};
  }
  for (const Applied& one : applied) {
    if (one.after.kind != api::kModelKind) continue;
    ASSIGN_OR_RETURN(const std::string plan, PlanOf(one, applied, place, clock.Now()));
    out << "\n" << plan;
  }
  return {};
}

Result<int> Diff(const Options& options, const Place& place, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::vector<api::ParsedObject> objects, ReadManifests(options, place.home));
  RETURN_IF_ERROR(host::CheckDefinedOnce(objects, place.manifests));
  ASSIGN_OR_RETURN(const std::vector<Applied> applied, ApplyObjects(*place.store, objects, ApplyMode::kDryRun));
  bool differs = false;
  for (const Applied& one : applied) {
    const std::string outcome = OutcomeOf(one);
    const std::string kept = KeptText(place, one);
    differs = differs || outcome != "unchanged" || !kept.empty();
    if (outcome != "unchanged")
      out << api::ToString(store::KeyOf(one.after)) << " would be " << outcome << "\n"
          << text::DiffText(DifferencesOf(one));
    out << kept;
  }
  out << host::DisagreementsText(place.manifests, Before(applied));
  return differs ? kExitDiffers : kExitOk;
}

}  // namespace longshore::cli

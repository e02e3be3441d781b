#include "serving-node/control/report.h"

#include <algorithm>

#include "serving-node/models/model_store.h"

namespace longshore::control {
namespace {

using models::State;

void AddStatus(const models::VersionStatus& status, const AgentDeps& deps, VersionReport* report) {
  const auto quarantine = deps.gate.Quarantined(report->served_name(), status.version);
  const GateView gate{deps.gate.InRehearsal(report->served_name(), status.version), quarantine.has_value()};
  report->set_state(StateOf(status, gate));
  if (status.state == State::kFailed) report->set_message(status.error.message);
  if (status.state == State::kFailed && status.memory_shortage) {
    report->mutable_memory_shortage()->set_needed_bytes(status.memory_shortage->needed_bytes);
    report->mutable_memory_shortage()->set_free_bytes(status.memory_shortage->free_bytes);
    report->mutable_memory_shortage()->set_by_own_limit(status.memory_shortage->by_own_limit);
  }
  report->set_digest(status.digest);
  report->set_memory_bytes(status.memory_bytes);
}

void AddTrip(const std::vector<routing::Trip>& trips, const routing::GuardKey& key, VersionReport* report) {
  const auto trip = std::ranges::find(trips, key, &routing::Trip::key);
  if (trip == trips.end()) return;
  report->mutable_guard()->set_tripped(true);
  report->mutable_guard()->set_reason(trip->reason);
  report->mutable_guard()->set_message(trip->message);
  report->mutable_guard()->set_tripped_at_unix_ms(ToUnixMillis(trip->at));
}

// An archive that is not ready is reported as LOADING, even after a failed fetch, because the fetch is retried.
void AddSource(const sources::VersionSource& source, const sources::Sources& sources, VersionReport* report) {
  const sources::SourceStatus status = sources.StatusOf(source);
  if (status.state == sources::SourceState::kReady) return;
  report->set_state(sources::IsArchive(source) ? VersionReport::LOADING : VersionReport::FAILED);
  report->set_message(status.message);
}

SourceReport ReportOf(const ModelState& model, const sources::Sources& sources) {
  const sources::SourceStatus status = sources.StatusOf(sources::SourceOf(model));
  SourceReport report;
  report.set_served_name(model.served_name());
  report.set_sha256(model.source_sha256());
  report.set_message(status.message);
  switch (status.state) {
    case sources::SourceState::kReady: report.set_state(SourceReport::READY); break;
    case sources::SourceState::kFetching: report.set_state(SourceReport::FETCHING); break;
    case sources::SourceState::kFailed: report.set_state(SourceReport::FAILED); break;
  }
  return report;
}

// A folder is reported only if it has a problem.
void AddSources(const DesiredState& state, const FolderFindings& folders, const sources::Sources& sources,
                Report* report) {
  for (const ModelState& model : state.models()) {
    const auto problem = folders.problems.find(model.served_name());
    if (sources::IsArchive(sources::SourceOf(model))) {
      *report->add_sources() = ReportOf(model, sources);
    } else if (problem != folders.problems.end()) {
      SourceReport& entry = *report->add_sources();
      entry.set_served_name(model.served_name());
      entry.set_state(SourceReport::FAILED);
      entry.set_message(problem->second.message);
      entry.set_uri(problem->second.uri);
    }
  }
}

// The last repeated run of the golden set counts; before the first one, the run in the rehearsal.
void AddGolden(const AgentDeps& deps, VersionReport* report) {
  if (const auto rehearsed = deps.gate.Golden(report->served_name(), report->version()))
    *report->mutable_golden() = *rehearsed;
  if (deps.golden_runs != nullptr) deps.golden_runs->AddTo(report);
}

// The worst pairs of a rollout that is over take some kilobytes in each report, and the controller keeps them.
void ClearWorst(control::PairEvidence* pairs) {
  pairs->clear_worst();
  pairs->clear_worst_salt();
}

void AddModel(const ModelState& model, const std::vector<routing::Trip>& trips, const AgentDeps& deps, Report* report) {
  const auto statuses = deps.store.Statuses(model.served_name());
  for (const VersionState& version : model.versions()) {
    VersionReport& entry = *report->add_versions();
    entry.set_served_name(model.served_name());
    entry.set_version(version.version());
    entry.set_weight_bp(deps.router.AppliedWeight(model.served_name(), version.version()));
    const auto status = std::ranges::find(statuses, version.version(), &models::VersionStatus::version);
    if (status != statuses.end()) AddStatus(*status, deps, &entry);
    if (version.load()) AddSource(sources::SourceOf(model, version.version()), deps.sources, &entry);
    AddGolden(deps, &entry);
    AddTrip(trips, {model.served_name(), version.version(), model.assignment().salt()}, &entry);
    *entry.mutable_evidence() = deps.recorder.Snapshot(model.served_name(), version.version());
    if (version.role() != control::CANDIDATE) ClearWorst(entry.mutable_evidence()->mutable_pairs());
  }
}

// Adds versions that are no longer in the state but not unloaded yet.
void AddUnloading(const DesiredState& state, const AgentDeps& deps, Report* report) {
  for (const std::string& name : deps.store.Names()) {
    const auto model = std::ranges::find(state.models(), name, &ModelState::served_name);
    for (const models::VersionStatus& status : deps.store.Statuses(name)) {
      if (status.state == State::kEnd || status.state == State::kFailed) continue;
      const bool known = model != state.models().end() &&
                         std::ranges::count(model->versions(), status.version, &VersionState::version) > 0;
      if (known) continue;
      VersionReport& entry = *report->add_versions();
      entry.set_served_name(name);
      entry.set_version(status.version);
      AddStatus(status, deps, &entry);
    }
  }
}

void AddFound(const FoundVersions& all, Report* report) {
  for (const auto& [name, versions] : all) {
    for (const int64_t version : versions) {
      const auto is_it = [&](const VersionReport& entry) {
        return entry.served_name() == name && entry.version() == version;
      };
      if (std::ranges::any_of(report->versions(), is_it)) continue;
      VersionReport& entry = *report->add_versions();
      entry.set_served_name(name);
      entry.set_version(version);
      entry.set_state(VersionReport::UNKNOWN);
    }
  }
}

void AddLoad(const AgentDeps& deps, NodeLoad* load) {
  const batching::Load admission = deps.admission.load();
  deps.recorder.AddTo(load);
  load->set_running(admission.running);
  load->set_queued(admission.queued);
  load->set_concurrent_runs_max(admission.concurrent_runs_max);
  load->set_busy_seconds(admission.busy_seconds);
  load->set_queue_seconds(admission.queue_seconds);
  load->set_started(admission.started);
  load->set_refused(admission.refused);
  if (deps.connections) load->set_connections(deps.connections());
}

}  // namespace

VersionReport::State StateOf(const models::VersionStatus& status, const GateView& gate) {
  switch (status.state) {
    case State::kStart: return VersionReport::LOADING;
    case State::kRehearsal: return VersionReport::REHEARSAL;
    case State::kLoading: return gate.in_rehearsal ? VersionReport::REHEARSAL : VersionReport::LOADING;
    case State::kWarming: return VersionReport::WARMING;
    case State::kAvailable: return VersionReport::READY;
    case State::kUnloading: return VersionReport::UNLOADING;
    case State::kEnd: return VersionReport::UNKNOWN;
    case State::kFailed: break;
  }
  if (gate.quarantined) return VersionReport::QUARANTINED;
  return status.error.code == Code::kNotFound ? VersionReport::NOT_FOUND : VersionReport::FAILED;
}

Report BuildReport(const DesiredState& state, const FolderFindings& folders, bool draining, const AgentDeps& deps) {
  Report report;
  report.set_epoch(state.epoch());
  report.set_revision(state.revision());
  report.set_draining(draining);
  const auto trips = deps.guards.Trips();
  for (const ModelState& model : state.models()) AddModel(model, trips, deps, &report);
  AddSources(state, folders, deps.sources, &report);
  for (control::RulesReport& problem : deps.router.RulesProblems()) *report.add_rules() = std::move(problem);
  AddUnloading(state, deps, &report);
  AddFound(folders.versions, &report);
  AddLoad(deps, report.mutable_load());
  for (const storage::Problem& problem : deps.storage.Problems()) {
    StorageProblem& entry = *report.add_storage();
    entry.set_what(problem.what);
    entry.set_message(problem.message());
  }
  return report;
}

}  // namespace longshore::control

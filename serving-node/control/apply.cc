#include "serving-node/control/apply.h"

#include <algorithm>

#include "common/os/log.h"
#include "serving-node/models/model_store.h"

namespace longshore::control {
namespace {

constexpr int kQueueMaxDefault = 1000;

batching::Options OptionsOf(const Batching& batching) {
  batching::Options options;
  options.max_batch_size = std::max(1, batching.max_batch_size());
  options.max_delay = std::chrono::microseconds(batching.max_delay_us());
  options.queue_max = batching.max_queue() > 0 ? batching.max_queue() : kQueueMaxDefault;
  options.allowed_batch_sizes.assign(batching.allowed_batch_sizes().begin(), batching.allowed_batch_sizes().end());
  return options;
}

const ModelState* FindModel(const DesiredState* state, const std::string& name) {
  if (state == nullptr) return nullptr;
  const auto found = std::ranges::find(state->models(), name, &ModelState::served_name);
  return found == state->models().end() ? nullptr : &*found;
}

const VersionState* FindVersion(const ModelState* model, int64_t number) {
  if (model == nullptr) return nullptr;
  const auto found = std::ranges::find(model->versions(), number, &VersionState::version);
  return found == model->versions().end() ? nullptr : &*found;
}

// Retries a failed version if a user retried the rollout (the salt changed) or the digest of its files changed.
void RetryFailed(const DesiredState& state, const DesiredState* before, models::ModelStore& store) {
  for (const ModelState& model : state.models()) {
    const ModelState* old_model = FindModel(before, model.served_name());
    for (const VersionState& version : model.versions()) {
      const VersionState* old = FindVersion(old_model, version.version());
      if (old == nullptr || !version.load()) continue;
      const bool should_retry =
          old_model->assignment().salt() != model.assignment().salt() || old->digest() != version.digest();
      const auto statuses = store.Statuses(model.served_name());
      const auto status = std::ranges::find(statuses, version.version(), &models::VersionStatus::version);
      if (should_retry && status != statuses.end() && status->state == models::State::kFailed) {
        store.Retry(model.served_name(), version.version());
      }
    }
  }
}

// Sets the weight of a candidate that crashed its process to 0 for this rollout attempt, if its guard counts crashes.
void TripCrashed(const DesiredState& state, const AgentDeps& deps) {
  for (const ModelState& model : state.models()) {
    for (const VersionState& version : model.versions()) {
      if (version.role() != CANDIDATE || !version.guard().crashes()) continue;
      const std::string& salt = model.assignment().salt();
      const auto why = deps.journal.Quarantined({model.served_name(), version.version(), salt});
      if (!why) continue;
      const auto guard = deps.guards.For({model.served_name(), version.version(), salt});
      deps.guards.TripNow(*guard, "Crashed", *why, deps.clock.Now());
    }
  }
}

}  // namespace

std::vector<sources::VersionSource> SourcesOf(const DesiredState& state) {
  std::vector<sources::VersionSource> all;
  for (const ModelState& model : state.models()) {
    all.push_back(sources::SourceOf(model));
    for (const VersionState& version : model.versions()) {
      if (version.load()) all.push_back(sources::SourceOf(model, version.version()));
    }
  }
  return all;
}

std::vector<models::Wanted> WantedOf(const DesiredState& state, const sources::Sources& sources) {
  std::vector<models::Wanted> all;
  for (const ModelState& model : state.models()) {
    models::Wanted wanted;
    wanted.name = model.served_name();
    wanted.base_path = sources.FolderOf(sources::SourceOf(model)).value_or(Path());
    for (const VersionState& version : model.versions()) {
      const auto folder = sources.FolderOf(sources::SourceOf(model, version.version()));
      if (!version.load() || !folder) continue;
      wanted.versions.push_back(version.version());
      if (version.gives_way())
        wanted.giving_way[version.version()] = {std::max<int64_t>(version.memory_bytes_max(), 0)};
      if (*folder != wanted.base_path) wanted.other_base_paths[version.version()] = *folder;
    }
    if (wanted.versions.empty()) continue;
    wanted.labels.insert(model.labels().begin(), model.labels().end());
    wanted.batching = OptionsOf(model.batching());
    wanted.warm_up = !model.skip_warm_up();
    wanted.deterministic = model.validation().deterministic();
    all.push_back(std::move(wanted));
  }
  return all;
}

batching::Limits LimitsOf(const FleetState& fleet) {
  return {.concurrent_runs_max = fleet.concurrent_runs_max(),
          .simulated_run = std::chrono::milliseconds(fleet.simulated_run_ms())};
}

void Apply(const std::shared_ptr<const DesiredState>& state, const DesiredState* before, const AgentDeps& deps) {
  deps.sources.Want(SourcesOf(*state));
  deps.gate.SetState(state);
  if (deps.golden_runs != nullptr) deps.golden_runs->SetState(*state);
  deps.router.SetState(state);
  TripCrashed(*state, deps);
  deps.admission.SetLimits(LimitsOf(state->fleet()));
  deps.store.Apply(WantedOf(*state, deps.sources));
  RetryFailed(*state, before, deps.store);
  if (deps.on_fleet) deps.on_fleet(state->fleet());
}

}  // namespace longshore::control

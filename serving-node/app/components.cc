#include "serving-node/app/components.h"

#include <algorithm>
#include <filesystem>

#include "common/metrics/process.h"
#include "common/os/processors.h"
#include "serving-node/app/flags/flags.h"
#include "serving-node/app/models.h"
#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/observe/requestlog/logging_predictor.h"

namespace longshore::app {
namespace {

constexpr metrics::Name kCertificateEnd{
    "longshore_peer_certificate_end_time_seconds",
    "End of the validity of the newest certificate for peers, in seconds since 1970; 0 if there is none."};

// Creates the components that only a managed node has: the state directory, the journal, the sources, the gate before
// each load, and the certificate for peers.
Status BuildManaged(const flags::Flags& flags, Components& components) {
  std::error_code error;
  std::filesystem::create_directories(flags.state_dir, error);
  if (error) return FailedPrecondition("--state_dir={}: {}", flags.state_dir.string(), error.message());
  ASSIGN_OR_RETURN(components.journal, rehearsal::Journal::Open(flags.state_dir));
  ASSIGN_OR_RETURN(components.sources, sources::Sources::Start(flags.sources.Options(flags.state_dir)));
  rehearsal::GateOptions gate;
  gate.folder_of = [sources = components.sources.get()](const control::ModelState& model, int64_t version) {
    return sources->FolderOf(sources::SourceOf(model, version));
  };
  components.gate = std::make_unique<rehearsal::Gate>(std::move(gate), *components.journal);
  if (flags.controller_ca_file.empty()) return {};
  components.identity = std::make_unique<identity::NodeIdentity>(
      identity::Options{.file = flags.state_dir / "identity.pb", .ca_file = flags.controller_ca_file}, components.clock,
      components.timer);
  components.registry.AddSource([identity = components.identity.get()](metrics::Exposition* out) {
    const TimePoint until = identity->until().value_or(TimePoint{});
    out->Set(kCertificateEnd, {}, std::chrono::duration<double>(until.time_since_epoch()).count());
  });
  return {};
}

frontend::InFlight::Limits InFlightLimits(const flags::ListenerFlags& flags) {
  return {.requests_max = flags.requests_in_flight_max, .answer_bytes_max = flags.answer_bytes_max};
}

// Drops the metric labels of an unloaded version, and those of its model if the model is no longer wanted.
void Forget(const std::string& model, int64_t version, const Components& components) {
  components.requests->ForgetVersion(model, version);
  components.runs->ForgetVersion(model, version);
  components.statistics->Forget(model, version);
  const std::vector<std::string> wanted = components.store->Names();
  if (std::ranges::binary_search(wanted, model)) return;
  components.requests->ForgetModel(model);
  components.runs->ForgetModel(model);
}

void BuildStore(const flags::Flags& flags, models::OnChange on_change, Components& components) {
  models::ModelStore::Options options = flags.loading.StoreOptions(flags.managed());
  options.tags = flags.saved_model_tags;
  options.meter = components.loads.get();
  options.warm_up_iterations = flags.warm_up.iterations();
  options.watch_of = [&components](const std::string& model, int64_t version) {
    return components.profiles.WatchOf(model, version);
  };
  if (flags.batching.enable_per_model_batching_parameters) options.batching_of = flags::BatchingOfVersion;
  models::LoadGate gate;
  if (components.gate) {
    gate = [&components](const std::string& model, int64_t version, const Path& dir) {
      return components.gate->Admit(model, version, dir);
    };
  }
  components.store = std::make_unique<models::ModelStore>(
      *components.engine, *components.admission, options, std::move(gate),
      [&components, on_change = std::move(on_change)](const std::string& model, const models::VersionStatus& status) {
        using models::State;
        const bool loads = status.state == State::kLoading || status.state == State::kWarming;
        if (components.gate && !loads) components.gate->Loaded(model, status.version);
        if (status.state == State::kEnd) Forget(model, status.version, components);
        on_change(model, status);
      });
}

void BuildGoldenRuns(const flags::Flags& flags, Components& components) {
  if (!flags.managed()) return;
  components.golden_runs = std::make_unique<golden_set::GoldenRuns>(*components.store, components.clock,
                                                                    golden_set::GoldenRuns::Options{flags.node});
  components.registry.AddSource([runs = components.golden_runs.get()](metrics::Exposition* out) { runs->Show(out); });
  components.golden_thread = std::make_unique<golden_set::GoldenThread>(*components.golden_runs);
}

std::function<std::string()> AuthorizationOf(const Security& security) {
  if (!security.peer_authorization) return {};
  return [authorization = security.peer_authorization] { return *authorization->current(); };
}

std::function<std::shared_ptr<const identity::PeerIdentity>()> IdentityOf(const Components& components) {
  if (!components.identity) return {};
  return [identity = components.identity.get()] { return identity->current(); };
}

routing::Identities IdentitiesOf(const flags::AuthFlags& flags, const Security& security) {
  if (!security.client_gate) return {};
  return {.identify = [gate = security.client_gate](std::string_view sent) { return gate->CallerOf(sent); },
          .clients = !flags.auth_tokens_file.empty(),
          .claims = !flags.jwt_jwks_file.empty()};
}

// Creates the capture of failed requests. Each bundle also names the node and the flags that influence a run, so that a
// replay can use the same ones.
void BuildCapture(const flags::Flags& flags, Components& components) {
  replay::CaptureOptions options = flags.observe.capture;
  if (options.dir.empty()) return;
  options.every.set_node(flags.node);
  options.every.set_software_version(flags::SoftwareVersion());
  for (const std::string& tag : flags.saved_model_tags) options.every.add_saved_model_tags(tag);
  options.every.add_flags(fmt::format("threads={}", flags.threads));
  options.every.add_flags(fmt::format("max_concurrent_runs={}", flags.max_concurrent_runs));
  options.every.add_flags(fmt::format("enable_batching={}", flags.batching.enable_batching));
  components.capture = std::make_unique<replay::Capture>(std::move(options), *components.store, *components.origins,
                                                         components.clock, components.registry);
}

// Adds each part that this node keeps on disk.
void BuildStorage(const flags::Flags& flags, Components& components) {
  components.storage = std::make_unique<storage::Storage>(components.registry);
  const auto add = [&](auto* part, void (*write_again)(decltype(*part))) {
    if (part != nullptr) components.storage->Add(part->health(), [part, write_again] { write_again(*part); });
  };
  add(components.journal.get(), [](rehearsal::Journal& journal) { journal.WriteAgain(); });
  add(components.identity.get(), [](identity::NodeIdentity& identity) { identity.WriteAgain(); });
  add(components.request_log.get(), [](requestlog::RequestLog& log) { log.TryAgain(); });
  add(components.capture.get(), [](replay::Capture& capture) { capture.TryAgain(); });
  if (!flags.managed()) return;
  add(components.guards.get(), [](routing::GuardBook& guards) { guards.WriteAgain(); });
  // The controller sends the state again. Without a controller, this tells that it could be written.
  components.storage->Add(components.desired_state_health, [&components, folder = Path(flags.state_dir)] {
    components.desired_state_health.Report(storage::TryFolder(folder));
  });
}

}  // namespace

Result<std::unique_ptr<Components>> BuildComponents(const flags::Flags& flags, const Security& security,
                                                    models::OnChange on_change) {
  auto components = std::make_unique<Components>();
  const flags::Parallelism parallelism = flags::ParallelismOf(flags, Processors());
  components->engine = engine::cpu::MakeEngine({.runs = parallelism.runs,
                                                .threads_per_run = parallelism.threads_per_run,
                                                .run_bytes_max = flags.limits.budget.run_bytes_max});
  components->admission = std::make_unique<batching::Admission>(
      batching::Limits{.concurrent_runs_max = flags.max_concurrent_runs,
                       .simulated_run = std::chrono::milliseconds(flags.simulated_run_ms)});
  if (flags.managed()) RETURN_IF_ERROR(BuildManaged(flags, *components));
  ASSIGN_OR_RETURN(components->guards, routing::GuardBook::Open(flags.state_dir));
  ASSIGN_OR_RETURN(components->traces, StartTraces(flags, components->registry));
  components->loads = std::make_unique<models::LoadMeter>(components->registry);
  components->runs = std::make_unique<routing::RunMeter>(components->registry);
  components->statistics = std::make_unique<routing::RunStatistics>();
  components->requests = std::make_unique<frontend::RequestMeter>(
      components->registry,
      [&components = *components](const std::string& model) {
        return components.catalog->Versions(model).has_value() || components.router->KnownElsewhere(model);
      },
      components->traces.tracer.get());
  BuildStore(flags, std::move(on_change), *components);
  BuildGoldenRuns(flags, *components);
  components->own_catalog = std::make_unique<frontend::StoreCatalog>(*components->store, flags.managed());
  components->origins = std::make_unique<routing::OriginSearch>(*components->admission, flags.limits.budget);
  BuildCapture(flags, *components);
  components->forwarder = routing::MakeGrpcForwarder(
      {.fleet = flags.fleet, .authorization = AuthorizationOf(security), .identity = IdentityOf(*components)});
  routing::RouterOptions options;
  options.node = flags.node;
  components->router = std::make_unique<routing::Router>(
      routing::RouterDeps{*components->store, *components->admission, components->recorder, components->pairs,
                          components->registry, *components->runs, *components->statistics, *components->forwarder,
                          *components->guards, *components->origins, components->clock, components->journal.get(),
                          components->capture.get(), flags.limits.budget, IdentitiesOf(flags.auth, security)},
      options);
  components->catalog =
      std::make_unique<frontend::FleetCatalog>(*components->own_catalog, *components->router, *components->forwarder);
  components->home_catalog = std::make_unique<frontend::HomeCatalog>(*components->catalog, *components->router);
  components->in_flight = std::make_unique<frontend::InFlight>(InFlightLimits(flags.listeners));
  components->request_log = std::make_unique<requestlog::RequestLog>(
      requestlog::Options{.node = flags.node, .files = flags.observe.request_log_files}, components->registry);
  components->predictor = std::make_unique<requestlog::LoggingPredictor>(*components->router, *components->request_log);
  ExportModelGauges(*components->store, *components->admission, components->registry);
  metrics::AddProcessMetrics(components->clock.Now(), flags::SoftwareVersion(), components->registry);
  BuildStorage(flags, *components);
  return components;
}

void AddOip(const flags::Flags& flags, std::unique_ptr<frontend::oip::Repository> repository, Components* components) {
  components->repository = std::move(repository);
  components->oip = std::make_unique<frontend::oip::Methods>(frontend::oip::Methods::Deps{
      .predictor = *components->predictor,
      .catalog = *components->catalog,
      .repository = *components->repository,
      .statistics = *components->statistics,
      .ready = [components] { return components->serving.load(); },
      .software_version = flags::SoftwareVersion(),
      .elements_max = flags.limits.budget.elements_max,
      .may_change_log = !flags.auth.auth_tokens_file.empty(),
  });
}

}  // namespace longshore::app

#include "serving-node/app/parts.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "common/metrics/process.h"
#include "serving-node/app/flags.h"
#include "serving-node/app/models.h"
#include "serving-node/engine/cpu/cpu.h"
#include "serving-node/requestlog/logging_predictor.h"

namespace longshore::app {
namespace {

constexpr metrics::Name kCertificateEnd{
    "longshore_peer_certificate_end_time_seconds",
    "When the newest certificate for peers ends, in seconds since 1970; 0: there is none."};

// What a managed node needs beside: its state on the disk, the gate before every load, and who it is to its peers.
Status BuildManaged(const Flags& flags, Parts& parts) {
  std::error_code error;
  std::filesystem::create_directories(flags.state_dir, error);
  if (error) return FailedPrecondition("--state_dir={}: {}", flags.state_dir.string(), error.message());
  ASSIGN_OR_RETURN(parts.journal, trial::Journal::Open(flags.state_dir));
  ASSIGN_OR_RETURN(parts.sources, sources::Sources::Start(flags.sources.Options(flags.state_dir)));
  trial::GateOptions gate;
  gate.folder_of = [sources = parts.sources.get()](const control::ModelState& model, int64_t version) {
    return sources->FolderOf(sources::SourceOf(model, version));
  };
  parts.gate = std::make_unique<trial::Gate>(std::move(gate), *parts.journal);
  if (flags.controller_ca_file.empty()) return {};
  parts.identity = std::make_unique<identity::NodeIdentity>(
      identity::Options{.file = flags.state_dir / "identity.pb", .ca_file = flags.controller_ca_file}, parts.clock,
      parts.timer);
  parts.registry.AddSource([identity = parts.identity.get()](metrics::Exposition* out) {
    const TimePoint until = identity->until().value_or(TimePoint{});
    out->Set(kCertificateEnd, {}, std::chrono::duration<double>(until.time_since_epoch()).count());
  });
  return {};
}

// In the metrics; a model has left when nobody wants it.
void Forget(const std::string& model, int64_t version, const Parts& parts) {
  parts.requests->ForgetVersion(model, version);
  parts.runs->ForgetVersion(model, version);
  const std::vector<std::string> wanted = parts.store->Names();
  if (std::ranges::binary_search(wanted, model)) return;
  parts.requests->ForgetModel(model);
  parts.runs->ForgetModel(model);
}

void BuildStore(const Flags& flags, models::OnChange on_change, Parts& parts) {
  models::ModelStore::Options options = flags.loading.StoreOptions(flags.managed());
  options.tags = flags.saved_model_tags;
  options.meter = parts.loads.get();
  options.warm_up_iterations = flags.warm_up.iterations();
  options.watch_of = [&parts](const std::string& model, int64_t version) {
    return parts.profiles.WatchOf(model, version);
  };
  if (flags.batching.enable_per_model_batching_parameters) options.batching_of = BatchingOfVersion;
  models::LoadGate gate;
  if (parts.gate) {
    gate = [&parts](const std::string& model, int64_t version, const Path& dir) {
      return parts.gate->Admit(model, version, dir);
    };
  }
  parts.store = std::make_unique<models::ModelStore>(
      *parts.engine, *parts.admission, options, std::move(gate),
      [&parts, on_change = std::move(on_change)](const std::string& model, const models::VersionStatus& status) {
        using models::State;
        const bool loads = status.state == State::kLoading || status.state == State::kWarming;
        if (parts.gate && !loads) parts.gate->Loaded(model, status.version);
        if (status.state == State::kEnd) Forget(model, status.version, parts);
        on_change(model, status);
      });
}

std::function<std::string()> AuthorizationOf(const Security& security) {
  if (!security.peer_authorization) return {};
  return [authorization = security.peer_authorization] { return *authorization->current(); };
}

std::function<std::shared_ptr<const identity::PeerIdentity>()> IdentityOf(const Parts& parts) {
  if (!parts.identity) return {};
  return [identity = parts.identity.get()] { return identity->current(); };
}

// What a bundle says of the node beside the request: enough to run it in the same way.
void BuildCapture(const Flags& flags, Parts& parts) {
  replay::CaptureOptions options = flags.observe.capture;
  if (options.dir.empty()) return;
  options.every.set_node(flags.node);
  options.every.set_software_version(SoftwareVersion());
  for (const std::string& tag : flags.saved_model_tags) options.every.add_saved_model_tags(tag);
  options.every.add_flags(fmt::format("threads={}", flags.threads));
  options.every.add_flags(fmt::format("max_concurrent_runs={}", flags.max_concurrent_runs));
  options.every.add_flags(fmt::format("enable_batching={}", flags.batching.enable_batching));
  parts.capture =
      std::make_unique<replay::Capture>(std::move(options), *parts.store, *parts.origins, parts.clock, parts.registry);
}

}  // namespace

Result<std::unique_ptr<Parts>> BuildParts(const Flags& flags, const Security& security, models::OnChange on_change) {
  auto parts = std::make_unique<Parts>();
  const Parallelism parallelism = ParallelismOf(flags, static_cast<int>(std::thread::hardware_concurrency()));
  parts->engine = engine::MakeCpuEngine({.runs = parallelism.runs,
                                         .threads_per_run = parallelism.threads_per_run,
                                         .run_bytes_max = flags.limits.budget.run_bytes_max});
  parts->admission = std::make_unique<batching::Admission>(
      batching::Limits{.concurrent_runs_max = flags.max_concurrent_runs,
                       .simulated_run = std::chrono::milliseconds(flags.simulated_run_ms)});
  if (flags.managed()) RETURN_IF_ERROR(BuildManaged(flags, *parts));
  ASSIGN_OR_RETURN(parts->guards, routing::GuardBook::Open(flags.state_dir));
  parts->loads = std::make_unique<models::LoadMeter>(parts->registry);
  parts->runs = std::make_unique<routing::RunMeter>(parts->registry);
  parts->requests =
      std::make_unique<frontend::RequestMeter>(parts->registry, [&parts = *parts](const std::string& model) {
        return parts.catalog->Versions(model).has_value() || parts.router->KnownElsewhere(model);
      });
  BuildStore(flags, std::move(on_change), *parts);
  parts->own_catalog = std::make_unique<frontend::StoreCatalog>(*parts->store, flags.managed());
  parts->origins = std::make_unique<routing::OriginSearch>(*parts->admission, flags.limits.budget);
  BuildCapture(flags, *parts);
  parts->forwarder = routing::MakeGrpcForwarder(
      {.fleet = flags.fleet, .authorization = AuthorizationOf(security), .identity = IdentityOf(*parts)});
  routing::RouterOptions options;
  options.node = flags.node;
  parts->router = std::make_unique<routing::Router>(
      routing::RouterDeps{*parts->store, *parts->admission, parts->recorder, parts->drift, parts->registry,
                          *parts->runs, *parts->forwarder, *parts->guards, *parts->origins, parts->clock,
                          parts->journal.get(), parts->capture.get(), flags.limits.budget},
      options);
  parts->catalog = std::make_unique<frontend::FleetCatalog>(*parts->own_catalog, *parts->router, *parts->forwarder);
  parts->home_catalog = std::make_unique<frontend::HomeCatalog>(*parts->catalog, *parts->router);
  parts->in_flight = std::make_unique<frontend::InFlight>(flags.doors.requests_in_flight_max);
  parts->request_log = std::make_unique<requestlog::RequestLog>(
      requestlog::Options{.node = flags.node, .files = flags.observe.request_log_files}, parts->registry);
  parts->predictor = std::make_unique<requestlog::LoggingPredictor>(*parts->router, *parts->request_log);
  ExportModelGauges(*parts->store, *parts->admission, parts->registry);
  metrics::ShowProcess(parts->clock.Now(), SoftwareVersion(), parts->registry);
  return parts;
}

}  // namespace longshore::app

#include <atomic>
#include <optional>

#include "common/base/clock.h"
#include "common/metrics/metrics.h"
#include "common/net/auth/tokens.h"
#include "common/os/log.h"
#include "common/os/process/descriptors.h"
#include "common/storage/storage.h"
#include "controller/app/admin.h"
#include "controller/app/controller.h"
#include "controller/app/epoch_file.h"
#include "controller/app/reconcile_loop.h"
#include "controller/app/state_dir.h"
#include "controller/app/stop_fleets.h"
#include "controller/console/console.h"
#include "controller/fleet/processes/named_nodes.h"
#include "controller/fleet/processes/process_fleet.h"
#include "controller/reconcile/targets_file.h"
#include "controller/store/local/controller_lock.h"
#include "controller/store/local/local_store.h"
#include "controller/store/local/manifest_index.h"
#include "controller/version_watch/version_watch.h"

namespace longshore::app {
namespace {

// A node that does not answer a ping is no longer connected, and is restarted 15 s later (reconcile/).
constexpr std::chrono::seconds kPingAfter{2};
constexpr std::chrono::seconds kPingTimeout{3};
// The loop reports that it is alive once a second. A reconciliation of very many objects may take some seconds.
constexpr std::chrono::seconds kSilentMax{10};

// Makes the directory of manifests if only its last part is missing, and says so: its name may be a typing mistake.
Status FindManifests(const Path& manifests) {
  std::error_code error;
  const Path parent = (manifests / "").lexically_normal().parent_path().parent_path();
  if (std::filesystem::is_directory(manifests, error)) {
    if (store::local::ManifestNames(manifests).empty())
      spdlog::info("--manifests: {} contains no manifest (*.yaml, *.yml) yet", manifests.string());
    return {};
  }
  if (!std::filesystem::is_directory(parent, error))
    return NotFound("--manifests: {} does not exist, and neither does the folder {}", manifests.string(),
                    parent.string());
  if (!std::filesystem::create_directory(manifests, error))
    return Unavailable("--manifests: cannot create {}: {}", manifests.string(), error.message());
  spdlog::warn("--manifests: {} did not exist and was created; it contains no manifest", manifests.string());
  return {};
}

class HostController final : public Controller {
 public:
  explicit HostController(const HostOptions& options) : options_(options) {}

  Status Start();
  Status Run() override;
  void Stop() override { queue_.Stop(); }

 private:
  Result<std::unique_ptr<fleet::Fleet>> StartFleet(const std::string& socket);
  std::optional<reconcile::SourceProblem> ProblemOf(const api::Key& key) const;
  void RecordActivity();
  std::string WhyNotWriting() const;
  std::string Problem() const;
  Status StartListeners(int64_t epoch);
  Result<console::Access> ConsoleAccess() const;
  void StartConsole();
  std::string ConsoleUrl() const;

  const HostOptions options_;
  const SystemClock clock_;
  const SteadyClock timer_;
  process::Descriptor lock_;
  std::atomic<bool> working_{false};
  std::atomic<MonotonicPoint> alive_at_{MonotonicPoint{}};  // When the loop was last alive.
  runtime::WorkQueue queue_;
  metrics::Registry metrics_;
  ReconcileMetrics reconcile_metrics_{metrics_};
  metrics::Family<metrics::Gauge> epochs_ =
      metrics_.Gauges("longshore_controller_epoch", "The epoch of this controller's term.");
  metrics::Family<metrics::Gauge> leading_ =
      metrics_.Gauges("longshore_controller_leading", "Always 1: a state directory has only one controller.");
  storage::WriteHealth objects_health_{"objects"};
  reconcile::TargetsFile targets_{options_.state_dir / "prometheus/nodes.json"};
  std::unique_ptr<runtime::Failpoint> failpoint_;
  std::unique_ptr<store::local::LocalStore> store_;
  std::optional<store::local::ControllerLock> manifests_lock_;
  bool is_recorded_ = true;
  std::string problem_recorded_;
  // Uses the store and the members whose writes it shows. Outlives the listeners, which show its metrics.
  std::optional<storage::Storage> storage_;
  std::unique_ptr<store::Store> manifests_store_;  // Wraps `store_` with failpoints; manifests are applied through it.
  std::unique_ptr<fleet::Fleet> fleet_;
  std::unique_ptr<nodes::Registry> nodes_;
  version_watch::VersionWatch version_watch_{
      {}, version_watch::RealReader(), [this](const api::Key& key) { queue_.Add(key); }};
  std::unique_ptr<ReconcileLoop> loop_;
  std::unique_ptr<store::Watch> watch_;
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<console::Console> console_;  // Null if it is off or its port is in use.
};

Status HostController::Start() {
  RETURN_IF_ERROR(FindManifests(options_.manifests));
  ASSIGN_OR_RETURN(lock_, LockStateDir(options_.state_dir));
  ASSIGN_OR_RETURN(failpoint_, runtime::Failpoint::FromEnvironment());
  ASSIGN_OR_RETURN(store_, store::local::LocalStore::Open(
                               {.dir = options_.manifests, .read_manifests = true, .health = &objects_health_}));
  storage_.emplace(metrics_);
  storage_->Add(objects_health_, [this] { store_->TryToWrite(); });
  storage_->Add(targets_.health(), [this] { targets_.WriteAgain(); });
  ASSIGN_OR_RETURN(manifests_lock_, store::local::ControllerLock::Take(options_.manifests));
  RETURN_IF_ERROR(RecordManifests(options_.state_dir, options_.manifests));
  manifests_store_ = runtime::WithFailpoints(*store_, *failpoint_);
  store_->ApplyManifestsThrough(*manifests_store_);
  const std::string socket = "unix:" + (options_.state_dir / "controller.sock").string();
  ASSIGN_OR_RETURN(fleet_, StartFleet(socket));
  // In a copied or restored directory, the epoch file may be older than the statuses. So the new epoch must be above
  // both.
  ASSIGN_OR_RETURN(const int64_t epoch_of_statuses, EpochOfStatuses(*store_));
  const Path epoch_file = options_.state_dir / "epoch";
  nodes::Options nodes_options;
  nodes_options.address = socket;
  // Nodes on this host answer within milliseconds, and clients wait for one that hangs.
  nodes_options.ping_after = kPingAfter;
  nodes_options.ping_timeout = kPingTimeout;
  nodes_options.raise_epoch = [epoch_file](int64_t above) { return NextEpoch(epoch_file, above); };
  ASSIGN_OR_RETURN(nodes_options.epoch, NextEpoch(epoch_file, epoch_of_statuses));
  const int64_t first_epoch = nodes_options.epoch;
  RETURN_IF_ERROR(manifests_lock_->Describe(first_epoch, options_.state_dir));
  const auto node_changed = [this](const std::string& fleet, const std::string&) {
    queue_.Add(api::FleetKey(fleet), kReportBatchWindow);
  };
  ASSIGN_OR_RETURN(nodes_, nodes::Registry::Start(nodes_options, timer_, node_changed));
  loop_ = std::make_unique<ReconcileLoop>(ReconcileLoopContext{*store_,
                                                               *nodes_,
                                                               *fleet_,
                                                               queue_,
                                                               *failpoint_,
                                                               reconcile_metrics_,
                                                               [this](const api::Key& key) { return ProblemOf(key); },
                                                               {},
                                                               &targets_,
                                                               options_.prometheus,
                                                               1,
                                                               Duration(0),
                                                               Duration(0),
                                                               [this] { RecordActivity(); },
                                                               &version_watch_});
  metrics_.BeforeText([this] {
    epochs_.With({}).Set(static_cast<double>(nodes_->epoch()));
    leading_.With({}).Set(1);
  });
  RETURN_IF_ERROR(StartListeners(first_epoch));
  for (const std::string& fleet : fleet_->Fleets()) queue_.Add(api::FleetKey(fleet));
  ASSIGN_OR_RETURN(watch_, store_->WatchAll([this](const api::Key& key) { queue_.Add(key); }));
  spdlog::info(
      "the controller has started with state directory {}, manifests in {}, epoch {} and administration on port {}",
      options_.state_dir.string(), options_.manifests.string(), nodes_->epoch(), admin_->port());
  return {};
}

// `epoch`: the lowest epoch of the statuses that this controller will write.
Status HostController::StartListeners(int64_t epoch) {
  ASSIGN_OR_RETURN(admin_, Admin::Start(options_.admin, metrics_,
                                        [this] { return std::string(working_ ? "" : "not reconciling yet"); }));
  StartConsole();
  Json ports{{"admin", admin_->port()}};
  if (console_ != nullptr) ports["console"] = console_->port();
  RETURN_IF_ERROR(manifests_lock_->Describe(epoch, options_.state_dir, ConsoleUrl()));
  return WritePorts(options_.admin.port_file, ports);
}

Result<console::Access> HostController::ConsoleAccess() const {
  if (options_.console_tokens.empty()) return console::Access{};
  ASSIGN_OR_RETURN(auto tokens, auth::OpenTokens("--console_tokens", options_.console_tokens));
  return console::Access{console::ByTokens(std::move(tokens), timer_),
                         "The administrator of this host has the tokens (--console_tokens)."};
}

// Models are served whether or not people can look at them: a console that cannot start is only logged.
void HostController::StartConsole() {
  if (options_.console.address.empty()) return;
  const auto access = ConsoleAccess();
  if (!access) return spdlog::error("the web console is off: {}", access.error().message);
  auto started = console::Console::Start({.doors = {{.address = options_.console.address}},
                                          .allowed_hosts = options_.console.allowed_hosts,
                                          .version = LONGSHORE_VERSION,
                                          .access = *access},
                                         {.store = *store_,
                                          .nodes = *nodes_,
                                          .clock = clock_,
                                          .timer = timer_,
                                          .problem = [this] { return Problem(); },
                                          .manifests = options_.manifests});
  if (!started) return spdlog::error("the web console is off (--console_port): {}", started.error().message);
  console_ = std::move(*started);
  spdlog::info("the web console listens on {}:{}",
               options_.console.address.substr(0, options_.console.address.rfind(':')), console_->port());
}

// An address that people on this host can open, also if the console listens on all addresses.
std::string HostController::ConsoleUrl() const {
  if (console_ == nullptr) return "";
  const std::string& address = options_.console.address;
  const std::string host = address.substr(0, address.rfind(':'));
  const bool is_any = host == "0.0.0.0" || host == "[::]";
  return fmt::format("http://{}:{}", is_any ? "localhost" : host, console_->port());
}

std::string HostController::Problem() const {
  if (!working_) return "The controller is starting or stopping, and does not reconcile.";
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(timer_.Now() - alive_at_.load());
  if (silent > kSilentMax)
    return fmt::format("The controller has not reconciled anything for {} s. Its log says why.", silent.count());
  const std::string why = WhyNotWriting();
  return why.empty() ? "" : fmt::format("The controller {}.", why);
}

Result<std::unique_ptr<fleet::Fleet>> HostController::StartFleet(const std::string& socket) {
  ASSIGN_OR_RETURN(auto named_nodes, fleet::processes::StartNamedNodes({.state_dir = options_.state_dir,
                                                                        .node_binary = options_.node_binary,
                                                                        .controller = socket,
                                                                        .host = options_.host,
                                                                        .node_log_level = options_.node_log_level,
                                                                        .node_environment = options_.node_environment,
                                                                        .node_flags = options_.node_flags},
                                                                       clock_, [this](const std::string& fleet) {
                                                                         queue_.Add(api::FleetKey(fleet));
                                                                       }));
  return fleet::processes::MakeProcessFleet(std::move(named_nodes));
}

std::optional<reconcile::SourceProblem> HostController::ProblemOf(const api::Key& key) const {
  const auto problem = store_->ProblemOf(key);
  if (!problem) return std::nullopt;
  return reconcile::SourceProblem{problem->reason, problem->message};
}

// Why this controller cannot write its objects, as the rest of a sentence; "": it can.
std::string HostController::WhyNotWriting() const {
  const auto problems = objects_health_.Problems();
  return problems.empty() ? "" : problems.begin()->second;
}

// Records that this controller is active. Logs only the first of consecutive failures, because their only effect is
// that the command line prints an older time.
void HostController::RecordActivity() {
  alive_at_ = timer_.Now();
  const std::string problem = WhyNotWriting();
  Status recorded = manifests_lock_->RecordActivity();
  if (problem != problem_recorded_) {
    recorded = manifests_lock_->SetProblem(problem);
    if (recorded) problem_recorded_ = problem;
  }
  if (!recorded && is_recorded_) spdlog::warn("{}", recorded.error().message);
  is_recorded_ = recorded.has_value();
}

Status HostController::Run() {
  alive_at_ = timer_.Now();
  working_ = true;
  loop_->Run();
  working_ = false;
  watch_.reset();
  if (!options_.stop_nodes_on_exit) {
    spdlog::info("the controller exits; its nodes continue to serve (--stop-fleets stops them)");
    return {};
  }
  fleet_.reset();
  const End end = [this] { return fleet::processes::StopAllNodes(options_.state_dir, kDrainMax); };
  RETURN_IF_ERROR(EndNodes(*store_, "longshore-controller --stop-nodes-on-exit", clock_, end));
  return {};
}

}  // namespace

Result<std::unique_ptr<Controller>> StartOnHost(const HostOptions& options) {
  auto controller = std::make_unique<HostController>(options);
  RETURN_IF_ERROR(controller->Start());
  return std::unique_ptr<Controller>(std::move(controller));
}

}  // namespace longshore::app

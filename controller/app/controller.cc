#include "controller/app/controller.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/http/server.h"
#include "common/log.h"
#include "common/metrics/metrics.h"
#include "common/process/descriptors.h"
#include "controller/fleet/processes/named_nodes.h"
#include "controller/fleet/processes/process_fleet.h"
#include "controller/metrics/metrics.h"
#include "controller/nodes/nodes.h"
#include "controller/reconcile/reconciler.h"
#include "controller/runtime/failpoint.h"
#include "controller/runtime/work_queue.h"
#include "controller/store/local/local_store.h"

namespace longshore::app {
namespace {

// Reports come several times a second from every node; one look answers those that come together.
constexpr Duration kReportsTogether = std::chrono::milliseconds(20);
constexpr std::chrono::seconds kDrainMax{120};

// Held for the life of a controller; the kernel lets go of it however the controller ends.
Result<process::Descriptor> LockStateDir(const Path& state_dir) {
  std::error_code error;
  std::filesystem::create_directories(state_dir, error);
  if (error) return Unavailable("cannot create {}: {}", state_dir.string(), error.message());
  chmod(state_dir.c_str(), 0700);  // Whoever may open the sockets in it may be a node.
  const Path path = state_dir / "controller.lock";
  process::Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return Unavailable("cannot open {}: {}", path.string(), std::strerror(errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return FailedPrecondition("another longshore-controller uses the state directory {}", state_dir.string());
  }
  return lock;
}

api::Key FleetKey(const std::string& fleet) {
  const size_t slash = fleet.find('/');
  return {api::kServingFleetKind, fleet.substr(0, slash), slash == std::string::npos ? "" : fleet.substr(slash + 1)};
}

class ControllerImpl final : public Controller {
 public:
  explicit ControllerImpl(const Options& options) : options_(options) {}

  Status Start() {
    ASSIGN_OR_RETURN(lock_, LockStateDir(options_.state_dir));
    ASSIGN_OR_RETURN(failpoint_, runtime::Failpoint::FromEnvironment());
    ASSIGN_OR_RETURN(local_store_, store::LocalStore::Open({.dir = options_.manifests, .read_manifests = true}));
    store_ = runtime::WithFailpoints(*local_store_, *failpoint_);
    local_store_->ApplyManifestsThrough(*store_);
    const Path socket = options_.state_dir / "controller.sock";
    const auto fleet_changed = [this](const std::string& fleet) { queue_.Add(FleetKey(fleet)); };
    ASSIGN_OR_RETURN(auto named_nodes, fleet::StartNamedNodes({.state_dir = options_.state_dir,
                                                               .node_binary = options_.node_binary,
                                                               .controller = "unix:" + socket.string(),
                                                               .host = options_.host,
                                                               .node_log_level = options_.node_log_level,
                                                               .node_environment = options_.node_environment,
                                                               .node_flags = options_.node_flags},
                                                              clock_, fleet_changed));
    fleet_ = fleet::MakeProcessFleet(std::move(named_nodes));
    const auto node_changed = [this](const std::string& fleet, const std::string&) {
      queue_.Add(FleetKey(fleet), kReportsTogether);
    };
    ASSIGN_OR_RETURN(streams_, nodes::Registry::Start(
                                   {.address = "unix:" + socket.string(), .epoch_file = options_.state_dir / "epoch"},
                                   timer_, node_changed));
    nodes_ = runtime::WithFailpoints(*streams_, *failpoint_);
    RETURN_IF_ERROR(OutliveStatuses());
    reconciler_ = std::make_unique<reconcile::Reconciler>(
        MakeDeps(), reconcile::Options{.prometheus_targets = options_.state_dir / "prometheus/nodes.json"});
    RETURN_IF_ERROR(Serve());
    for (const std::string& fleet : fleet_->Fleets()) queue_.Add(FleetKey(fleet));
    ASSIGN_OR_RETURN(watch_, local_store_->WatchAll([this](const api::Key& key) { queue_.Add(key); }));
    spdlog::info("controller of {} with manifests in {}, epoch {}, administration on port {}",
                 options_.state_dir.string(), options_.manifests.string(), nodes_->epoch(), server_->port());
    return {};
  }

  Status Run() override;
  void Stop() override { queue_.Stop(); }

 private:
  reconcile::Deps MakeDeps();
  Status OutliveStatuses();
  Status Serve();
  void Answer(const http::Request& request, const http::Responder& respond);
  void Look(const api::Key& key);

  const Options options_;
  const SystemClock clock_;
  const SteadyClock timer_;
  process::Descriptor lock_;
  std::atomic<bool> working_{false};
  runtime::WorkQueue queue_;
  metrics::Registry metrics_;
  metrics::Family<metrics::Counter> looks_ =
      metrics_.Counters("longshore_controller_looks_total", "Looks at an object, by kind and result.");
  metrics::Family<metrics::Gauge> epochs_ =
      metrics_.Gauges("longshore_controller_epoch", "The term of this controller.");
  std::unique_ptr<runtime::Failpoint> failpoint_;
  std::unique_ptr<store::LocalStore> local_store_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<fleet::Fleet> fleet_;
  std::unique_ptr<nodes::Registry> streams_;
  std::unique_ptr<nodes::Registry> nodes_;
  std::unique_ptr<reconcile::Reconciler> reconciler_;
  std::unique_ptr<store::Watch> watch_;
  std::unique_ptr<http::Server> server_;
};

reconcile::Deps ControllerImpl::MakeDeps() {
  const auto problem_of = [this](const api::Key& key) -> std::optional<reconcile::SourceProblem> {
    const auto problem = local_store_->ProblemOf(key);
    if (!problem) return std::nullopt;
    return reconcile::SourceProblem{problem->reason, problem->message};
  };
  const auto make_metrics = [this](const metrics::Query& query) -> std::unique_ptr<metrics::Source> {
    if (query.prometheus_url.empty()) return metrics::MakeReportSource(query, timer_);
    auto source = metrics::MakePrometheusSource(query, clock_);
    if (source) return std::move(*source);
    spdlog::error("fleet {}: {}", query.fleet, source.error().message);
    return nullptr;
  };
  const auto look_at = [this](const api::Key& key, Duration after) { queue_.Add(key, after); };
  return {*store_, *nodes_, *fleet_, clock_, timer_, problem_of, make_metrics, look_at};
}

// 0 when it names none that could be read.
int64_t EpochOf(const Json& status) {
  const Json epoch = status.is_object() ? status.value("epoch", Json()) : Json();
  return epoch.is_number_integer() ? epoch.get<int64_t>() : 0;
}

// A copied or restored directory may hold statuses of a later term than the epoch file.
Status ControllerImpl::OutliveStatuses() {
  for (const char* kind : {api::kModelKind, api::kServingFleetKind}) {
    ASSIGN_OR_RETURN(const store::Listing listing, store_->List(kind));
    for (const store::Object& object : listing.objects) {
      RETURN_IF_ERROR(nodes_->RaiseEpochAbove(EpochOf(object.status)));
    }
  }
  return {};
}

Status ControllerImpl::Serve() {
  metrics_.BeforeText([this] { epochs_.With({}).Set(static_cast<double>(nodes_->epoch())); });
  http::Options options;
  options.address = options_.admin_address;
  ASSIGN_OR_RETURN(server_, http::Server::Start(options, [this](http::Request request, http::Responder respond) {
                     Answer(request, respond);
                   }));
  if (options_.port_file.empty()) return {};
  return WriteFileAtomically(options_.port_file, Json{{"admin", server_->port()}}.dump() + "\n");
}

void ControllerImpl::Answer(const http::Request& request, const http::Responder& respond) {
  const auto text = [&](int status, const std::string& body) {
    http::Response response;
    response.status = status;
    response.content_type = "text/plain";
    response.body = body;
    respond(std::move(response));
  };
  if (request.target == "/livez") return text(200, "ok\n");
  if (request.target == "/readyz") return working_ ? text(200, "ok\n") : text(503, "not looking at objects yet\n");
  if (request.target == "/metrics") return text(200, metrics_.Text());
  text(404, "there are /livez, /readyz and /metrics\n");
}

Status ControllerImpl::Run() {
  working_ = true;
  while (const auto key = queue_.Take()) Look(*key);
  working_ = false;
  watch_.reset();
  if (!options_.stop_nodes_on_exit) {
    spdlog::info("the controller leaves; its nodes go on serving (--stop-fleets stops them)");
    return {};
  }
  fleet_.reset();
  return fleet::StopAllNodes(options_.state_dir, kDrainMax);
}

void ControllerImpl::Look(const api::Key& key) {
  const auto looked = reconciler_->Reconcile(key);
  failpoint_->Seen();
  looks_.With({{"kind", key.kind}, {"result", looked ? "OK" : std::string(CodeName(looked.error().code))}}).Add();
  if (looked) {
    queue_.Succeeded(key);
    if (*looked) queue_.Add(key, **looked);
    return;
  }
  // Somebody else wrote in between: what is there now is looked at anew.
  if (looked.error().code == Code::kAborted) return queue_.Add(key);
  spdlog::error("{}: {}", ToString(key), looked.error().message);
  queue_.AddAfterFailure(key);
}

}  // namespace

Result<std::unique_ptr<Controller>> Controller::Start(const Options& options) {
  auto controller = std::make_unique<ControllerImpl>(options);
  RETURN_IF_ERROR(controller->Start());
  return std::unique_ptr<Controller>(std::move(controller));
}

Status StopFleets(const Path& state_dir) {
  ASSIGN_OR_RETURN(const process::Descriptor lock, LockStateDir(state_dir));
  return fleet::StopAllNodes(state_dir, kDrainMax);
}

}  // namespace longshore::app

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stop_token>
#include <thread>

#include "common/base/clock.h"
#include "common/metrics/metrics.h"
#include "common/os/log.h"
#include "controller/app/admin.h"
#include "controller/app/cluster_console.h"
#include "controller/app/controller.h"
#include "controller/app/node_certificates.h"
#include "controller/app/reconcile_loop.h"
#include "controller/app/served_identity.h"
#include "controller/fleet/pods/node_tokens.h"
#include "controller/fleet/pods/pod_fleet.h"
#include "controller/kube/event_writer.h"
#include "controller/kube/issuer.h"
#include "controller/leader/leadership.h"
#include "controller/nodes/epoch_raises.h"
#include "controller/store/document.h"
#include "controller/store/kube/kube_store.h"
#include "controller/store/kube/old_kinds.h"

namespace longshore::app {
namespace {

constexpr const char* kEventReporter = "longshore-controller";
constexpr Duration kEvidenceUnwrittenMin = std::chrono::seconds(30);
constexpr size_t kWritesMax = 16;  // More do not help, as measured with tests/bench/control.py.
constexpr std::chrono::seconds kRetryInterval{2};
constexpr std::chrono::seconds kAuthorityCheckInterval{10};

// Returns a name that is unique to this process, even among the replicas and earlier processes of a controller.
std::string MakeIdentity() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::random_device random;
  return fmt::format("{}_{:08x}{:08x}", host, random(), random());
}

// Models that only write the new number of nodes of their fleet use half of the requests that the controller may send.
Duration ModelPause(const kube::ApiOptions& options) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(2 / options.requests_per_second));
}

bool HasPod(const fleet::Fleet& fleet, const nodes::Identity& node) {
  const auto pods = fleet.Nodes(node.fleet);
  return std::any_of(pods.begin(), pods.end(), [&](const fleet::NodeInfo& info) { return info.node == node.node; });
}

// Each fleet reports that the CRDs are older than this controller; its Models would only repeat it.
std::optional<reconcile::SourceProblem> ProblemOf(const api::Key& key, const store::kube::OldKinds& old_kinds) {
  if (key.kind != api::kServingFleetKind) return std::nullopt;
  const std::string problem = old_kinds.problem();
  if (problem.empty()) return std::nullopt;
  return reconcile::SourceProblem{"OldKinds", problem};
}

// Passes keys to the work queue of the current term, and drops them while this controller does not lead.
class CurrentQueue {
 public:
  void Set(runtime::WorkQueue* queue) {
    const std::lock_guard lock(mutex_);
    queue_ = queue;
  }
  void Add(const api::Key& key) {
    const std::lock_guard lock(mutex_);
    if (queue_ != nullptr) queue_->Add(key);
  }

 private:
  std::mutex mutex_;
  runtime::WorkQueue* queue_ = nullptr;  // Guarded by the mutex.
};

class ClusterController final : public Controller {
 public:
  explicit ClusterController(const ClusterOptions& options) : options_(options) {}
  ~ClusterController() override { watch_.reset(); }  // First, because it calls the console.

  Status Start();
  Status Run() override;
  void Stop() override;

 private:
  bool ConnectUntilStopped();
  Status Connect();
  const std::string& LeaseNamespace() const;
  Status StartLeadership();
  void StartConsole();
  std::string Holder() const;
  Status Lead(int64_t epoch);
  bool Leads() const;
  nodes::Options NodesOptions(int64_t epoch);
  Status LeadUntilEnd(int64_t epoch);
  void QueueEverything(runtime::WorkQueue& queue);
  void WriteEvent(const reconcile::Event& event);
  void RaiseFloor(int64_t epoch);
  Status AllowRaise(int64_t epoch);
  void UseAuthority(const std::string& certificate);
  void Pause();
  bool IsStopping() const;
  std::string NotReady() const;
  void RefreshMetrics();

  const ClusterOptions options_;
  const SystemClock clock_;
  const SteadyClock timer_;
  metrics::Registry metrics_;
  ReconcileMetrics reconcile_metrics_{metrics_};
  metrics::Family<metrics::Gauge> epochs_ =
      metrics_.Gauges("longshore_controller_epoch", "The epoch of this controller's term; 0 while another one leads.");
  metrics::Family<metrics::Gauge> leading_ =
      metrics_.Gauges("longshore_controller_leading", "1 while this controller leads, 0 while it is on standby.");
  metrics::Family<metrics::Gauge> lists_ = metrics_.Gauges(
      "longshore_controller_lists", "List requests for Longshore's objects since the start; normally one per kind.");
  metrics::Family<metrics::Gauge> staleness_ =
      metrics_.Gauges("longshore_controller_staleness_seconds",
                      "Time since the API server last answered, for the kind for which this is longest.");
  std::unique_ptr<runtime::Failpoint> failpoint_;
  kube::Cluster cluster_;
  std::string host_{};  // The host that nodes dial.
  std::unique_ptr<ServedIdentity> served_;

  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  // The mutex guards `not_ready_`, `stopping_` and `epoch_raises_`.
  std::string not_ready_ = "not connected to the API server yet";
  bool stopping_ = false;
  nodes::EpochRaises epoch_raises_;      // Limits the raises in all terms of this process.
  std::stop_source stop_;                // Cancels the API requests of reconciliations.
  std::atomic<bool> connected_ = false;  // Connect has succeeded: what it created is not replaced any more.
  std::atomic<int64_t> floor_ = 0;       // The highest known epoch.
  std::atomic<int64_t> epoch_ = 0;       // The epoch of the current term; 0 while another controller leads.

  CurrentQueue queue_;
  std::unique_ptr<store::kube::KubeStore> store_;
  std::unique_ptr<store::kube::OldKinds> old_kinds_;  // Reconciliations write through it.
  std::unique_ptr<store::Watch> watch_;
  std::unique_ptr<fleet::pods::PodFleet> fleet_;
  std::unique_ptr<kube::Issuer> issuer_;
  std::unique_ptr<fleet::pods::NodeTokens> tokens_;
  std::unique_ptr<kube::EventWriter> events_;
  std::shared_ptr<tls::Identities> identities_;     // Reads `served_`, which announces a new CA to `fleet_`.
  std::unique_ptr<leader::Leadership> leadership_;  // Created and stopped under the mutex.
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<ClusterConsole> console_;  // Null until `connected_`. Last: it uses the other members.
};

Status ClusterController::Start() {
  ASSIGN_OR_RETURN(failpoint_, runtime::Failpoint::FromEnvironment());
  ASSIGN_OR_RETURN(cluster_, options_.kubeconfig.empty() ? kube::FromPod()
                                                         : kube::FromKubeconfig(options_.kubeconfig, options_.context));
  ASSIGN_OR_RETURN(host_, HostOf(options_.advertised_address));
  RETURN_IF_ERROR(ReadAuthority(options_.ca_cert_file, options_.ca_key_file, clock_.Now()));
  metrics_.BeforeText([this] { RefreshMetrics(); });
  ASSIGN_OR_RETURN(admin_, Admin::Start(options_.admin, metrics_, [this] { return NotReady(); }));
  RETURN_IF_ERROR(WritePorts(options_.admin.port_file, {{"admin", admin_->port()}}));
  spdlog::info("the controller has started for {}, with the API server {} and administration on port {}",
               options_.watch_namespaces.empty() ? "all namespaces"
                                                 : fmt::format("{}", fmt::join(options_.watch_namespaces, ", ")),
               cluster_.server, admin_->port());
  return {};
}

Status ClusterController::Run() {
  if (!ConnectUntilStopped()) return {};
  Status led;
  while (led) {
    const int64_t epoch = leadership_->AwaitTerm();
    if (epoch == 0) break;
    led = Lead(epoch);
  }
  std::unique_ptr<leader::Leadership> leadership;
  {
    const std::lock_guard lock(mutex_);
    leadership = std::move(leadership_);
  }
  leadership.reset();  // Releases the Lease. From now on this controller writes nothing, and another one can take over.
  spdlog::info("the controller exits; the nodes continue to serve");
  return led;
}

void ClusterController::Stop() {
  if (!connected_) {  // Exits at once: Connect may block, and there is no Lease to release.
    spdlog::info("the controller exits before it has connected to the API server");
    std::_Exit(0);
  }
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (leadership_) leadership_->Stop();
  }
  stopped_.notify_all();
  stop_.request_stop();  // Cancels API requests: one may be waiting for a long Retry-After of the API server.
}

bool ClusterController::ConnectUntilStopped() {
  while (!IsStopping()) {
    const Status connected = Connect();
    const std::string reason = connected ? "" : connected.error().message;
    {
      const std::lock_guard lock(mutex_);
      not_ready_ = reason;
      if (connected && !stopping_) return true;
    }
    if (!connected) spdlog::error("the controller cannot begin its work yet, will retry: {}", reason);
    Pause();
  }
  return false;
}

Status ClusterController::Connect() {
  // Destroys the objects of an earlier attempt, each one before the objects that it uses.
  identities_.reset();
  tokens_.reset();
  issuer_.reset();
  fleet_.reset();
  watch_.reset();
  kube::ApiOptions api_options = options_.api;
  api_options.may_write = [this] { return Leads(); };
  api_options.stopped = stop_.get_token();
  ASSIGN_OR_RETURN(store_, store::kube::KubeStore::Open(
                               cluster_, {.namespaces = options_.watch_namespaces, .api = api_options}, timer_));
  old_kinds_ = std::make_unique<store::kube::OldKinds>(*store_, timer_);
  ASSIGN_OR_RETURN(watch_, store_->WatchAll([this](const api::Key& key) {
    queue_.Add(key);
    if (connected_) console_->Notice(key);
  }));
  fleet::pods::PodFleetOptions fleet_options;
  fleet_options.namespaces = options_.watch_namespaces;
  fleet_options.api = api_options;
  fleet_options.settings = {.image = options_.node_image,
                            .controller = options_.advertised_address,
                            .lease = fmt::format("{}/{}", LeaseNamespace(), leader::kLeaseName),
                            .ca = ""};  // `served_` sets the CA.
  ASSIGN_OR_RETURN(fleet_,
                   fleet::pods::StartPodFleet(cluster_, fleet_options, timer_,
                                              [this](const std::string& fleet) { queue_.Add(api::FleetKey(fleet)); }));
  ASSIGN_OR_RETURN(auto api, kube::Api::Make(cluster_, api_options, timer_));
  ASSIGN_OR_RETURN(issuer_, kube::Issuer::Start(std::move(api), clock_));
  tokens_ = std::make_unique<fleet::pods::NodeTokens>(
      *issuer_, [this](const fleet::pods::PodName& pod) { return fleet_->NodeOf(pod); });
  ASSIGN_OR_RETURN(auto events_api, kube::Api::Make(cluster_, api_options, timer_));
  events_ = std::make_unique<kube::EventWriter>(std::move(events_api), kEventReporter, clock_, timer_);
  std::set<std::string> hosts = options_.console.allowed_hosts;
  hosts.insert(host_);
  served_ = std::make_unique<ServedIdentity>(options_.ca_cert_file, options_.ca_key_file, hosts, clock_,
                                             [this](const std::string& certificate) { UseAuthority(certificate); });
  ASSIGN_OR_RETURN(identities_,
                   tls::Identities::Start(
                       "the certificate for nodes", [this] { return served_->Read(); }, kAuthorityCheckInterval));
  ASSIGN_OR_RETURN(const int64_t epoch_of_statuses, EpochOfStatuses(*store_));
  RaiseFloor(epoch_of_statuses);
  RETURN_IF_ERROR(StartLeadership());
  StartConsole();
  connected_ = true;
  return {};
}

void ClusterController::StartConsole() {
  console_ = std::make_unique<ClusterConsole>(
      options_, ClusterConsoleContext{*store_, *issuer_, identities_, clock_, timer_, [this] { return Holder(); }});
  Json ports = console_->ports();
  ports["admin"] = admin_->port();
  const Status written = WritePorts(options_.admin.port_file, ports);
  if (!written) spdlog::error("{}", written.error().message);
}

std::string ClusterController::Holder() const {
  const std::lock_guard lock(mutex_);
  return leadership_ ? leadership_->holder() : "";
}

const std::string& ClusterController::LeaseNamespace() const {
  return options_.namespace_.empty() ? cluster_.namespace_ : options_.namespace_;
}

Status ClusterController::StartLeadership() {
  leader::Options lease = options_.lease;
  lease.identity = MakeIdentity();
  lease.annotations = {{leader::kNamespacesAnnotation, leader::NamespacesText(options_.watch_namespaces)}};
  ASSIGN_OR_RETURN(auto leadership, leader::Leadership::Start(cluster_, {LeaseNamespace(), leader::kLeaseName}, lease,
                                                              timer_, [this] { return floor_.load(); }));
  const std::lock_guard lock(mutex_);
  leadership_ = std::move(leadership);
  return {};
}

// Leads until the term `epoch` ends. Returns an error if this is impossible, for example because the controller cannot
// listen.
Status ClusterController::Lead(int64_t epoch) {
  spdlog::info("became the leader: epoch {}", epoch);
  epoch_ = epoch;
  const Status led = LeadUntilEnd(epoch);
  epoch_ = 0;
  spdlog::info("the term of epoch {} is over", epoch);
  return led;
}

// Whether this controller is in a term that has not ended according to the clock.
bool ClusterController::Leads() const {
  const int64_t epoch = epoch_;
  const std::lock_guard lock(mutex_);
  return epoch != 0 && leadership_ && leadership_->IsLeading(epoch);
}

nodes::Options ClusterController::NodesOptions(int64_t epoch) {
  nodes::Options options;
  options.address = options_.node_address;
  options.tls = identities_;
  options.identify = [this](std::string_view authorization) -> Result<nodes::Identity> {
    ASSIGN_OR_RETURN(const auto node, tokens_->Identify(authorization));
    return nodes::Identity{node.fleet, node.fleet_uid, node.node};
  };
  options.certify = [this](const nodes::Identity& node, const std::string& request) -> Result<control::Certificate> {
    // The node was identified when its stream began. Its pod may have been deleted since then.
    if (!HasPod(*fleet_, node)) return FailedPrecondition("pod {} does not exist any more", node.node);
    ASSIGN_OR_RETURN(const tls::KeyPair authority,
                     ReadAuthority(options_.ca_cert_file, options_.ca_key_file, clock_.Now()));
    return CertifyNode(authority, node, request);
  };
  options.epoch = epoch;
  options.may_send = [this] { return Leads(); };
  options.raise_epoch = [this, epoch](int64_t above) -> Result<int64_t> {
    RETURN_IF_ERROR(AllowRaise(epoch));
    RaiseFloor(above);
    return Unavailable("a term with a higher epoch will begin soon");
  };
  return options;
}

Status ClusterController::LeadUntilEnd(int64_t epoch) {
  ASSIGN_OR_RETURN(const int64_t epoch_of_statuses, EpochOfStatuses(*store_));
  RaiseFloor(epoch_of_statuses);
  if (epoch_of_statuses >= epoch) {
    leadership_->AwaitEnd(epoch);  // The election then begins a new term whose epoch is above `floor_`.
    return {};
  }
  runtime::WorkQueue queue;
  ASSIGN_OR_RETURN(const auto nodes, nodes::Registry::Start(NodesOptions(epoch), timer_,
                                                            [&queue](const std::string& fleet, const std::string&) {
                                                              queue.Add(api::FleetKey(fleet), kReportBatchWindow);
                                                            }));
  ReconcileLoop loop({*old_kinds_,
                      *nodes,
                      *fleet_,
                      queue,
                      *failpoint_,
                      reconcile_metrics_,
                      [this](const api::Key& key) { return ProblemOf(key, *old_kinds_); },
                      [this](const reconcile::Event& event) { WriteEvent(event); },
                      {},
                      options_.prometheus,
                      kWritesMax,
                      kEvidenceUnwrittenMin,
                      ModelPause(options_.api)});
  std::thread end([&] {
    leadership_->AwaitEnd(epoch);
    // Ends the streams before the current reconciliation ends, so that the nodes search for the next leader
    // immediately.
    nodes->Close();
    queue.Stop();
  });
  queue_.Set(&queue);
  console_->Lead(nodes.get());
  QueueEverything(queue);
  loop.Run();
  queue_.Set(nullptr);
  console_->Lead(nullptr);
  end.join();
  return {};
}

void ClusterController::QueueEverything(runtime::WorkQueue& queue) {
  for (const std::string& fleet : fleet_->Fleets()) queue.Add(api::FleetKey(fleet));
  for (const char* kind : {api::kServingFleetKind, api::kModelKind}) {
    const auto keys = store_->Keys(kind);  // Reads from the cache, so it cannot fail.
    if (!keys) continue;
    for (const api::Key& key : *keys) queue.Add(key);
  }
}

void ClusterController::WriteEvent(const reconcile::Event& event) {
  events_->Write({{api::kApiVersion, event.object.kind, event.object.namespace_, event.object.name, event.uid},
                  event.warning,
                  event.reason,
                  event.message});
}

void ClusterController::RaiseFloor(int64_t epoch) {
  int64_t known = floor_;
  while (known < epoch && !floor_.compare_exchange_weak(known, epoch)) {
  }
}

// Checks whether a node that knows a higher epoch may end the term `epoch`.
Status ClusterController::AllowRaise(int64_t epoch) {
  const std::lock_guard lock(mutex_);
  return epoch_raises_.Allow(epoch, timer_.Now());
}

// Nodes read the certificate from the ConfigMap of their fleet, so all fleets are reconciled.
void ClusterController::UseAuthority(const std::string& certificate) {
  fleet_->UseAuthority(certificate);
  for (const std::string& fleet : fleet_->Fleets()) queue_.Add(api::FleetKey(fleet));
}

void ClusterController::Pause() {
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, kRetryInterval, [this] { return stopping_; });
}

bool ClusterController::IsStopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

std::string ClusterController::NotReady() const {
  const std::lock_guard lock(mutex_);
  return not_ready_;
}

void ClusterController::RefreshMetrics() {
  epochs_.With({}).Set(static_cast<double>(epoch_));
  leading_.With({}).Set(epoch_ == 0 ? 0 : 1);
  if (!connected_) return;
  lists_.With({}).Set(static_cast<double>(store_->lists()));
  staleness_.With({}).Set(std::chrono::duration<double>(store_->staleness()).count());
}

}  // namespace

Result<std::unique_ptr<Controller>> StartInCluster(const ClusterOptions& options) {
  auto controller = std::make_unique<ClusterController>(options);
  RETURN_IF_ERROR(controller->Start());
  return std::unique_ptr<Controller>(std::move(controller));
}

}  // namespace longshore::app

#include "controller/fleet/pods/pod_fleet.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "common/base/sha256.h"
#include "common/json/path.h"
#include "common/os/log.h"
#include "controller/fleet/pods/endpoints.h"
#include "controller/fleet/pods/pod.h"
#include "controller/kube/cache.h"
#include "controller/kube/reflector.h"

namespace longshore::fleet::pods {
namespace {

// Maximum number of conflicts in one call of Scale: the controllers of Kubernetes may write several times in a row.
constexpr int kConflictsMax = 10;
// How long an address may still refuse connections after its Service got its first ready pod: kube-proxy applies
// changes at most once per second by default, and learns of them a moment late.
constexpr std::chrono::milliseconds kProxyDelay = std::chrono::milliseconds(1200);

// The parts of a Kubernetes object of a fleet that show whether the object is as this controller wants it.
struct Child {
  std::string fleet{};
  std::string uid{};
  std::string owner_uid{};  // The uid of the ServingFleet that owns it.
  std::string version{};    // resourceVersion.
  std::string content{};    // Digest of the fields that this controller sets.
  // The others are set only for a Deployment.
  std::string inputs{};
  std::string form{};
  int replicas = 0;
  std::string pod_error{};   // Why the Deployment's pods cannot be created.
  std::string unfinished{};  // Why its pods are not yet as its spec wants them.
};

struct ChildKind {
  const char* version;
  const char* kind;
};
// The watched kinds. ConfigMaps are not watched, because the permission to list them would cover those of all users.
constexpr ChildKind kChildKinds[] = {{"apps/v1", "Deployment"},
                                     {"v1", "ServiceAccount"},
                                     {"networking.k8s.io/v1", "NetworkPolicy"},
                                     {"v1", "Service"},
                                     {"policy/v1", "PodDisruptionBudget"}};

// Returns the fleet that owns the object, or the fleet in its label if it has lost its owner.
std::string FleetNamedIn(const Json& json) {
  const bool is_owned = TextAt(json, {"metadata", "ownerReferences", "0", "kind"}) == api::kServingFleetKind;
  const std::string name = is_owned ? TextAt(json, {"metadata", "ownerReferences", "0", "name"})
                                    : TextAt(json, {"metadata", "labels", kFleetLabel});
  return TextAt(json, {"metadata", "namespace"}) + "/" + name;
}

int64_t NumberAt(const Json& json, std::initializer_list<std::string_view> path) {
  const Json& value = At(json, path);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

// Returns why the pods of the Deployment are not yet as its spec wants them; "" if they are. These are the rules of
// `kubectl rollout status`, but a pod need not have been ready for minReadySeconds.
std::string WhyUnfinished(const Json& deployment) {
  const Json& status = At(deployment, {"status"});
  if (NumberAt(status, {"observedGeneration"}) < NumberAt(deployment, {"metadata", "generation"}))
    return "Kubernetes has not processed the Deployment yet";
  const int64_t wanted = NumberAt(deployment, {"spec", "replicas"});
  const int64_t updated = NumberAt(status, {"updatedReplicas"});
  const int64_t all = NumberAt(status, {"replicas"});
  if (updated < wanted || updated < all)
    return fmt::format("{} of {} pods are of the newest spec", updated, std::max(wanted, all));
  const int64_t ready = NumberAt(status, {"readyReplicas"});
  return ready < wanted ? fmt::format("{} of {} pods are ready for clients", ready, wanted) : "";
}

Result<Child> ChildFrom(const Json& json) {
  Child child{.fleet = FleetNamedIn(json), .uid = TextAt(json, {"metadata", "uid"})};
  child.owner_uid = TextAt(json, {"metadata", "ownerReferences", "0", "uid"});
  child.version = TextAt(json, {"metadata", "resourceVersion"});
  child.inputs = TextAt(json, {"metadata", "annotations", kInputsAnnotation});
  child.form = TextAt(json, {"metadata", "annotations", kFormAnnotation});
  Json spec = At(json, {"spec"});
  if (const Json replicas = At(spec, {"replicas"}); replicas.is_number_integer()) {
    child.replicas = replicas;
    child.unfinished = WhyUnfinished(json);
    spec.erase("replicas");  // Another field manager sets the replicas.
  }
  for (const Json& condition : At(json, {"status", "conditions"})) {
    if (At(condition, {"type"}) == "ReplicaFailure" && At(condition, {"status"}) == "True")
      child.pod_error = TextAt(condition, {"reason"}) + ": " + TextAt(condition, {"message"});
  }
  const Json content = {At(json, {"metadata", "labels"}), At(json, {"metadata", "ownerReferences"}), spec,
                        At(json, {"data"})};
  child.content = ToHex(Sha256(DumpJson(content)));
  return child;
}

std::string DeploymentPath(const std::string& fleet) {
  const size_t slash = fleet.find('/');
  return fmt::format("/apis/apps/v1/namespaces/{}/deployments/{}", fleet.substr(0, slash),
                     ChildName(fleet.substr(slash + 1)));
}

std::string PathIn(const std::string& namespace_, const std::string& root, const char* plural) {
  return namespace_.empty() ? fmt::format("{}/{}", root, plural)
                            : fmt::format("{}/namespaces/{}/{}", root, namespace_, plural);
}

std::string CollectionPath(const ChildKind& kind, const std::string& namespace_) {
  // PathOf knows the plural names of the kinds, but returns the path of an object. The path of the collection is that
  // path without the name of the object and, for all namespaces, without the namespace.
  std::string path = PathOf({{"apiVersion", kind.version},
                             {"kind", kind.kind},
                             {"metadata", {{"namespace", namespace_.empty() ? "-" : namespace_}, {"name", ""}}}});
  path.pop_back();
  if (namespace_.empty()) path.erase(path.find("/namespaces/-"), std::string("/namespaces/-").size());
  return path;
}

template <typename Value>
struct Mirrored {
  Mirrored(typename kube::Cache<Value>::Decode decode, typename kube::Cache<Value>::OnChange on_change)
      : cache(std::move(decode), std::move(on_change)) {}
  kube::Cache<Value> cache;
  std::unique_ptr<kube::Reflector> reflector;  // Last, so that it is destroyed first: it uses the cache.
};

class KubePodFleet final : public PodFleet {
 public:
  KubePodFleet(const kube::Cluster& cluster, const PodFleetOptions& options, const MonotonicClock& clock,
               OnChange on_change)
      : cluster_(cluster),
        options_(options),
        clock_(clock),
        on_change_(std::move(on_change)),
        settings_(options.settings) {}

  Status Start();
  void MakeMirrors(size_t index);
  Status StartMirrors(size_t index, const std::string& namespace_);
  Status WaitForLists();
  Result<Addresses> Ensure(const api::ServingFleet& fleet) override;
  Status Scale(const std::string& fleet, int nodes, const std::vector<std::string>& leave_first) override;
  int Wanted(const std::string& fleet) const override;
  std::vector<NodeInfo> Nodes(const std::string& fleet) const override;
  Status Restart(const std::string&, const std::string& node) override {
    return Unimplemented("the liveness probe of pod {} decides about its restart", node);
  }
  Progress ProgressOf(const std::string& fleet) const override;
  std::vector<std::string> Fleets() const override;
  Status Remove(const std::string& fleet) override;
  Status StopListening(const std::string&) override { return {}; }  // Remove has deleted the Service.
  void UseAuthority(const std::string& certificate) override;
  std::optional<NodeTokens::Node> NodeOf(const PodName& pod) const override;

 private:
  struct Applied {
    std::string wanted;   // Digest of the document that was applied.
    std::string content;  // Child::content of the resulting object.
  };

  template <typename Value>
  Status Mirror(const std::string& path, const char* more_labels, Mirrored<Value>* mirrored) const;
  std::optional<Child> ChildAt(const std::string& kind, const std::string& fleet, const std::string& name) const;
  std::optional<Child> DeploymentOfFleet(const std::string& fleet) const;
  Status ApplyWhereNeeded(const Json& object);
  Status ScaleFrom(const Child& deployment, const std::string& fleet, int nodes,
                   const std::vector<std::string>& leave_first);
  Status ReadDeployment(const std::string& fleet);
  void CacheOwnWrite(const std::string& kind, const Json& object);
  PodSettings Settings();
  std::vector<Pod> PodsOf(const std::string& fleet) const;
  std::optional<Pod> PodAt(const kube::Name& name) const;
  Status RankPods(const std::string& fleet, int nodes, std::vector<std::string> leave_first);
  Result<Addresses> EnsureNow(const api::ServingFleet& fleet, const PodSettings& settings);
  void OnChildChange(const std::string& fleet);
  void OnPodChange(const std::string& fleet, const kube::Name& name, bool exists);
  void OnSliceChange(const EndpointSlice& slice, const kube::Name& name, size_t index);
  std::string WhyUnchecked(const std::string& fleet) const;

  const kube::Cluster cluster_;
  const PodFleetOptions options_;
  const MonotonicClock& clock_;
  const OnChange on_change_;
  // The result of the last successful Ensure, which stays valid until one of the fleet's children changes.
  struct Ensured {
    uint64_t changes = 0;
    std::string inputs;
    Addresses addresses;
  };

  std::unique_ptr<kube::Api> api_;
  mutable std::mutex mutex_;
  // The number of changes of children, by fleet. Guarded by the mutex, as are the next seven.
  std::map<std::string, uint64_t> changes_;
  std::map<std::string, Ensured> ensured_;                 // The key is the fleet.
  std::map<std::string, std::set<kube::Name>> pod_names_;  // The key is the fleet.
  std::map<std::string, Applied> applied_;                 // The key is the path of the object.
  PodSettings settings_;
  Slices slices_seen_;
  // When this controller found that no client can reach the fleet; the key is the fleet.
  mutable std::map<std::string, TimePoint> unreachable_since_;
  // For each kind one mirror per watched namespace. Constant after Start.
  std::map<std::string, std::vector<std::unique_ptr<Mirrored<Child>>>> children_;
  std::vector<std::unique_ptr<Mirrored<Pod>>> pods_;
  std::vector<std::unique_ptr<Mirrored<EndpointSlice>>> slices_;
};

template <typename Value>
Status KubePodFleet::Mirror(const std::string& path, const char* more_labels, Mirrored<Value>* mirrored) const {
  ASSIGN_OR_RETURN(auto api, kube::Api::Make(cluster_, options_.api, clock_));
  const std::string own_label = fmt::format("{}={}{}", kManagedByLabel, kManager, more_labels);
  mirrored->reflector = std::make_unique<kube::Reflector>(
      std::move(api), kube::Collection{.path = path, .label_selector = own_label}, clock_, mirrored->cache);
  return {};
}

Status KubePodFleet::Start() {
  ASSIGN_OR_RETURN(api_, kube::Api::Make(cluster_, options_.api, clock_));
  const std::vector<std::string> all = {""};
  const std::vector<std::string>& namespaces = options_.namespaces.empty() ? all : options_.namespaces;
  // The lists of mirrors are complete before the first mirror starts, because its thread reads them.
  for (size_t i = 0; i < namespaces.size(); ++i) MakeMirrors(i);
  for (size_t i = 0; i < namespaces.size(); ++i) RETURN_IF_ERROR(StartMirrors(i, namespaces[i]));
  return WaitForLists();
}

// Makes the mirrors of the namespace with this index.
void KubePodFleet::MakeMirrors(size_t index) {
  for (const ChildKind& kind : kChildKinds) {
    children_[kind.kind].push_back(
        std::make_unique<Mirrored<Child>>(ChildFrom, [this](const kube::Name&, const Result<Child>& child) {
          if (child) OnChildChange(child->fleet);
        }));
  }
  pods_.push_back(
      std::make_unique<Mirrored<Pod>>(PodFrom, [this, index](const kube::Name& name, const Result<Pod>& pod) {
        if (pod) OnPodChange(pod->fleet, name, pods_[index]->cache.Get(name).has_value());
      }));
  slices_.push_back(std::make_unique<Mirrored<EndpointSlice>>(
      EndpointSliceFrom, [this, index](const kube::Name& name, const Result<EndpointSlice>& slice) {
        if (slice) OnSliceChange(*slice, name, index);
      }));
}

Status KubePodFleet::StartMirrors(size_t index, const std::string& namespace_) {
  for (const ChildKind& kind : kChildKinds) {
    RETURN_IF_ERROR(Mirror(CollectionPath(kind, namespace_), "", children_[kind.kind][index].get()));
  }
  RETURN_IF_ERROR(Mirror(PathIn(namespace_, "/api/v1", "pods"), "", pods_[index].get()));
  return Mirror(PathIn(namespace_, "/apis/discovery.k8s.io/v1", "endpointslices"), ",!service.kubernetes.io/headless",
                slices_[index].get());
}

Status KubePodFleet::WaitForLists() {
  for (const auto& [kind, mirrors] : children_) {
    for (const auto& mirrored : mirrors) {
      const Status complete = mirrored->cache.WaitUntilComplete(options_.first_list_max);
      if (!complete) return Prefixed(complete.error(), kind);
    }
  }
  for (const auto& mirrored : pods_) RETURN_IF_ERROR(mirrored->cache.WaitUntilComplete(options_.first_list_max));
  for (const auto& mirrored : slices_) {
    const Status complete = mirrored->cache.WaitUntilCompleteOrForbidden(options_.first_list_max);
    if (!complete) return Prefixed(complete.error(), "EndpointSlice");
  }
  const auto& namespaces = options_.namespaces;
  for (const std::string& each : namespaces.empty() ? std::vector<std::string>{""} : namespaces) {
    const std::string why = WhyUnchecked(each);
    if (why.empty()) continue;
    spdlog::warn("a fleet is Ready as soon as its pods are: {}", why);  // One line says enough.
    break;
  }
  return {};
}

void KubePodFleet::OnChildChange(const std::string& fleet) {
  {
    const std::lock_guard lock(mutex_);
    ++changes_[fleet];
  }
  on_change_(fleet);
}

void KubePodFleet::OnPodChange(const std::string& fleet, const kube::Name& name, bool exists) {
  {
    const std::lock_guard lock(mutex_);
    std::set<kube::Name>& names = pod_names_[fleet];
    if (exists) names.insert(name);
    if (!exists) names.erase(name);
    if (names.empty()) pod_names_.erase(fleet);
  }
  on_change_(fleet);
}

// How long the endpoints of the first list have been ready is unknown. They count as old ones: otherwise a controller
// that starts would report that no fleet can be reached.
void KubePodFleet::OnSliceChange(const EndpointSlice& slice, const kube::Name& name, size_t index) {
  const auto& cache = slices_[index]->cache;
  const bool is_first_list = !cache.is_complete();
  const bool exists = cache.Get(name).has_value();
  {
    const std::lock_guard lock(mutex_);
    const MonotonicPoint now = clock_.Now();
    if (exists) slices_seen_.Update(name, slice, is_first_list ? now - kProxyDelay : now);
    if (!exists) slices_seen_.Remove(name, slice.fleet);
  }
  on_change_(slice.fleet);
}

// A controller that is updated before its rights does not have the right to list EndpointSlices.
std::string KubePodFleet::WhyUnchecked(const std::string& fleet) const {
  const auto& namespaces = options_.namespaces;
  const auto watched = std::ranges::find(namespaces, fleet.substr(0, fleet.find('/')));
  if (!namespaces.empty() && watched == namespaces.end()) return "";
  const auto& cache = slices_[static_cast<size_t>(watched - namespaces.begin())]->cache;
  if (!cache.is_forbidden()) return "";
  const std::string& lease = options_.settings.lease;
  return fmt::format(
      "whether its address answers is not checked, because the controller lacks the right to list endpointslices "
      "(discovery.k8s.io), which the {} longshore-controller.{} of the chart helm/longshore grants",
      namespaces.empty() ? "ClusterRole" : "Role", lease.substr(0, lease.find('/')));
}

Progress KubePodFleet::ProgressOf(const std::string& fleet) const {
  Progress progress{.unchecked = WhyUnchecked(fleet)};
  if (const auto deployment = DeploymentOfFleet(fleet)) progress.unfinished = deployment->unfinished;
  if (!progress.unchecked.empty()) return progress;
  const std::string name = ChildName(fleet.substr(fleet.find('/') + 1));
  const auto service = ChildAt("Service", fleet, name);
  const std::lock_guard lock(mutex_);
  const EndpointsSeen seen = service ? slices_seen_.Of(fleet, service->uid) : EndpointsSeen{};
  if (seen.ready_since) {
    unreachable_since_.erase(fleet);
    const Duration left = *seen.ready_since + kProxyDelay - clock_.Now();
    if (left <= Duration(0)) return progress;
    progress.check_again_in = left;
    progress.unreachable =
        fmt::format("Service {} has had a ready endpoint for less than {} ms: kube-proxy may not know it yet", name,
                    kProxyDelay.count());
    return progress;
  }
  const TimePoint since = unreachable_since_.try_emplace(fleet, SystemClock().Now()).first->second;
  progress.unreachable =
      service ? WhyNoneIsReady(fleet, name, seen, since) : fmt::format("Service {} does not exist yet", name);
  return progress;
}

std::optional<Child> KubePodFleet::ChildAt(const std::string& kind, const std::string& fleet,
                                           const std::string& name) const {
  const std::string namespace_ = fleet.substr(0, fleet.find('/'));
  const auto mirrors = children_.find(kind);
  if (mirrors == children_.end()) return std::nullopt;
  for (const auto& mirrored : mirrors->second) {
    if (auto child = mirrored->cache.Get({namespace_, name}); child && *child) return std::move(**child);
  }
  return std::nullopt;
}

std::optional<Child> KubePodFleet::DeploymentOfFleet(const std::string& fleet) const {
  return ChildAt("Deployment", fleet, ChildName(fleet.substr(fleet.find('/') + 1)));
}

// Stores the answer to a write in the cache of its namespace.
void KubePodFleet::CacheOwnWrite(const std::string& kind, const Json& object) {
  const std::string namespace_ = TextAt(object, {"metadata", "namespace"});
  const auto mirrors = children_.find(kind);
  for (size_t i = 0; mirrors != children_.end() && i < mirrors->second.size(); ++i) {
    if (options_.namespaces.empty() || options_.namespaces[i] == namespace_)
      return mirrors->second[i]->cache.PutOwnWrite(object);
  }
}

Status KubePodFleet::ApplyWhereNeeded(const Json& object) {
  const std::string path = PathOf(object);
  const std::string kind = object.at("kind");
  const std::string wanted = ToHex(Sha256(DumpJson(object)));
  const auto current = ChildAt(kind, FleetNamedIn(object), object.at("metadata").at("name"));
  if (current || !children_.contains(kind)) {
    const std::lock_guard lock(mutex_);
    const auto applied = applied_.find(path);
    const bool is_applied = applied != applied_.end() && applied->second.wanted == wanted;
    if (is_applied && (!current || applied->second.content == current->content)) return {};
  }
  const auto answer = api_->Send({.method = "PATCH",
                                  .target = fmt::format("{}?fieldManager={}&force=true", path, kManager),
                                  .body = DumpJson(object),
                                  .content_type = kube::kApplyPatch});
  if (!answer) {
    Error error = answer.error();
    if (error.code == Code::kAlreadyExists) error.code = Code::kAborted;  // Created by another client at the same time.
    return Prefixed(error, fmt::format("{} {}", kind, DumpJson(object.at("metadata").at("name"))));
  }
  ASSIGN_OR_RETURN(const Json made, ParseJson(*answer));
  ASSIGN_OR_RETURN(const Child child, ChildFrom(made));
  CacheOwnWrite(kind, made);
  const std::lock_guard lock(mutex_);
  applied_[path] = {wanted, child.content};
  return {};
}

void KubePodFleet::UseAuthority(const std::string& certificate) {
  const std::lock_guard lock(mutex_);
  settings_.ca = certificate;
}

PodSettings KubePodFleet::Settings() {
  const std::lock_guard lock(mutex_);
  return settings_;
}

Result<Addresses> KubePodFleet::Ensure(const api::ServingFleet& fleet) {
  const std::string name = fleet.metadata.namespace_ + "/" + fleet.metadata.name;
  const PodSettings settings = Settings();
  RETURN_IF_ERROR(CheckName(fleet.metadata, settings));
  Ensured now;
  now.inputs = fmt::format("{} {} {} {} {} {} {}", fleet.metadata.uid, fleet.metadata.generation, fleet.status.image,
                           fleet.status.image_from_spec, settings.image, settings.controller, settings.ca);
  {
    const std::lock_guard lock(mutex_);
    now.changes = changes_[name];
    const Ensured& before = ensured_[name];
    if (before.changes == now.changes && before.inputs == now.inputs) return before.addresses;
  }
  ASSIGN_OR_RETURN(now.addresses, EnsureNow(fleet, settings));
  const std::lock_guard lock(mutex_);
  return (ensured_[name] = std::move(now)).addresses;
}

Result<Addresses> KubePodFleet::EnsureNow(const api::ServingFleet& fleet, const PodSettings& settings) {
  const std::string name = fleet.metadata.namespace_ + "/" + fleet.metadata.name;
  api::ServingFleet with_image = fleet;
  std::string& image = with_image.status.image;
  if (image.empty() || fleet.status.image_from_spec) image = settings.image;
  if (!fleet.spec.pods.image.empty()) image = fleet.spec.pods.image;
  for (const Json& object : SupportingObjectsOf(with_image, settings)) RETURN_IF_ERROR(ApplyWhereNeeded(object));
  const Json deployment = DeploymentOf(with_image, settings);
  const auto current = DeploymentOfFleet(name);
  const bool has_other_form = current && current->form != kForm &&
                              current->inputs == TextAt(deployment, {"metadata", "annotations", kInputsAnnotation});
  if (!has_other_form) RETURN_IF_ERROR(ApplyWhereNeeded(deployment));
  const std::string host = fmt::format("{}.{}.svc", ChildName(fleet.metadata.name), fleet.metadata.namespace_);
  return Addresses{
      .grpc = fmt::format("{}:{}", host, fleet.spec.grpc_port),
      .rest = fmt::format("{}:{}", host, fleet.spec.rest_port),
      .pod_selector = fmt::format("app.kubernetes.io/name=longshore-node,{}={}", kFleetLabel, fleet.metadata.name),
      .pod_image = image,
      .controller_lease = settings.lease};
}

// Before the Deployment is scaled in to `nodes`, gives the pods of `leave_first` that are then too many the lowest
// deletion cost, and removes the cost from all others.
Status KubePodFleet::RankPods(const std::string& fleet, int nodes, std::vector<std::string> leave_first) {
  const int too_many = CountStaying(Nodes(fleet)) - nodes;
  leave_first.resize(static_cast<size_t>(std::clamp(too_many, 0, static_cast<int>(leave_first.size()))));
  for (const Pod& pod : PodsOf(fleet)) {
    const char* cost = std::ranges::count(leave_first, pod.info.node) > 0 ? "-1" : "";
    if (pod.ended || pod.deletion_cost == cost) continue;
    const Json value = *cost == '\0' ? Json() : Json(cost);
    const Json patch = {{"metadata", {{"annotations", {{kDeletionCostAnnotation, value}}}, {"uid", pod.uid}}}};
    const auto answer = api_->Send(
        {.method = "PATCH",
         .target = fmt::format("/api/v1/namespaces/{}/pods/{}", fleet.substr(0, fleet.find('/')), pod.info.node),
         .body = DumpJson(patch),
         .content_type = kube::kMergePatch});
    if (!answer && answer.error().code != Code::kNotFound) return Prefixed(answer.error(), pod.info.node);
  }
  return {};
}

// Scales the Deployment on the condition that it still has the resourceVersion at which its replicas were read. If the
// Deployment changed in between, as its status often does, reads it and tries again.
Status KubePodFleet::Scale(const std::string& fleet, int nodes, const std::vector<std::string>& leave_first) {
  for (int conflicts = 0;; ++conflicts) {
    const auto deployment = DeploymentOfFleet(fleet);
    if (!deployment) return FailedPrecondition("fleet {} has no Deployment yet", fleet);
    const Status scaled = ScaleFrom(*deployment, fleet, nodes, leave_first);
    if (scaled || scaled.error().code != Code::kAborted || conflicts == kConflictsMax) return scaled;
    RETURN_IF_ERROR(ReadDeployment(fleet));
  }
}

Status KubePodFleet::ScaleFrom(const Child& deployment, const std::string& fleet, int nodes,
                               const std::vector<std::string>& leave_first) {
  if (deployment.replicas == nodes) {
    if (deployment.pod_error.empty()) return {};
    return FailedPrecondition("fleet {}: {}", fleet, deployment.pod_error);
  }
  if (nodes < deployment.replicas) RETURN_IF_ERROR(RankPods(fleet, nodes, leave_first));
  const Json patch = {{"metadata", {{"uid", deployment.uid}, {"resourceVersion", deployment.version}}},
                      {"spec", {{"replicas", nodes}}}};
  const auto answer =
      api_->Send({.method = "PATCH",
                  .target = fmt::format("{}/scale?fieldManager={}-scale", DeploymentPath(fleet), kManager),
                  .body = DumpJson(patch),
                  .content_type = kube::kMergePatch});
  if (!answer) return Prefixed(answer.error(), fmt::format("cannot scale fleet {} to {} nodes", fleet, nodes));
  // The answer is a Scale, not a Deployment, so the Deployment is read for the next reconciliation.
  return ReadDeployment(fleet);
}

Status KubePodFleet::ReadDeployment(const std::string& fleet) {
  ASSIGN_OR_RETURN(const std::string answer, api_->Send({.target = DeploymentPath(fleet)}));
  ASSIGN_OR_RETURN(const Json deployment, ParseJson(answer));
  CacheOwnWrite("Deployment", deployment);
  return {};
}

// Leaves out pods of a deleted fleet of the same name. Its Deployment, which now belongs to the new fleet, replaces
// them. Until then they serve clients by themselves, because nodes of two fleets do not forward requests to each other.
std::vector<Pod> KubePodFleet::PodsOf(const std::string& fleet) const {
  const auto deployment = DeploymentOfFleet(fleet);
  std::set<kube::Name> names;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = pod_names_.find(fleet); found != pod_names_.end()) names = found->second;
  }
  std::vector<Pod> pods;
  for (const kube::Name& name : names) {
    auto pod = PodAt(name);
    if (!pod || pod->fleet != fleet) continue;
    const bool is_of_another = deployment && !pod->fleet_uid.empty() && pod->fleet_uid != deployment->owner_uid;
    if (!is_of_another) pods.push_back(std::move(*pod));
  }
  return pods;
}

std::optional<Pod> KubePodFleet::PodAt(const kube::Name& name) const {
  for (const auto& mirrored : pods_) {
    if (auto pod = mirrored->cache.Get(name); pod && *pod) return std::move(**pod);
  }
  return std::nullopt;
}

int KubePodFleet::Wanted(const std::string& fleet) const {
  const auto deployment = DeploymentOfFleet(fleet);
  return deployment ? deployment->replicas : 0;
}

std::vector<NodeInfo> KubePodFleet::Nodes(const std::string& fleet) const {
  std::vector<NodeInfo> nodes;
  for (Pod& pod : PodsOf(fleet)) {
    if (!pod.ended) nodes.push_back(std::move(pod.info));
  }
  return nodes;
}

std::optional<NodeTokens::Node> KubePodFleet::NodeOf(const PodName& name) const {
  const auto pod = PodAt({name.namespace_, name.name});
  if (!pod || pod->uid != name.uid || pod->ended) return std::nullopt;
  return NodeTokens::Node{pod->fleet, pod->fleet_uid, name.name};
}

std::vector<std::string> KubePodFleet::Fleets() const {
  std::set<std::string> fleets;
  for (const auto& mirrored : children_.at("Deployment")) {
    mirrored->cache.ForEach([&](const kube::Name&, const Result<Child>& child) {
      if (child) fleets.insert(child->fleet);
    });
  }
  return {fleets.begin(), fleets.end()};
}

// Deletes a Deployment that has lost its owner, together with its pods. Kubernetes itself deletes the objects that a
// deleted ServingFleet still owns.
Status KubePodFleet::Remove(const std::string& fleet) {
  {
    const std::lock_guard lock(mutex_);
    unreachable_since_.erase(fleet);
  }
  const auto deployment = DeploymentOfFleet(fleet);
  if (!deployment) return {};
  const Json options = {{"propagationPolicy", "Background"}, {"preconditions", {{"uid", deployment->uid}}}};
  const auto answer = api_->Send({.method = "DELETE", .target = DeploymentPath(fleet), .body = options.dump()});
  if (!answer && answer.error().code != Code::kNotFound) return Prefixed(answer.error(), fleet);
  return {};
}

}  // namespace

Result<std::unique_ptr<PodFleet>> StartPodFleet(const kube::Cluster& cluster, const PodFleetOptions& options,
                                                const MonotonicClock& clock, OnChange on_change) {
  auto fleet = std::make_unique<KubePodFleet>(cluster, options, clock, std::move(on_change));
  RETURN_IF_ERROR(fleet->Start());
  return std::unique_ptr<PodFleet>(std::move(fleet));
}

}  // namespace longshore::fleet::pods

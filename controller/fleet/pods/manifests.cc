#include "controller/fleet/pods/manifests.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "common/base/sha256.h"
#include "common/node_contract/drain.h"
#include "controller/api/format.h"
#include "controller/api/termination.h"
#include "controller/api/units.h"

namespace longshore::fleet::pods {
namespace {

constexpr int kUser = 65532;  // The user of the node's image.
constexpr int kTokenSeconds = 3600;
constexpr const char* kStateDir = "/var/lib/longshore";
constexpr const char* kCacheDir = "/var/cache/longshore";
constexpr const char* kCaDir = "/run/longshore/ca";
constexpr const char* kTokenDir = "/run/longshore/token";

Json Selector(const api::ServingFleet& fleet) {
  return {{"app.kubernetes.io/name", "longshore-node"}, {kFleetLabel, fleet.metadata.name}};
}

Json LabelsOf(const api::ServingFleet& fleet) {
  Json labels = Selector(fleet);
  labels[kManagedByLabel] = kManager;
  return labels;
}

// An object of the fleet, with the fleet as its owner, so that Kubernetes deletes it with the fleet.
Json Object(const char* version, const char* kind, const api::ServingFleet& fleet, const std::string& suffix = "") {
  const Json owner = {{"apiVersion", api::kApiVersion},
                      {"kind", api::kServingFleetKind},
                      {"name", fleet.metadata.name},
                      {"uid", fleet.metadata.uid},
                      {"controller", true}};
  return {{"apiVersion", version},
          {"kind", kind},
          {"metadata",
           {{"name", ChildName(fleet.metadata.name) + suffix},
            {"namespace", fleet.metadata.namespace_},
            {"labels", LabelsOf(fleet)},
            {"ownerReferences", Json::array({owner})}}}};
}

Json Mount(const std::string& name, const std::string& path, bool read_only) {
  Json mount = {{"name", name}, {"mountPath", path}};
  if (read_only) mount["readOnly"] = true;
  return mount;
}

struct Storage {
  Json volumes = Json::array();
  Json mounts = Json::array();
};

Storage StorageOf(const api::ServingFleet& fleet) {
  Storage storage;
  const auto add = [&](const std::string& name, const std::string& path, bool read_only, Json volume) {
    volume["name"] = name;
    storage.volumes.push_back(std::move(volume));
    storage.mounts.push_back(Mount(name, path, read_only));
  };
  add("state", kStateDir, false, {{"emptyDir", Json::object()}});
  const std::string& limit = fleet.spec.pods.cache_size_limit;
  add("cache", kCacheDir, false, {{"emptyDir", limit.empty() ? Json::object() : Json{{"sizeLimit", limit}}}});
  add("ca", kCaDir, true, {{"configMap", {{"name", ChildName(fleet.metadata.name) + "-ca"}}}});
  const Json token = {{"audience", kTokenAudience}, {"expirationSeconds", kTokenSeconds}, {"path", "token"}};
  add("token", kTokenDir, true, {{"projected", {{"sources", Json::array({{{"serviceAccountToken", token}}})}}}});
  for (const api::ModelVolume& volume : fleet.spec.pods.model_volumes) {
    const std::string name = "models-" + volume.name;
    if (volume.claim_name.empty()) {
      add(name, volume.mount_path, true, {{"secret", {{"secretName", volume.secret_name}}}});
    } else {
      Json claim = {{"claimName", volume.claim_name}};
      if (volume.read_only) claim["readOnly"] = true;
      add(name, volume.mount_path, volume.read_only, {{"persistentVolumeClaim", std::move(claim)}});
    }
  }
  return storage;
}

Json ArgumentsOf(const api::ServingFleet& fleet, const PodSettings& settings) {
  const api::Pods& pods = fleet.spec.pods;
  Json arguments = {fmt::format("--controller={}", settings.controller),
                    fmt::format("--controller_ca_file={}/ca.crt", kCaDir),
                    fmt::format("--controller_token_file={}/token", kTokenDir),
                    fmt::format("--fleet={}/{}", fleet.metadata.namespace_, fleet.metadata.name),
                    "--node=$(POD_NAME)",
                    fmt::format("--state_dir={}", kStateDir),
                    fmt::format("--port={}", kGrpcPort),
                    fmt::format("--rest_api_port={}", kRestPort),
                    "--admin_host=::",
                    fmt::format("--admin_port={}", kAdminPort),
                    fmt::format("--peer_address=$(POD_IP):{}", kPeerPort),
                    fmt::format("--log_level={}", pods.log_level),
                    fmt::format("--cache_dir={}", kCacheDir)};
  if (!pods.cache_size_limit.empty())
    arguments.push_back(fmt::format("--cache_bytes_max={}", api::BytesOf(pods.cache_size_limit)));
  if (!pods.source_ca_file.empty()) arguments.push_back("--source_ca_file=" + pods.source_ca_file);
  return arguments;
}

Json Probe(const char* path, int period_s, int failures) {
  return {
      {"httpGet", {{"path", path}, {"port", "admin"}}}, {"periodSeconds", period_s}, {"failureThreshold", failures}};
}

Json FromPod(const char* name, const char* field) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}};
}

Json VariablesOf(const api::Termination& termination) {
  const Json drain_max = {{"name", node_contract::kDrainMaxVariable},
                          {"value", std::to_string(termination.drain_max.count())}};
  return {FromPod("POD_NAME", "metadata.name"), FromPod("POD_IP", "status.podIP"), drain_max};
}

Json ContainerOf(const api::ServingFleet& fleet, const PodSettings& settings, Json mounts) {
  const api::Pods& pods = fleet.spec.pods;
  const api::Termination termination = api::TerminationOf(pods);
  Json container = {{"name", "node"},
                    {"image", fleet.status.image},
                    {"args", ArgumentsOf(fleet, settings)},
                    {"env", VariablesOf(termination)},
                    {"ports",
                     {{{"name", "grpc"}, {"containerPort", kGrpcPort}},
                      {{"name", "rest"}, {"containerPort", kRestPort}},
                      {{"name", "admin"}, {"containerPort", kAdminPort}},
                      {{"name", "peers"}, {"containerPort", kPeerPort}}}},
                    {"startupProbe", Probe("/livez", 1, 60)},
                    {"livenessProbe", Probe("/livez", 10, 6)},
                    {"readinessProbe", Probe("/readyz", 1, 1)},
                    {"volumeMounts", std::move(mounts)},
                    {"securityContext",
                     {{"allowPrivilegeEscalation", false},
                      {"readOnlyRootFilesystem", true},
                      {"capabilities", {{"drop", Json::array({"ALL"})}}}}}};
  if (const int64_t seconds = termination.before_drain.count(); seconds > 0)
    container["lifecycle"]["preStop"]["sleep"]["seconds"] = seconds;
  if (!pods.limits.empty()) container["resources"]["limits"] = pods.limits;
  if (!pods.requests.empty()) container["resources"]["requests"] = pods.requests;
  return container;
}

Json TolerationOf(const api::Toleration& toleration) {
  Json json = Json::object();
  if (!toleration.key.empty()) json["key"] = toleration.key;
  json["operator"] = toleration.exists ? "Exists" : "Equal";
  if (!toleration.exists) json["value"] = toleration.value;
  if (!toleration.effect.empty()) json["effect"] = toleration.effect;
  if (toleration.seconds) json["tolerationSeconds"] = *toleration.seconds;
  return json;
}

Json SpreadOf(const api::TopologySpread& spread, const Json& selector) {
  return {{"topologyKey", spread.topology_key},
          {"maxSkew", spread.max_skew},
          {"whenUnsatisfiable", spread.required ? "DoNotSchedule" : "ScheduleAnyway"},
          {"labelSelector", {{"matchLabels", selector}}}};
}

void Place(const api::ServingFleet& fleet, Json& pod) {
  const api::Pods& pods = fleet.spec.pods;
  if (!pods.node_selector.empty()) pod["nodeSelector"] = pods.node_selector;
  for (const api::Toleration& toleration : pods.tolerations) pod["tolerations"].push_back(TolerationOf(toleration));
  for (const api::TopologySpread& spread : pods.topology_spread) {
    pod["topologySpreadConstraints"].push_back(SpreadOf(spread, Selector(fleet)));
  }
  if (!pods.priority_class.empty()) pod["priorityClassName"] = pods.priority_class;
}

Json PodOf(const api::ServingFleet& fleet, const PodSettings& settings) {
  const api::Pods& pods = fleet.spec.pods;
  Storage storage = StorageOf(fleet);
  Json pod = {
      {"serviceAccountName", pods.service_account.empty() ? ChildName(fleet.metadata.name) : pods.service_account},
      {"automountServiceAccountToken", false},
      {"enableServiceLinks", false},
      {"terminationGracePeriodSeconds", std::chrono::ceil<std::chrono::seconds>(pods.termination_grace_period).count()},
      {"securityContext",
       {{"runAsNonRoot", true},
        {"runAsUser", kUser},
        {"runAsGroup", kUser},
        {"fsGroup", kUser},
        {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
      {"containers", Json::array({ContainerOf(fleet, settings, std::move(storage.mounts))})},
      {"volumes", std::move(storage.volumes)}};
  for (const std::string& secret : pods.image_pull_secrets) pod["imagePullSecrets"].push_back({{"name", secret}});
  Place(fleet, pod);
  Json labels = pods.labels;
  labels.update(LabelsOf(fleet));
  labels[kFleetUidLabel] = fleet.metadata.uid;
  Json metadata = {{"labels", std::move(labels)}};
  if (!pods.annotations.empty()) metadata["annotations"] = pods.annotations;
  return {{"metadata", std::move(metadata)}, {"spec", std::move(pod)}};
}

// Returns the digest of the inputs of the pod template, not of the template: another controller version may make
// another template from the same inputs.
std::string InputsOf(const api::ServingFleet& fleet, const PodSettings& settings) {
  Json spec = api::ToJson(fleet.spec);
  for (const char* key : {"replicas", "ports", "connectionAgeMax", "autoscaling", "allowedNamespaces", "quotas",
                          "service", "networkPolicy"}) {
    spec.erase(key);
  }
  const Json inputs = {fleet.metadata.namespace_, fleet.metadata.name, fleet.metadata.uid,
                       fleet.status.image,        settings.controller, spec};
  return ToHex(Sha256(DumpJson(inputs)));
}

Json PortsOf(const api::ServingFleet& fleet) {
  return {{{"name", "grpc"}, {"port", fleet.spec.grpc_port}, {"targetPort", "grpc"}},
          {{"name", "rest"}, {"port", fleet.spec.rest_port}, {"targetPort", "rest"}}};
}

Json ServiceOf(const api::ServingFleet& fleet) {
  const api::Pods& pods = fleet.spec.pods;
  static const std::map<api::ServiceType, const char*> kTypes = {{api::ServiceType::kClusterIp, "ClusterIP"},
                                                                 {api::ServiceType::kNodePort, "NodePort"},
                                                                 {api::ServiceType::kLoadBalancer, "LoadBalancer"}};
  Json service = Object("v1", "Service", fleet);
  if (!pods.service_annotations.empty()) service["metadata"]["annotations"] = pods.service_annotations;
  service["spec"] = {{"type", kTypes.at(pods.service_type)}, {"selector", Selector(fleet)}, {"ports", PortsOf(fleet)}};
  return service;
}

Json HeadlessServiceOf(const api::ServingFleet& fleet) {
  Json service = Object("v1", "Service", fleet, "-headless");
  service["spec"] = {{"clusterIP", "None"}, {"selector", Selector(fleet)}, {"ports", PortsOf(fleet)}};
  return service;
}

Json PeerOf(const api::ClientPeer& client) {
  Json peer = Json::object();
  if (!client.cidr.empty()) {
    peer["ipBlock"] = {{"cidr", client.cidr}};
    if (!client.except.empty()) peer["ipBlock"]["except"] = client.except;
  }
  if (client.pods) peer["podSelector"]["matchLabels"] = *client.pods;
  if (client.namespaces) peer["namespaceSelector"]["matchLabels"] = *client.namespaces;
  return peer;
}

// Limits which clients may connect to the nodes. Outgoing connections are not limited: model sources may be anywhere,
// and a rule with the controller's labels would disconnect the nodes from the controller when these labels change.
Json NetworkPolicyOf(const api::ServingFleet& fleet) {
  const auto port = [](const char* name) { return Json{{"port", name}, {"protocol", "TCP"}}; };
  Json clients = {{"ports", {port("grpc"), port("rest")}}};
  for (const api::ClientPeer& client : fleet.spec.pods.clients) clients["from"].push_back(PeerOf(client));
  const Json peers = {{"ports", Json::array({port("peers")})},
                      {"from", Json::array({{{"podSelector", {{"matchLabels", Selector(fleet)}}}}})}};
  const Json monitors = {{"ports", Json::array({port("admin")})}};  // For probes and Prometheus.
  Json policy = Object("networking.k8s.io/v1", "NetworkPolicy", fleet);
  policy["spec"] = {{"podSelector", {{"matchLabels", Selector(fleet)}}},
                    {"policyTypes", Json::array({"Ingress"})},
                    {"ingress", {std::move(clients), peers, monitors}}};
  return policy;
}

Json DisruptionBudgetOf(const api::ServingFleet& fleet) {
  Json budget = Object("policy/v1", "PodDisruptionBudget", fleet);
  budget["spec"] = {{"maxUnavailable", 1}, {"selector", {{"matchLabels", Selector(fleet)}}}};
  return budget;
}

Json ServiceAccountOf(const api::ServingFleet& fleet) {
  Json account = Object("v1", "ServiceAccount", fleet);
  account["automountServiceAccountToken"] = false;
  return account;
}

Json CaOf(const api::ServingFleet& fleet, const PodSettings& settings) {
  Json map = Object("v1", "ConfigMap", fleet, "-ca");
  map["data"] = {{"ca.crt", settings.ca}};
  return map;
}

}  // namespace

std::string ChildName(const std::string& fleet_name) { return "longshore-" + fleet_name; }

Status CheckName(const api::Metadata& fleet, const PodSettings& settings) {
  const std::string child = ChildName(fleet.name);
  const size_t slash = settings.lease.find('/');
  const std::string controller = settings.lease.substr(slash + 1);
  // The chart's names; the Services of the console and for nodes are named after the release.
  std::string objects;
  if (child == controller) objects = "Deployment, ServiceAccount, NetworkPolicy and PodDisruptionBudget";
  const auto is_service = [&](const std::string& name) {
    return settings.controller.starts_with("dns:///" + name + ".");
  };
  constexpr std::string_view kConsole = "-console";
  const bool is_console =
      child.ends_with(kConsole) && is_service(child.substr(0, child.size() - kConsole.size()) + "-nodes");
  if (child == controller + "-metrics" || is_service(child) || is_console) objects = "Service";
  if (objects.empty() || fleet.namespace_ != settings.lease.substr(0, slash)) return {};
  return AlreadyExists(
      "the name \"{}\" is reserved in namespace {}: the fleet's objects would replace the {} {} of the controller; "
      "delete this fleet, and create it with another name or in another namespace",
      fleet.name, fleet.namespace_, objects, child);
}

Json DeploymentOf(const api::ServingFleet& fleet, const PodSettings& settings) {
  const int surge = fleet.spec.pods.surge;
  Json deployment = Object("apps/v1", "Deployment", fleet);
  deployment["spec"] = {
      {"selector", {{"matchLabels", Selector(fleet)}}},
      {"minReadySeconds", 1},
      {"strategy",
       {{"type", "RollingUpdate"}, {"rollingUpdate", {{"maxSurge", surge}, {"maxUnavailable", surge == 0 ? 1 : 0}}}}},
      {"template", PodOf(fleet, settings)}};
  deployment["metadata"]["annotations"] = {{kInputsAnnotation, InputsOf(fleet, settings)}, {kFormAnnotation, kForm}};
  return deployment;
}

std::vector<Json> SupportingObjectsOf(const api::ServingFleet& fleet, const PodSettings& settings) {
  std::vector<Json> objects;
  if (fleet.spec.pods.service_account.empty()) objects.push_back(ServiceAccountOf(fleet));
  objects.push_back(CaOf(fleet, settings));
  objects.push_back(NetworkPolicyOf(fleet));
  objects.push_back(ServiceOf(fleet));
  objects.push_back(HeadlessServiceOf(fleet));
  objects.push_back(DisruptionBudgetOf(fleet));
  return objects;
}

std::string PathOf(const Json& object) {
  static const std::map<std::string, const char*> kPlurals = {
      {"Deployment", "deployments"},         {"Service", "services"},
      {"ServiceAccount", "serviceaccounts"}, {"ConfigMap", "configmaps"},
      {"NetworkPolicy", "networkpolicies"},  {"PodDisruptionBudget", "poddisruptionbudgets"}};
  const std::string version = object.at("apiVersion");
  const std::string root = version.find('/') == std::string::npos ? "/api/" : "/apis/";
  return fmt::format(
      "{}{}/namespaces/{}/{}/{}", root, version, object.at("metadata").at("namespace").get<std::string>(),
      kPlurals.at(object.at("kind").get<std::string>()), object.at("metadata").at("name").get<std::string>());
}

}  // namespace longshore::fleet::pods

#include "controller/api/format.h"
#include "controller/api/specs.h"

namespace longshore::api {
namespace {

template <typename T>
void PutUnlessEmpty(Json& json, const char* key, const T& value) {
  if (!value.empty()) json[key] = value;
}

Json ToJson(const Toleration& toleration) {
  Json json{{"operator", toleration.exists ? "Exists" : "Equal"}};
  PutUnlessEmpty(json, "key", toleration.key);
  PutUnlessEmpty(json, "value", toleration.value);
  PutUnlessEmpty(json, "effect", toleration.effect);
  if (toleration.seconds) json["tolerationSeconds"] = *toleration.seconds;
  return json;
}

Json ToJson(const TopologySpread& spread) {
  return {{"topologyKey", spread.topology_key},
          {"maxSkew", spread.max_skew},
          {"whenUnsatisfiable", spread.required ? "DoNotSchedule" : "ScheduleAnyway"}};
}

Json ToJson(const ModelVolume& volume) {
  Json json{{"name", volume.name}, {"mountPath", volume.mount_path}};
  if (volume.claim_name.empty()) {
    json["secret"] = {{"secretName", volume.secret_name}};
  } else {
    json["persistentVolumeClaim"] = {{"claimName", volume.claim_name}, {"readOnly", volume.read_only}};
  }
  return json;
}

Json ToJson(const ClientPeer& client) {
  Json json = Json::object();
  if (!client.cidr.empty()) json["ipBlock"] = {{"cidr", client.cidr}};
  if (!client.except.empty()) json["ipBlock"]["except"] = client.except;
  if (client.pods) json["podSelector"] = {{"matchLabels", *client.pods}};
  if (client.namespaces) json["namespaceSelector"] = {{"matchLabels", *client.namespaces}};
  return json;
}

const char* Name(ServiceType type) {
  switch (type) {
    case ServiceType::kNodePort: return "NodePort";
    case ServiceType::kLoadBalancer: return "LoadBalancer";
    case ServiceType::kClusterIp: break;
  }
  return "ClusterIP";
}

template <typename T>
void PutList(Json& json, const char* key, const std::vector<T>& items) {
  for (const T& item : items) json[key].push_back(ToJson(item));
}

void PutPlaces(const Pods& pods, Json& spec) {
  PutUnlessEmpty(spec, "nodeSelector", pods.node_selector);
  PutList(spec, "tolerations", pods.tolerations);
  PutList(spec, "topologySpread", pods.topology_spread);
  PutUnlessEmpty(spec, "priorityClassName", pods.priority_class);
}

void PutNetwork(const Pods& pods, Json& spec) {
  if (pods.service_type != ServiceType::kClusterIp) spec["service"]["type"] = Name(pods.service_type);
  if (!pods.service_annotations.empty()) spec["service"]["annotations"] = pods.service_annotations;
  for (const ClientPeer& client : pods.clients) spec["networkPolicy"]["clients"].push_back(ToJson(client));
}

}  // namespace

void PutPods(const Pods& pods, Json& spec) {
  static const Pods kDefault;
  PutUnlessEmpty(spec, "image", pods.image);
  for (const std::string& name : pods.image_pull_secrets) spec["imagePullSecrets"].push_back({{"name", name}});
  if (!pods.limits.empty()) spec["resources"]["limits"] = pods.limits;
  if (!pods.requests.empty()) spec["resources"]["requests"] = pods.requests;
  PutPlaces(pods, spec);
  PutUnlessEmpty(spec, "serviceAccountName", pods.service_account);
  PutList(spec, "modelVolumes", pods.model_volumes);
  if (!pods.cache_size_limit.empty()) spec["cache"] = {{"sizeLimit", pods.cache_size_limit}};
  if (!pods.source_ca_file.empty()) spec["sources"] = {{"caFile", pods.source_ca_file}};
  if (pods.surge != kDefault.surge) spec["rollout"] = {{"surge", pods.surge}};
  PutNetwork(pods, spec);
  PutUnlessEmpty(spec, "podLabels", pods.labels);
  PutUnlessEmpty(spec, "podAnnotations", pods.annotations);
  if (pods.log_level != kDefault.log_level) spec["logLevel"] = pods.log_level;
  if (pods.termination_grace_period != kDefault.termination_grace_period) {
    spec["terminationGracePeriod"] = FormatDuration(pods.termination_grace_period);
  }
}

}  // namespace longshore::api

#include <algorithm>
#include <array>
#include <string_view>

#include "controller/api/specs.h"

namespace longshore::api {
namespace {

constexpr size_t kSecretsMax = 8;
constexpr size_t kResourcesMax = 16;
constexpr size_t kLabelsMax = 16;
constexpr size_t kTolerationsMax = 16;
constexpr size_t kSpreadsMax = 4;
constexpr size_t kVolumesMax = 16;
constexpr size_t kClientsMax = 16;
constexpr size_t kMoreLabelsMax = 32;
constexpr int64_t kYearSeconds = 31536000;

constexpr std::array<const char*, 18> kFields = {"image",          "imagePullSecrets",   "resources",
                                                 "nodeSelector",   "tolerations",        "modelVolumes",
                                                 "topologySpread", "priorityClassName",  "cache",
                                                 "sources",        "serviceAccountName", "rollout",
                                                 "service",        "networkPolicy",      "podLabels",
                                                 "podAnnotations", "logLevel",           "terminationGracePeriod"};

void RefuseOwn(Fields& fields, const char* key, const std::map<std::string, std::string>& map,
               std::initializer_list<std::string_view> prefixes) {
  for (const auto& [name, _] : map) {
    for (const std::string_view prefix : prefixes) {
      if (name.starts_with(prefix)) fields.Refuse(key, fmt::format("{} is set by the controller", name));
    }
  }
}

bool IsResource(const std::string& name) {
  if (name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-")) return true;
  return name.find('/') != std::string::npos && Matches(name, kLabelName);
}

void ReadAmounts(Fields& resources, const char* key, Amounts& out) {
  resources.AmountMap(key, kResourcesMax, out);
  for (const auto& [name, _] : out) {
    if (IsResource(name)) continue;
    resources.Refuse(
        key, fmt::format("{} is not a valid resource: use cpu, memory, ephemeral-storage, hugepages-SIZE or a device "
                         "such as nvidia.com/gpu",
                         Shown(name)));
  }
}

// A device, such as a GPU, cannot be shared, so its request must equal its limit and be a whole number.
void CheckDevices(Fields& resources, const Pods& pods) {
  const auto is_device = [](const std::string& name) { return name.find('/') != std::string::npos; };
  for (const auto& [name, amount] : pods.limits) {
    if (is_device(name) && amount.find_first_not_of("0123456789") != std::string::npos) {
      resources.Refuse("limits", fmt::format("{}: {} is not a whole number of devices", name, amount));
    }
  }
  for (const auto& [name, amount] : pods.requests) {
    const auto limit = pods.limits.find(name);
    if (is_device(name) && (limit == pods.limits.end() || limit->second != amount)) {
      resources.Refuse("requests", fmt::format("{} needs a limit that equals the request", name));
    }
  }
}

void ReadResources(Fields& resources, Pods& out) {
  ReadAmounts(resources, "limits", out.limits);
  ReadAmounts(resources, "requests", out.requests);
  CheckDevices(resources, out);
}

Toleration ReadToleration(Fields& fields) {
  Toleration out;
  fields.Text("key", out.key, kLabelName);
  fields.Choice<bool>("operator", out.exists, {{"Exists", true}, {"Equal", false}});
  fields.Text("value", out.value, kLabelValue);
  fields.Choice<std::string>(
      "effect", out.effect,
      {{"NoSchedule", "NoSchedule"}, {"PreferNoSchedule", "PreferNoSchedule"}, {"NoExecute", "NoExecute"}});
  fields.Integer("tolerationSeconds", out.seconds, 0, kYearSeconds);
  if (out.exists && !out.value.empty()) fields.Refuse("value", "has no effect with operator Exists");
  if (!out.exists && out.key.empty()) fields.Refuse("key", "is required unless operator is Exists");
  if (out.seconds && out.effect != "NoExecute") {
    fields.Refuse("tolerationSeconds", "has no effect without effect NoExecute");
  }
  return out;
}

TopologySpread ReadSpread(Fields& fields) {
  TopologySpread out;
  fields.Text("topologyKey", out.topology_key, kLabelName, Need::kRequired);
  fields.Integer("maxSkew", out.max_skew, 1, 1000);
  fields.Choice<bool>("whenUnsatisfiable", out.required, {{"ScheduleAnyway", false}, {"DoNotSchedule", true}});
  return out;
}

// Whether the path is in a folder that the system or the node itself uses.
bool IsTaken(const std::string& path) {
  const std::string_view top = std::string_view(path).substr(1, path.find('/', 1) - 1);
  constexpr std::string_view kTaken[] = {"bin", "dev",  "etc", "lib", "lib64", "proc",
                                         "run", "sbin", "sys", "tmp", "usr",   "var"};
  return std::ranges::find(kTaken, top) != std::end(kTaken);
}

ModelVolume ReadVolume(Fields& fields) {
  ModelVolume out;
  fields.Text("name", out.name, kVolumeName, Need::kRequired);
  fields.Text("mountPath", out.mount_path, kMountPath, Need::kRequired);
  if (!out.mount_path.empty() && IsTaken(out.mount_path)) {
    fields.Refuse("mountPath", fmt::format("{} is a folder of the system or of the node", Shown(out.mount_path)));
  }
  fields.Object("persistentVolumeClaim", [&](Fields& claim) {
    claim.Text("claimName", out.claim_name, kObjectName, Need::kRequired);
    claim.Flag("readOnly", out.read_only);
  });
  fields.Object("secret",
                [&](Fields& secret) { secret.Text("secretName", out.secret_name, kObjectName, Need::kRequired); });
  if (fields.Has("persistentVolumeClaim") == fields.Has("secret")) {
    fields.Refuse("secret", "a volume needs either persistentVolumeClaim or secret");
  }
  return out;
}

std::optional<Labels> ReadSelector(Fields& fields, const char* key) {
  Labels labels;
  fields.Object(key, [&](Fields& selector) {
    selector.TextMap("matchLabels", kLabelsMax, kLabelValue, labels);
    selector.Require("matchLabels");
  });
  return fields.Has(key) ? std::optional(labels) : std::nullopt;
}

ClientPeer ReadClient(Fields& fields) {
  ClientPeer out;
  fields.Object("ipBlock", [&](Fields& block) {
    block.Text("cidr", out.cidr, kCidr, Need::kRequired);
    block.TextSet("except", kClientsMax, kCidr, out.except);
  });
  out.pods = ReadSelector(fields, "podSelector");
  out.namespaces = ReadSelector(fields, "namespaceSelector");
  if (fields.Has("ipBlock") == (out.pods || out.namespaces)) {
    fields.Refuse("ipBlock", "a client needs either ipBlock, or podSelector or namespaceSelector or both");
  }
  return out;
}

template <typename T, typename Name>
void RefuseTwins(Fields& fields, const char* key, const std::vector<T>& items, Name name) {
  for (size_t i = 1; i < items.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (name(items[i]) == name(items[k])) {
        fields.Refuse(fmt::format("{}[{}]", key, i), fmt::format("\"{}\" occurs twice", name(items[i])));
      }
    }
  }
}

void ReadPlaces(Fields& spec, Pods& out) {
  spec.TextMap("nodeSelector", kLabelsMax, kLabelValue, out.node_selector);
  spec.Objects("tolerations", kTolerationsMax, [&](Fields& item) { out.tolerations.push_back(ReadToleration(item)); });
  spec.Objects("topologySpread", kSpreadsMax, [&](Fields& item) { out.topology_spread.push_back(ReadSpread(item)); });
  RefuseTwins(spec, "topologySpread", out.topology_spread, [](const auto& spread) { return spread.topology_key; });
  spec.Text("priorityClassName", out.priority_class, kObjectName);
}

void ReadVolumes(Fields& spec, Pods& out) {
  spec.Objects("modelVolumes", kVolumesMax, [&](Fields& item) { out.model_volumes.push_back(ReadVolume(item)); });
  RefuseTwins(spec, "modelVolumes", out.model_volumes, [](const auto& volume) { return volume.name; });
  RefuseTwins(spec, "modelVolumes", out.model_volumes, [](const auto& volume) { return volume.mount_path; });
  spec.Object("cache", [&](Fields& cache) { cache.Amount("sizeLimit", out.cache_size_limit, Need::kRequired); });
  spec.Object("sources",
              [&](Fields& sources) { sources.Text("caFile", out.source_ca_file, kMountPath, Need::kRequired); });
}

void ReadNetwork(Fields& spec, Pods& out) {
  spec.Object("service", [&](Fields& service) {
    service.Choice<ServiceType>("type", out.service_type,
                                {{"ClusterIP", ServiceType::kClusterIp},
                                 {"NodePort", ServiceType::kNodePort},
                                 {"LoadBalancer", ServiceType::kLoadBalancer}});
    service.TextMap("annotations", kMoreLabelsMax, kAnnotationValue, out.service_annotations);
    RefuseOwn(service, "annotations", out.service_annotations, {"longshore.dev/"});
  });
  spec.Object("networkPolicy", [&](Fields& policy) {
    policy.Objects("clients", kClientsMax, [&](Fields& item) { out.clients.push_back(ReadClient(item)); });
    if (out.clients.empty())
      policy.Refuse("clients", "is required and not empty; without networkPolicy all clients may connect");
  });
}

}  // namespace

Pods ReadPods(Fields& spec) {
  for (const char* key : kFields) spec.OnlyInCluster(key, "here nodes are processes of this host");
  Pods out;
  spec.Text("image", out.image, kImage);
  spec.Objects("imagePullSecrets", kSecretsMax, [&](Fields& item) {
    item.Text("name", out.image_pull_secrets.emplace_back(), kObjectName, Need::kRequired);
  });
  RefuseTwins(spec, "imagePullSecrets", out.image_pull_secrets, [](const auto& name) { return name; });
  spec.Object("resources", [&](Fields& resources) { ReadResources(resources, out); });
  ReadPlaces(spec, out);
  spec.Text("serviceAccountName", out.service_account, kObjectName);
  ReadVolumes(spec, out);
  spec.Object("rollout", [&](Fields& rollout) { rollout.Integer("surge", out.surge, 0, 1); });
  ReadNetwork(spec, out);
  spec.TextMap("podLabels", kMoreLabelsMax, kLabelValue, out.labels);
  RefuseOwn(spec, "podLabels", out.labels, {"longshore.dev/", "app.kubernetes.io/"});
  spec.TextMap("podAnnotations", kMoreLabelsMax, kAnnotationValue, out.annotations);
  RefuseOwn(spec, "podAnnotations", out.annotations, {"longshore.dev/"});
  spec.Choice<std::string>("logLevel", out.log_level,
                           {{"debug", "debug"}, {"info", "info"}, {"warning", "warning"}, {"error", "error"}});
  spec.Time("terminationGracePeriod", out.termination_grace_period, std::chrono::seconds(1), std::chrono::hours(1));
  return out;
}

}  // namespace longshore::api

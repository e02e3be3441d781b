#include "controller/cli/doctor/workloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "common/json/path.h"

namespace longshore::cli::doctor {
namespace {

constexpr const char* kFleetLabel = "longshore.dev/fleet";
constexpr int kMinorMin = 30;
constexpr int kNodesPort = 8610;

const Json& ItemsOf(const Json& list) { return At(list, {"items"}); }

Finding NotRead(const char* group, std::string name, const Error& error, std::string cure) {
  return {group, std::move(name), Verdict::kNotKnown, error.message + ".", std::move(cure)};
}

// "ImagePullBackOff: Back-off pulling image ..."; "" if the pod does not wait.
std::string WaitOf(const Json& pod) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& container : At(pod, {"status", list})) {
      const std::string reason = TextAt(container, {"state", "waiting", "reason"});
      if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") continue;
      return reason + ": " + TextAt(container, {"state", "waiting", "message"});
    }
  }
  for (const Json& condition : At(pod, {"status", "conditions"})) {
    if (TextAt(condition, {"type"}) == "PodScheduled" && TextAt(condition, {"status"}) == "False")
      return TextAt(condition, {"reason"}) + ": " + TextAt(condition, {"message"});
  }
  return "";
}

bool HasReadyEndpoint(const Json& slices, const std::string& service) {
  for (const Json& slice : ItemsOf(slices)) {
    if (TextAt(slice, {"metadata", "labels", "kubernetes.io/service-name"}) != service) continue;
    for (const Json& endpoint : At(slice, {"endpoints"})) {
      if (At(endpoint, {"conditions", "ready"}) != Json(false)) return true;
    }
  }
  return false;
}

bool Selects(const Json& policy, const Json& labels) {
  if (!At(policy, {"spec", "podSelector", "matchExpressions"}).is_null()) return false;  // Not evaluated: only hints.
  const Json& wanted = At(policy, {"spec", "podSelector", "matchLabels"});
  for (const auto& [name, value] : wanted.items()) {
    if (!labels.contains(name) || labels.at(name) != value) return false;
  }
  return true;
}

bool Restricts(const Json& policy, const std::string& direction) {
  const Json& types = At(policy, {"spec", "policyTypes"});
  return std::ranges::any_of(types, [&](const Json& type) { return type == direction; });
}

// Whether a rule mentions the port, or any port.
bool AllowsPort(const Json& policy, const std::string& direction) {
  for (const Json& rule : At(policy, {"spec", direction == "Egress" ? "egress" : "ingress"})) {
    const Json& ports = At(rule, {"ports"});
    if (ports.empty()) return true;
    for (const Json& port : ports) {
      const Json& number = At(port, {"port"});
      const Json& last = At(port, {"endPort"});
      if (number.is_null() || number == "nodes" || number == kNodesPort) return true;
      if (number.is_number() && last.is_number() && number <= kNodesPort && kNodesPort <= last) return true;
    }
  }
  return false;
}

}  // namespace

Findings CheckPods(const std::string& namespace_, const Result<Json>& pods) {
  const std::string list = fmt::format("kubectl -n {} get pods", namespace_);
  if (!pods) return {NotRead(kWorkloads, "pods of namespace " + namespace_, pods.error(), list)};
  Findings findings;
  const Json& items = ItemsOf(*pods);
  for (const Json& pod : items) {
    const std::string why = WaitOf(pod);
    const std::string name = TextAt(pod, {"metadata", "name"});
    if (why.empty()) continue;
    findings.push_back({kWorkloads, fmt::format("pod {}/{}", namespace_, name), Verdict::kFailure,
                        fmt::format("it waits: {}.", why),
                        fmt::format("kubectl -n {} describe pod {}", namespace_, name)});
  }
  if (findings.empty() && !items.empty()) {
    findings.push_back({kWorkloads, "pods of namespace " + namespace_, Verdict::kOk,
                        fmt::format("none of {} waits for an image, a machine or a restart.", items.size()), ""});
  }
  return findings;
}

Findings CheckServices(const std::string& namespace_, const Result<Json>& services, const Result<Json>& slices) {
  const std::string all = "Services of namespace " + namespace_;
  const std::string list = fmt::format("kubectl -n {} get endpointslices -l {}", namespace_, kFleetLabel);
  if (!services) return {NotRead(kWorkloads, all, services.error(), list)};
  if (!slices) return {NotRead(kWorkloads, all, slices.error(), list)};
  Findings findings;
  for (const Json& service : ItemsOf(*services)) {
    const std::string name = TextAt(service, {"metadata", "name"});
    const std::string title = fmt::format("Service {}/{}", namespace_, name);
    if (HasReadyEndpoint(*slices, name)) {
      findings.push_back({kWorkloads, title, Verdict::kOk, "it has a ready endpoint.", ""});
    } else {
      findings.push_back({kWorkloads, title, Verdict::kFailure, "it has no ready endpoint, so clients are refused.",
                          fmt::format("kubectl -n {} get pods -l {}={}", namespace_, kFleetLabel,
                                      TextAt(service, {"metadata", "labels", kFleetLabel}))});
    }
  }
  return findings;
}

Findings CheckNetworkPolicies(const std::string& namespace_, const std::string& direction, const Json& labels,
                              const Result<Json>& policies) {
  if (!policies)
    return {NotRead(kWorkloads, "network policies of namespace " + namespace_, policies.error(),
                    fmt::format("kubectl -n {} get networkpolicies", namespace_))};
  Findings findings;
  for (const Json& policy : ItemsOf(*policies)) {
    if (!Restricts(policy, direction) || !Selects(policy, labels) || AllowsPort(policy, direction)) continue;
    const std::string name = TextAt(policy, {"metadata", "name"});
    findings.push_back({kWorkloads, fmt::format("NetworkPolicy {}/{}", namespace_, name), Verdict::kWarning,
                        fmt::format("it restricts {} and has no rule for port {}, by which nodes reach the controller; "
                                    "another policy may allow it.",
                                    direction, kNodesPort),
                        fmt::format("kubectl -n {} edit networkpolicy {}", namespace_, name)});
  }
  return findings;
}

Finding CheckServer(const std::string& server, const Result<Json>& version) {
  Finding finding{kKubernetes, "API server " + server, Verdict::kOk, "", ""};
  if (!version) {
    finding.verdict = Verdict::kFailure;
    finding.cause = version.error().message + ".";
    finding.cure = "kubectl cluster-info";
    return finding;
  }
  const std::string name = TextAt(*version, {"gitVersion"});
  const int minor = std::atoi(TextAt(*version, {"minor"}).c_str());  // "30+" on some clouds.
  finding.cause = fmt::format("it answers, and is Kubernetes {}.", name);
  if (TextAt(*version, {"major"}) == "1" && minor < kMinorMin) {
    finding.verdict = Verdict::kFailure;
    finding.cause = fmt::format("it is Kubernetes {}; Longshore needs 1.{} or newer.", name, kMinorMin);
    finding.cure = "upgrade the cluster";
  }
  return finding;
}

std::string HelmCommand(const std::string& namespace_) {
  if (namespace_.empty()) return "helm install longshore CHART --namespace longshore --create-namespace";
  return fmt::format("helm upgrade longshore CHART --namespace {} --reset-then-reuse-values", namespace_);
}

Finding CheckAdmission(const Result<Json>& policies, const std::string& helm) {
  const std::string name = "Admission policies";
  if (!policies) {
    return NotRead(kKubernetes, name, policies.error(),
                   "kubectl get validatingadmissionpolicies -l app.kubernetes.io/part-of=longshore");
  }
  const size_t count = ItemsOf(*policies).size();
  if (count > 0) return {kKubernetes, name, Verdict::kOk, fmt::format("the chart's {} policies exist.", count), ""};
  return {kKubernetes, name, Verdict::kWarning,
          "none of the chart exists, so nothing restricts what the controller's ServiceAccount may change.",
          helm + " --set admissionPolicy.enabled=true"};
}

}  // namespace longshore::cli::doctor

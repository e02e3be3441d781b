#include "controller/fleet/pods/pod.h"

#include <csignal>

#include "common/json/path.h"
#include "common/os/process/process.h"
#include "controller/api/units.h"
#include "controller/fleet/pods/manifests.h"

namespace longshore::fleet::pods {
namespace {

int Number(const Json& json, const char* key) {
  const Json& value = At(json, {key});
  return value.is_number_integer() ? value.get<int>() : 0;
}

// For example "exited with code 1 (OOMKilled)".
std::string ExitOf(const Json& terminated) {
  const std::string how = ToString(
      process::Exit{.known = true, .code = Number(terminated, "exitCode"), .signal = Number(terminated, "signal")});
  const std::string reason = TextAt(terminated, {"reason"});
  return reason.empty() || reason == "Error" || reason == "Completed" ? how : fmt::format("{} ({})", how, reason);
}

std::string Explained(const Json& json) {
  const std::string reason = TextAt(json, {"reason"});
  const std::string message = TextAt(json, {"message"});
  return message.empty() ? reason : reason + ": " + message;
}

// Returns why the pod does not run (no machine fits, the image cannot be pulled, the container cannot be created), or
// "".
std::string TroubleOf(const Json& status, const Json& container) {
  const Json waiting = At(At(container, {"state"}), {"waiting"});
  const std::string reason = TextAt(waiting, {"reason"});
  if (!reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing") return Explained(waiting);
  for (const Json& condition : At(status, {"conditions"})) {
    if (TextAt(condition, {"type"}) == "PodScheduled" && TextAt(condition, {"status"}) == "False")
      return Explained(condition);
  }
  return "";
}

Json NodeContainerOf(const Json& status) {
  for (const Json& container : At(status, {"containerStatuses"})) {
    if (TextAt(container, {"name"}) == "node") return container;
  }
  return {};
}

}  // namespace

Result<Pod> PodFrom(const Json& json) {
  const Json metadata = At(json, {"metadata"});
  const Json status = At(json, {"status"});
  const std::string fleet = TextAt(At(metadata, {"labels"}), {kFleetLabel});
  Pod pod;
  pod.info.node = TextAt(metadata, {"name"});
  if (fleet.empty() || pod.info.node.empty()) return DataLoss("the pod has no name or no label {}", kFleetLabel);
  pod.fleet = TextAt(metadata, {"namespace"}) + "/" + fleet;
  pod.fleet_uid = TextAt(At(metadata, {"labels"}), {kFleetUidLabel});
  pod.uid = TextAt(metadata, {"uid"});
  pod.deletion_cost = TextAt(At(metadata, {"annotations"}), {kDeletionCostAnnotation});
  pod.info.started_at = api::ParseTime(TextAt(metadata, {"creationTimestamp"})).value_or(TimePoint{});
  const std::string phase = TextAt(status, {"phase"});
  pod.ended = phase == "Failed" || phase == "Succeeded";
  if (!TextAt(metadata, {"deletionTimestamp"}).empty()) pod.info.state = NodeState::kStopping;
  const Json container = NodeContainerOf(status);
  pod.info.crashes = Number(container, "restartCount");
  const Json last = At(At(container, {"lastState"}), {"terminated"});
  if (last.is_object()) pod.info.last_exit = ExitOf(last);
  if (pod.info.state == NodeState::kRunning) pod.info.trouble = TroubleOf(status, container);
  if (pod.info.state == NodeState::kRunning && pod.info.trouble.starts_with("CrashLoopBackOff"))
    pod.info.state = NodeState::kBackingOff;
  return pod;
}

}  // namespace longshore::fleet::pods

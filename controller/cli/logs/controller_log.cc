#include "controller/cli/logs/controller_log.h"

#include <filesystem>

#include "controller/cli/logs/file_log.h"
#include "controller/cli/logs/pod_log.h"
#include "controller/cli/watch/lease.h"
#include "controller/store/local/controller_lock.h"

namespace longshore::cli::logs {
namespace {

constexpr const char* kControllerContainer = "controller";

}  // namespace

Status PrintHostController(const Path& manifests, const Wanted& wanted, TimePoint now, Printer& printer) {
  if (wanted.previous)
    return FailedPrecondition("the controller of a host keeps no previous log: look where its standard error goes");
  ASSIGN_OR_RETURN(const store::local::ControllerLockState controller, store::local::ReadControllerLock(manifests));
  if (!controller.is_running || controller.pid == 0)
    return FailedPrecondition("no controller is running: look for its log where its standard error went");
  std::error_code error;
  const Path output = std::filesystem::read_symlink(fmt::format("/proc/{}/fd/2", controller.pid), error);
  if (error) {
    return PermissionDenied("cannot find the log of the controller, process {}: {}; run the command as its user",
                            controller.pid, error.message());
  }
  if (std::filesystem::is_regular_file(output, error)) return PrintFileLog(output, wanted, now, printer);
  return FailedPrecondition(
      "the controller, process {}, does not write its log to a file, but to {}; if systemd runs it, use journalctl "
      "_PID={}",
      controller.pid, output.string(), controller.pid);
}

Status PrintClusterController(const kube::Cluster& cluster, const std::vector<api::ServingFleet>& fleets,
                              const Wanted& wanted, Printer& printer) {
  const std::string lease = watch::LeaseOf(fleets);
  if (lease.empty())
    return FailedPrecondition("no fleet of this namespace names the Lease of its controller: use kubectl logs");
  const std::string namespace_ = lease.substr(0, lease.find('/'));
  ASSIGN_OR_RETURN(const std::string pod, watch::PodThatLeads(cluster, lease));
  return PrintPodLog(cluster, {namespace_, pod, kControllerContainer}, wanted, printer);
}

}  // namespace longshore::cli::logs

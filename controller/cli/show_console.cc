#include "controller/cli/show_console.h"

#include <fmt/format.h>

#include "controller/cli/companion.h"
#include "controller/cli/watch/lease.h"
#include "controller/leader/presence.h"
#include "controller/store/document.h"
#include "controller/store/local/controller_lock.h"

namespace longshore::cli {
namespace {

constexpr int kConsolePort = 8620;  // In the pods of the chart.

Status ShowOnHost(const Place& place, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::local::ControllerLockState controller,
                   store::local::ReadControllerLock(place.manifests));
  if (!controller.is_running) {
    return FailedPrecondition("no controller of {} is running; start longshore-controller", place.manifests.string());
  }
  if (controller.console.empty()) {
    return FailedPrecondition(
        "the controller of {} has no console: it runs with --no-console, or its log says why the console is off",
        place.manifests.string());
  }
  out << controller.console << "\n";
  return {};
}

// The Lease that a fleet of the namespace names; without one, the namespace may be that of the installation.
Result<std::string> LeaseFor(const std::string& namespace_, store::Store& store) {
  ASSIGN_OR_RETURN(const store::Listing listing, store.List(api::kServingFleetKind));
  const std::string lease = watch::LeaseOf(store::FleetsOf(listing));
  return lease.empty() ? namespace_ + "/" + leader::kLeaseName : lease;
}

}  // namespace

std::vector<std::string> PortForward(const Options& options, const std::string& namespace_, const std::string& pod) {
  std::vector<std::string> words = {"port-forward"};
  if (!options.kubeconfig.empty()) words.push_back("--kubeconfig=" + options.kubeconfig.string());
  if (!options.context.empty()) words.push_back("--context=" + options.context);
  words.insert(words.end(),
               {"--namespace=" + namespace_, "pod/" + pod, fmt::format("{}:{}", options.console_port, kConsolePort)});
  return words;
}

Status ShowConsole(const Options& options, const Place& place, std::ostream& out) {
  if (!place.cluster) return ShowOnHost(place, out);
  ASSIGN_OR_RETURN(const std::string lease, LeaseFor(options.namespace_, *place.store));
  const std::string namespace_ = lease.substr(0, lease.find('/'));
  const auto pod = watch::PodThatLeads(*place.cluster, lease);
  if (!pod && pod.error().code == Code::kNotFound)
    return NotFound("{}; if it is in another namespace, name that one with -n", pod.error().message);
  if (!pod) return tl::make_unexpected(pod.error());
  out << fmt::format(
             "http://127.0.0.1:{} is the console of pod {} until you press Ctrl-C.\n"
             "When this pod ends, for example by an upgrade, run this command again.\n",
             options.console_port, *pod)
      << std::flush;
  return tl::make_unexpected(RunProgram("kubectl", PortForward(options, namespace_, *pod)));
}

}  // namespace longshore::cli

#include "controller/cli/logs/logs.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <thread>

#include "common/base/nearest_word.h"
#include "common/json/json.h"
#include "controller/cli/input/targets.h"
#include "controller/cli/logs/controller_log.h"
#include "controller/cli/logs/file_log.h"
#include "controller/cli/logs/pod_log.h"
#include "controller/fleet/processes/node_record.h"
#include "controller/store/document.h"
#include "controller/store/local/controller_lock.h"

namespace longshore::cli::logs {
namespace {

constexpr const char* kNodeContainer = "node";

Result<std::vector<api::ServingFleet>> FleetsOf(store::Store& store, const std::string& namespace_) {
  ASSIGN_OR_RETURN(const store::Listing listing, store.List(api::kServingFleetKind));
  std::vector<api::ServingFleet> fleets = store::FleetsOf(listing);
  std::erase_if(fleets, [&](const api::ServingFleet& fleet) { return fleet.metadata.namespace_ != namespace_; });
  return fleets;
}

std::vector<std::string> NodesOf(const std::vector<api::ServingFleet>& fleets) {
  std::vector<std::string> nodes;
  for (const api::ServingFleet& fleet : fleets) {
    std::ranges::transform(fleet.status.nodes, std::back_inserter(nodes), &api::FleetNodeStatus::name);
  }
  return nodes;
}

// Returns NotFound with what the user may have meant.
Error UnknownNode(const Request& request, const std::vector<api::ServingFleet>& fleets) {
  const std::string what = fmt::format("node {} does not exist in namespace {}", request.of, request.namespace_);
  const bool is_fleet =
      std::ranges::any_of(fleets, [&](const api::ServingFleet& fleet) { return fleet.metadata.name == request.of; });
  if (is_fleet) return {Code::kNotFound, fmt::format("{}; for the fleet, use fleet/{}", what, request.of)};
  const std::vector<std::string> nodes = NodesOf(fleets);
  if (const auto nearest = NearestWord(request.of, nodes))
    return {Code::kNotFound, fmt::format("{}; did you mean {}?", what, *nearest)};
  return {Code::kNotFound,
          nodes.empty() ? what + "; its fleets have no nodes" : what + "; `longshore describe fleets` lists the nodes"};
}

// The nodes whose logs are printed.
Result<std::vector<std::string>> NodesFor(const Where& where, const Request& request) {
  ASSIGN_OR_RETURN(std::vector<api::ServingFleet> fleets, FleetsOf(where.store, request.namespace_));
  if (request.of.find('/') == std::string::npos) {
    const std::vector<std::string> nodes = NodesOf(fleets);
    if (std::ranges::find(nodes, request.of) != nodes.end()) return std::vector{request.of};
    return tl::make_unexpected(UnknownNode(request, fleets));
  }
  ASSIGN_OR_RETURN(const std::vector<input::Target> targets, input::ParseTargets({request.of}));
  if (targets.front().kind != api::kServingFleetKind)
    return InvalidArgument("{} has no log: name a node or fleet/NAME", request.of);
  std::erase_if(fleets, [&](const api::ServingFleet& fleet) { return fleet.metadata.name != targets.front().name; });
  if (fleets.empty())
    return NotFound("fleet {} does not exist in namespace {}", targets.front().name, request.namespace_);
  return NodesOf(fleets);
}

using PrintOne = std::function<Status(const std::string& node, Printer& printer)>;

Status PrintHostNode(const Path& state_dir, const std::string& node, const Wanted& wanted, TimePoint now,
                     Printer& printer) {
  const Status printed = PrintFileLog(fleet::processes::NodePaths(state_dir, node).log, wanted, now, printer);
  if (printed || !wanted.previous || printed.error().code != Code::kNotFound) return printed;
  return NotFound("node {} has no previous log: it has not been restarted", node);
}

Result<PrintOne> PrinterFor(const Where& where, const Request& request, TimePoint now) {
  if (where.cluster) {
    return [&where, &request](const std::string& node, Printer& printer) {
      return PrintPodLog(*where.cluster, {request.namespace_, node, kNodeContainer}, request.wanted, printer);
    };
  }
  ASSIGN_OR_RETURN(const store::local::ControllerLockState controller,
                   store::local::ReadControllerLock(where.manifests));
  if (controller.state_dir.empty())
    return FailedPrecondition("no controller has written where the logs of the nodes of this host are");
  return [&request, now, state_dir = controller.state_dir](const std::string& node, Printer& printer) {
    return PrintHostNode(state_dir, node, request.wanted, now, printer);
  };
}

// Prints the logs at the same time if they are followed, else one after the other. Returns the first error.
Status PrintAll(const std::vector<std::string>& nodes, bool with_names, bool follow, const PrintOne& print,
                std::ostream& out) {
  std::mutex mutex;
  std::vector<Status> printed(nodes.size());
  const auto print_one = [&](size_t i) {
    Printer printer(out, mutex, with_names ? "[" + nodes[i] + "] " : "");
    printed[i] = print(nodes[i], printer);
  };
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (follow && nodes.size() > 1) {
      threads.emplace_back(print_one, i);
    } else {
      print_one(i);
    }
  }
  threads.clear();
  const auto failed = std::ranges::find_if(printed, [](const Status& status) { return !status; });
  return failed == printed.end() ? Status() : *failed;
}

}  // namespace

Status PrintLogs(const Where& where, const Request& request, const Clock& clock, std::ostream& out) {
  if (request.of == kController) {
    ASSIGN_OR_RETURN(const auto fleets, FleetsOf(where.store, request.namespace_));
    std::mutex mutex;
    Printer printer(out, mutex, "");
    if (where.cluster) return PrintClusterController(*where.cluster, fleets, request.wanted, printer);
    return PrintHostController(where.manifests, request.wanted, clock.Now(), printer);
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesFor(where, request));
  ASSIGN_OR_RETURN(const PrintOne print, PrinterFor(where, request, clock.Now()));
  const bool is_fleet = request.of.find('/') != std::string::npos;
  return PrintAll(nodes, is_fleet, request.wanted.follow, print, out);
}

Result<std::vector<std::string>> Known(store::Store& store, const std::string& namespace_) {
  ASSIGN_OR_RETURN(const std::vector<api::ServingFleet> fleets, FleetsOf(store, namespace_));
  std::vector<std::string> known = NodesOf(fleets);
  for (const api::ServingFleet& fleet : fleets) known.push_back("fleet/" + fleet.metadata.name);
  known.emplace_back(kController);
  return known;
}

}  // namespace longshore::cli::logs

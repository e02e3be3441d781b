#include "controller/cli/status.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "controller/cli/absent.h"
#include "controller/cli/controller_seen.h"
#include "controller/cli/host_view.h"
#include "controller/cli/select.h"
#include "controller/cli/text/standing.h"
#include "controller/cli/watch/changes.h"

namespace longshore::cli {
namespace {

// How often the state of the controller and, on a host, the manifest files are read while no object changes.
constexpr std::chrono::milliseconds kHostInterval{200};
constexpr std::chrono::milliseconds kClusterInterval{2000};

struct Seen {
  std::optional<HostView> host;  // nullopt for a cluster.
  ControllerSeen controller;
  std::vector<api::ServingFleet> fleets;
  store::Listing listing;          // What was read of both kinds.
  std::vector<api::Model> models;  // Does not contain models whose manifest has not been applied yet.
  text::HostSeen beside;

  text::Standing standing() const { return text::StandingOf(fleets, models, beside); }
};

// The options, with the name of the one Model that they name as their target.
Options WithTarget(Options options) {
  if (!options.name.empty()) options.targets = {{api::kModelKind, options.name}};
  return options;
}

Result<Seen> Observe(const Options& options, const Place& place, const Clock& clock, ControllerSight& sight) {
  Seen seen;
  ASSIGN_OR_RETURN(seen.host, ReadHostView(options, place));
  ASSIGN_OR_RETURN(const Selected selected, SelectTargets(WithTarget(options), *place.store));
  RETURN_IF_ERROR(CheckReadable(selected.listing));
  // A missing object is not an error while the controller has not yet read the manifest that defines it.
  if (seen.host) seen.beside = seen.host->seen;
  if (seen.beside.manifests.empty()) RETURN_IF_ERROR(CheckFound(selected.missing));
  const std::vector<store::Object>& shown = selected.listing.objects;
  for (const store::Object& object : shown) {
    if (object.kind == api::kModelKind) {
      ASSIGN_OR_RETURN(seen.models.emplace_back(), ToModel(object));
    } else {
      ASSIGN_OR_RETURN(seen.fleets.emplace_back(), ToFleet(object));
    }
  }
  // After the Models: their statuses cannot know a newer fleet than these.
  if (const auto fleets = place.store->List(api::kServingFleetKind))
    seen.beside.fleets = store::FleetsToObserve(*fleets);
  if (seen.host) {  // Its lock was read before the objects.
    seen.controller = {!seen.host->controller.is_running, ControllerNote(seen.host->controller, clock.Now())};
  } else {
    seen.controller = sight.See(shown);
    // Another namespace may have another controller, whose epochs are others.
    if (!options.all_namespaces) seen.beside.epoch = seen.controller.epoch;
  }
  seen.listing = selected.listing;
  return seen;
}

// Prints what the command waits for, each reason once.
class Progress {
 public:
  explicit Progress(std::ostream& out) : out_(out) {}

  void Print(const Seen& seen) {
    const text::HostSeen& host = seen.beside;
    if (seen.controller.is_absent) Print("a controller", {text::Standing::kUnderWay, "no controller is running"});
    for (const text::ManifestReport& manifest : host.manifests) Print("manifest " + manifest.file, manifest.report);
    for (const api::ServingFleet& fleet : seen.fleets)
      Print(NameOf("fleet", fleet.metadata), text::ReportOf(fleet, host));
    for (const api::Model& model : seen.models) Print(NameOf("model", model.metadata), text::ReportOf(model, host));
  }

 private:
  static std::string NameOf(const char* kind, const api::Metadata& metadata) {
    return fmt::format("{} {}/{}", kind, metadata.namespace_, metadata.name);
  }

  void Print(const std::string& name, const text::Report& report) {
    std::string& printed = printed_[name];
    if (report.standing == text::Standing::kAsWanted || report.why == printed) return;
    printed = report.why;
    out_ << "waiting for " << name << ": " << printed << std::endl;
  }

  std::ostream& out_;
  std::map<std::string, std::string> printed_;
};

WaitSight SightOf(const Seen& seen) {
  return {!seen.controller.is_absent, seen.standing(), text::HasFailedForGood(seen.fleets, seen.models, seen.beside)};
}

// Whether the wait ends because no controller is running. `until`: until when one that was running may come back.
bool GivesUp(const ControllerSeen& controller, std::chrono::steady_clock::time_point now,
             std::chrono::steady_clock::time_point until) {
  if (!controller.is_absent || controller.start == Start::kExpected) return false;
  return controller.start == Start::kUnlikely || now >= until;
}

// Waits for changes of objects. Also polls, because no object changes when a controller starts or ends, or when it
// reads a manifest that equals the stored object.
Result<Seen> Wait(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + options.timeout;
  ASSIGN_OR_RETURN(const auto changes, watch::Changes::Watch(*place.store, [](const api::Key&) { return true; }));
  Progress progress(out);
  ControllerSight sight(place, clock);
  RetriedFailure failure(steady_clock::now());
  auto controller_until = steady_clock::now() + kControllerPatience;
  for (;;) {
    const auto now = steady_clock::now();
    ASSIGN_OR_RETURN(Seen seen, Observe(options, place, clock, sight));
    if (!seen.controller.is_absent) controller_until = now + kControllerPatience;
    if (IsOver(SightOf(seen), now, failure) || now >= deadline || GivesUp(seen.controller, now, controller_until))
      return seen;
    progress.Print(seen);
    changes->WaitUntil(std::min(deadline, now + (seen.host ? kHostInterval : kClusterInterval)));
  }
}

int ExitCodeFor(text::Standing standing) {
  switch (standing) {
    case text::Standing::kAsWanted: return kExitOk;
    case text::Standing::kUnderWay: return kExitTimeout;
    case text::Standing::kFailed: break;
  }
  return kExitFailed;
}

}  // namespace

bool IsOver(const WaitSight& sight, std::chrono::steady_clock::time_point now, RetriedFailure& failure) {
  const bool is_failed = sight.standing == text::Standing::kFailed && !sight.has_failed_for_good;
  const bool is_retried_enough = failure.IsOver(sight.has_controller && is_failed, now);
  if (!sight.has_controller) return false;
  return is_retried_enough || (sight.standing != text::Standing::kUnderWay && !is_failed);
}

Result<int> ShowStatus(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ControllerSight sight(place, clock);
  ASSIGN_OR_RETURN(const Seen seen,
                   options.wait ? Wait(options, place, clock, out) : Observe(options, place, clock, sight));
  const text::HostSeen& host = seen.beside;
  const bool is_of_one = !options.name.empty() && !seen.models.empty();
  if (seen.fleets.empty() && seen.models.empty() && host.manifests.empty()) {
    out << NothingText(options, place, KindsOf(options.targets));
  } else if (is_of_one) {
    out << text::StatusOfModel(seen.models[0], clock.Now(), host);
  } else {
    out << text::StatusTable(seen.fleets, seen.models, host);
  }
  out << DisagreementsText(WithTarget(options), place, seen.listing) << seen.controller.note;
  return seen.controller.is_absent ? kExitNoController : ExitCodeFor(seen.standing());
}

}  // namespace longshore::cli

#include "controller/cli/status.h"

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "controller/cli/changes.h"
#include "controller/cli/select.h"
#include "controller/cli/text/standing.h"

namespace longshore::cli {
namespace {

struct Seen {
  std::vector<api::ServingFleet> fleets;
  std::vector<api::Model> models;

  Standing standing() const { return StandingOf(fleets, models); }
};

Result<Seen> Look(const Options& options, store::Store& store) {
  Seen seen;
  ASSIGN_OR_RETURN(const store::Listing models, Select(options, api::kModelKind, store));
  RETURN_IF_ERROR(CheckReadable(models));
  for (const store::Object& object : models.objects) {
    ASSIGN_OR_RETURN(seen.models.emplace_back(), ToModel(object));
  }
  if (!options.name.empty()) return seen;
  ASSIGN_OR_RETURN(const store::Listing fleets, Select(options, api::kServingFleetKind, store));
  RETURN_IF_ERROR(CheckReadable(fleets));
  for (const store::Object& object : fleets.objects) {
    ASSIGN_OR_RETURN(seen.fleets.emplace_back(), ToFleet(object));
  }
  return seen;
}

// Says what happened meanwhile, once.
class Progress {
 public:
  explicit Progress(std::ostream& out) : out_(out) {}

  void Tell(const Seen& seen) {
    for (const api::ServingFleet& fleet : seen.fleets) Tell("fleet", fleet.metadata, ReportOf(fleet));
    for (const api::Model& model : seen.models) Tell("model", model.metadata, ReportOf(model));
  }

 private:
  void Tell(const char* kind, const api::Metadata& metadata, const Report& report) {
    const std::string name = fmt::format("{} {}/{}", kind, metadata.namespace_, metadata.name);
    std::string& told = told_[name];
    if (report.standing != Standing::kUnderWay || report.why == told) return;
    told = report.why;
    out_ << "waiting for " << name << ": " << told << std::endl;
  }

  std::ostream& out_;
  std::map<std::string, std::string> told_;
};

Result<Seen> Wait(const Options& options, store::Store& store, std::ostream& out) {
  const auto deadline = std::chrono::steady_clock::now() + options.timeout;
  ASSIGN_OR_RETURN(const auto changes, Changes::Watch(store, [](const api::Key&) { return true; }));
  Progress progress(out);
  bool in_time = true;
  for (;;) {
    ASSIGN_OR_RETURN(Seen seen, Look(options, store));
    if (seen.standing() != Standing::kUnderWay || !in_time) return seen;
    progress.Tell(seen);
    in_time = changes->WaitUntil(deadline);
  }
}

int ExitCodeFor(Standing standing) {
  switch (standing) {
    case Standing::kAsWanted: return kExitOk;
    case Standing::kUnderWay: return kExitTimeout;
    case Standing::kFailed: break;
  }
  return kExitFailed;
}

}  // namespace

Result<int> ShowStatus(const Options& options, store::Store& store, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const Seen seen, options.wait ? Wait(options, store, out) : Look(options, store));
  out << (options.name.empty() ? StatusTable(seen.fleets, seen.models) : StatusOfModel(seen.models[0], clock.Now()));
  return ExitCodeFor(seen.standing());
}

}  // namespace longshore::cli

#include "controller/cli/show.h"

#include <ostream>
#include <thread>

#include "controller/api/format.h"
#include "controller/cli/changes.h"
#include "controller/cli/controller_seen.h"
#include "controller/cli/disagreement.h"
#include "controller/cli/place.h"
#include "controller/cli/select.h"
#include "controller/cli/text/explain.h"
#include "controller/cli/text/text.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

// Minimum time between two prints, so that a busy rollout does not flood the terminal.
constexpr auto kWatchInterval = std::chrono::milliseconds(200);

Json ListDocument(const std::vector<store::Object>& objects) {
  Json items = Json::array();
  for (const store::Object& object : objects) items.push_back(store::ToDocument(object));
  return {{"kind", "List"}, {"items", items}};
}

std::string Written(const Json& document, Output output) {
  return output == Output::kJson ? DumpJson(document, 2) + "\n" : api::ToYaml(document);
}

Result<std::string> TextOf(const std::vector<store::Object>& objects, const std::string& kind, TimePoint now) {
  std::vector<api::Model> models;
  std::vector<api::ServingFleet> fleets;
  for (const store::Object& object : objects) {
    if (kind == api::kModelKind) {
      ASSIGN_OR_RETURN(models.emplace_back(), ToModel(object));
    } else {
      ASSIGN_OR_RETURN(fleets.emplace_back(), ToFleet(object));
    }
  }
  return kind == api::kModelKind ? text::ModelsTable(models, now) : text::FleetsTable(fleets);
}

// Compares the manifest files with the shown objects. An object that a manifest file defines and that is not in the
// store counts as deleted.
std::string DisagreementsOf(const Options& options, const Place& place, const store::Listing& listing) {
  Objects objects;
  for (const api::Key& key : KeysOfManifests(place)) {
    const bool is_selected = options.all_namespaces || key.namespace_ == options.namespace_;
    if (key.kind == options.kind && is_selected && options.name.empty()) objects[key] = std::nullopt;
  }
  for (const store::Unreadable& one : listing.unreadable) objects.erase(one.key);
  for (const store::Object& one : listing.objects) objects[store::KeyOf(one)] = one;
  return DisagreementsText(place, objects);
}

Status GetOnce(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Listing listing, Select(options, options.kind, *place.store));
  const std::vector<store::Object>& objects = listing.objects;
  if (options.output != Output::kText) {
    out << Written(options.name.empty() ? ListDocument(objects) : store::ToDocument(objects[0]), options.output);
  } else {
    ASSIGN_OR_RETURN(const std::string text, TextOf(objects, options.kind, clock.Now()));
    ASSIGN_OR_RETURN(const ControllerSeen controller, SeeController(place, objects, clock));
    out << text << DisagreementsOf(options, place, listing) << controller.note;
  }
  out << std::flush;
  return CheckReadable(listing);
}

// Prints the objects again after each change. Ends only when the program is interrupted or the output cannot be
// written.
Status GetAndWatch(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const auto changes,
                   Changes::Watch(*place.store, [&](const api::Key& key) { return key.kind == options.kind; }));
  while (out) {
    changes->Wait();
    out << api::FormatTime(clock.Now()) << "\n";
    RETURN_IF_ERROR(GetOnce(options, place, clock, out));
    out << std::endl;
    std::this_thread::sleep_for(kWatchInterval);
  }
  return {};
}

}  // namespace

Status Get(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  return options.watch ? GetAndWatch(options, place, clock, out) : GetOnce(options, place, clock, out);
}

Status Describe(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Object object,
                   GetOrHint(*place.store, {options.kind, options.namespace_, options.name}));
  if (options.output != Output::kText) {
    out << Written(store::ToDocument(object), options.output);
    return {};
  }
  if (options.kind == api::kModelKind) {
    ASSIGN_OR_RETURN(const api::Model model, ToModel(object));
    out << text::DescribeModel(model, clock.Now());
  } else {
    ASSIGN_OR_RETURN(const api::ServingFleet fleet, ToFleet(object));
    out << text::DescribeFleet(fleet, clock.Now());
  }
  ASSIGN_OR_RETURN(const ControllerSeen controller, SeeController(place, {object}, clock));
  out << controller.note;
  return {};
}

Status Explain(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Object object,
                   GetOrHint(*place.store, {api::kModelKind, options.namespace_, options.name}));
  ASSIGN_OR_RETURN(const api::Model model, ToModel(object));
  ASSIGN_OR_RETURN(const ControllerSeen controller, SeeController(place, {object}, clock));
  out << text::ExplainModel(model, clock.Now(), ArgumentsFor(options, place)) << controller.note;
  return {};
}

}  // namespace longshore::cli

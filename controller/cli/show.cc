#include "controller/cli/show.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <thread>

#include "controller/api/format.h"
#include "controller/cli/absent.h"
#include "controller/cli/command/get_or_hint.h"
#include "controller/cli/controller_seen.h"
#include "controller/cli/host_view.h"
#include "controller/cli/pairs/worst_pairs.h"
#include "controller/cli/place.h"
#include "controller/cli/select.h"
#include "controller/cli/text/color.h"
#include "controller/cli/text/events.h"
#include "controller/cli/text/explain.h"
#include "controller/cli/text/json_path.h"
#include "controller/cli/text/rollout.h"
#include "controller/cli/text/screen.h"
#include "controller/cli/text/standing.h"
#include "controller/cli/text/text.h"
#include "controller/cli/watch/changes.h"
#include "controller/cli/watch/seen.h"
#include "controller/store/document.h"

namespace longshore::cli {
namespace {

// Minimum time between two prints, so that a busy rollout does not flood the terminal.
constexpr auto kWatchInterval = std::chrono::milliseconds(200);
// How often a rollout is shown again if nothing changes, because its view contains times, and because no object changes
// when a controller ends.
constexpr auto kRolloutInterval = std::chrono::seconds(1);

// The size now: the user may change it at any time.
text::ScreenSize SizeOfTerminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

bool IsText(Output output) { return output == Output::kText || output == Output::kWide; }

// One named object is a document of its own, as in kubectl; anything else is a list.
Json DocumentOf(const Options& options, const std::vector<store::Object>& objects) {
  const bool is_one = options.targets.size() == 1 && !options.targets[0].name.empty();
  if (is_one && objects.size() == 1) return store::ToDocument(objects[0]);
  Json items = Json::array();
  for (const store::Object& object : objects) items.push_back(store::ToDocument(object));
  return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
}

std::string NamesOf(const std::vector<store::Object>& objects) {
  std::string names;
  for (const store::Object& object : objects)
    names += input::ResourceOf(object.kind) + "/" + object.metadata.name + "\n";
  return names;
}

Result<std::string> MachineText(const Options& options, const std::vector<store::Object>& objects) {
  if (options.output == Output::kName) return NamesOf(objects);
  const Json document = DocumentOf(options, objects);
  if (options.output == Output::kJson) return DumpJson(document, 2) + "\n";
  if (options.output == Output::kYaml) return api::ToYaml(document);
  return text::PrintJsonPath(options.json_path, document);
}

Result<std::string> TableOf(const Options& options, const std::vector<store::Object>& objects, TimePoint now) {
  const std::vector<std::string> kinds = KindsOf(options.targets);
  std::vector<api::Model> models;
  std::vector<api::ServingFleet> fleets;
  for (const store::Object& object : objects) {
    if (object.kind == api::kModelKind) {
      ASSIGN_OR_RETURN(models.emplace_back(), ToModel(object));
    } else {
      ASSIGN_OR_RETURN(fleets.emplace_back(), ToFleet(object));
    }
  }
  const text::TableStyle style{
      .wide = options.output == Output::kWide, .headers = !options.no_headers, .with_kind = kinds.size() > 1};
  if (kinds.size() == 1) {
    return kinds[0] == api::kModelKind ? text::ModelsTable(models, now, style) : text::FleetsTable(fleets, style);
  }
  std::string text = models.empty() ? "" : text::ModelsTable(models, now, style);
  if (!fleets.empty()) text += (text.empty() ? "" : "\n") + text::FleetsTable(fleets, style);
  return text;
}

// Returns the objects as the options want them, without the controller's sign of life; "" if there are none because the
// named ones are missing.
Result<std::string> TextOf(const Options& options, const Place& place, const Selected& selected, const Clock& clock) {
  const std::vector<store::Object>& objects = selected.listing.objects;
  if (objects.empty() && (!selected.missing.empty() || options.ignore_not_found)) return std::string();
  if (!IsText(options.output)) return MachineText(options, objects);
  ASSIGN_OR_RETURN(const std::string table, objects.empty() ? NothingText(options, place, KindsOf(options.targets))
                                                            : TableOf(options, objects, clock.Now()));
  return (options.has_colors ? text::Colored(table) : table) + DisagreementsText(options, place, selected.listing);
}

// Prints the objects before it looks for the controller, which may take some seconds.
Status PrintAll(const Options& options, const Place& place, const Selected& selected, const Clock& clock,
                ControllerSight& sight, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string text, TextOf(options, place, selected, clock));
  out << text << std::flush;
  if (IsText(options.output) && !text.empty()) out << sight.See(selected.listing.objects).note << std::flush;
  return {};
}

Status GetOnce(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const Selected selected, SelectTargets(options, *place.store));
  ControllerSight sight(place, clock);
  RETURN_IF_ERROR(PrintAll(options, place, selected, clock, sight, out));
  RETURN_IF_ERROR(CheckReadable(selected.listing));
  return CheckFound(selected.missing);
}

// Prints the objects that have changed, the first time with the headers of the table.
Status PrintChanges(const Options& options, const Selected& selected, watch::Seen& seen, TimePoint now,
                    std::ostream& out) {
  const watch::Seen::Difference difference = seen.Update(selected.listing.objects);
  for (const api::Key& key : difference.deleted) out << api::ToString(key) << " deleted\n";
  if (difference.changed.empty()) return {};
  ASSIGN_OR_RETURN(const std::string text, IsText(options.output) ? TableOf(options, difference.changed, now)
                                                                  : MachineText(options, difference.changed));
  out << text;
  return {};
}

// Returns the row of an object in `get -w`, with all ages as 0s, so that it does not change only because time passes.
// If the row cannot be made, returns the resource version, so that each write of the object counts as a change.
std::string LookOf(Options options, const store::Object& object) {
  if (!IsText(options.output)) return object.metadata.resource_version;
  options.no_headers = true;
  constexpr TimePoint kBeforeAll{};  // All ages are 0s.
  return TableOf(options, {object}, kBeforeAll).value_or(object.metadata.resource_version);
}

// Prints the objects again after each change. Ends only when the program is interrupted, a named object does not exist,
// or the output cannot be written.
Status GetAndWatch(Options options, const Place& place, const Clock& clock, std::ostream& out) {
  const std::vector<std::string> kinds = KindsOf(options.targets);
  ASSIGN_OR_RETURN(const auto changes, watch::Changes::Watch(*place.store, [&](const api::Key& key) {
                     return std::ranges::find(kinds, key.kind) != kinds.end();
                   }));
  const bool redraws = options.is_terminal && IsText(options.output);
  ControllerSight sight(place, clock);
  std::string note;  // About the controller.
  watch::Seen seen([&options](const store::Object& object) { return LookOf(options, object); });
  while (out) {
    changes->Wait();
    ASSIGN_OR_RETURN(const Selected selected, SelectTargets(options, *place.store));
    if (redraws) {
      ASSIGN_OR_RETURN(const std::string text, TextOf(options, place, selected, clock));
      out << text::Frame(text + note, SizeOfTerminal()) << std::flush;  // To look for the controller may take seconds.
      std::string seen_now = text.empty() ? "" : sight.See(selected.listing.objects).note;
      if (seen_now != note) out << text::Frame(text + seen_now, SizeOfTerminal());
      note = std::move(seen_now);
    } else {
      RETURN_IF_ERROR(PrintChanges(options, selected, seen, clock.Now(), out));
      options.no_headers = true;
    }
    out << std::flush;
    RETURN_IF_ERROR(CheckReadable(selected.listing));
    RETURN_IF_ERROR(CheckFound(selected.missing));
    std::this_thread::sleep_for(kWatchInterval);
  }
  return {};
}

Result<std::string> DescriptionOf(const store::Object& object, TimePoint now) {
  if (object.kind == api::kModelKind) {
    ASSIGN_OR_RETURN(const api::Model model, ToModel(object));
    return text::DescribeModel(model, now);
  }
  ASSIGN_OR_RETURN(const api::ServingFleet fleet, ToFleet(object));
  return text::DescribeFleet(fleet, now);
}

struct RolloutSeen {
  api::Model model;
  text::Report report;
  bool has_no_controller = false;
  std::string view;
};

Result<RolloutSeen> SeeRollout(const Options& options, const Place& place, const Clock& clock, ControllerSight& sight) {
  RolloutSeen seen;
  ASSIGN_OR_RETURN(const std::optional<HostView> host, ReadHostView(options, place));
  ASSIGN_OR_RETURN(const store::Object object,
                   command::GetOrHint(*place.store, {api::kModelKind, options.namespace_, options.name}));
  ASSIGN_OR_RETURN(seen.model, ToModel(object));
  const ControllerSeen controller = sight.See({object});
  text::HostSeen beside = host ? host->seen : text::HostSeen{};
  // After the Model: its status cannot know a newer fleet than these.
  if (const auto fleets = place.store->List(api::kServingFleetKind)) beside.fleets = store::FleetsToObserve(*fleets);
  seen.report = text::ReportOf(seen.model, beside);
  seen.has_no_controller = controller.is_absent;
  seen.view = text::RolloutView(seen.model, clock.Now(), ArgumentsFor(options, place)) + controller.note;
  return seen;
}

// Adapts the text to the colours and characters of the output.
std::string Styled(const Options& options, const std::string& view) {
  const std::string colored = options.has_colors ? text::ColoredRollout(view) : view;
  return options.has_unicode ? colored : text::WithAsciiMarks(colored);
}

int CodeOf(const RolloutSeen& seen) {
  if (seen.has_no_controller) return kExitNoController;
  // A Model can be as wanted after a rollback: its version was set back.
  return seen.report.standing == text::Standing::kFailed || text::WasRolledBack(seen.model) ? kExitFailed : kExitOk;
}

void Draw(const Options& options, const std::string& view, std::ostream& out) {
  if (options.is_terminal) {
    const text::ScreenSize size = SizeOfTerminal();
    const std::string frame = text::Frame(Styled(options, text::Wrapped(view, size.columns)), size);
    out << (options.has_unicode ? frame : text::WithAsciiMarks(frame)) << std::flush;
  } else {
    out << "\n" << Styled(options, view) << std::flush;
  }
}

Result<int> WatchRollout(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  const api::Key key{api::kModelKind, options.namespace_, options.name};
  ASSIGN_OR_RETURN(const auto changes,
                   watch::Changes::Watch(*place.store, [&](const api::Key& changed) { return changed == key; }));
  ControllerSight sight(place, clock);
  changes->Wait();  // Returns immediately.
  bool changed = true;
  // A terminal waits for a rollout to begin, which may also end before the view looks again; a script must end.
  std::optional<std::string> first_rollout;
  for (bool began = !options.is_terminal; out;) {
    ASSIGN_OR_RETURN(const RolloutSeen seen, SeeRollout(options, place, clock, sight));
    const std::string& rollout = seen.model.status.rollout.id;
    if (!first_rollout) first_rollout = rollout;
    const bool is_under_way =
        seen.report.standing == text::Standing::kUnderWay || api::IsUnderWay(seen.model.status.rollout.phase);
    began = began || is_under_way || rollout != *first_rollout;
    const bool is_over = (began && !is_under_way) || (seen.has_no_controller && !options.is_terminal);
    const std::string waits = is_under_way ? "" : "No rollout is under way; this view waits for one. Ctrl-C ends it.\n";
    if (options.is_terminal || changed || is_over)
      Draw(options, seen.view + "\n" + (is_over ? text::OutcomeText(seen.model, seen.report) : waits), out);
    if (is_over) return CodeOf(seen);
    std::this_thread::sleep_for(kWatchInterval);
    changed = changes->WaitUntil(std::chrono::steady_clock::now() + kRolloutInterval);
  }
  return kExitOk;
}

}  // namespace

Status Get(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  return options.watch ? GetAndWatch(options, place, clock, out) : GetOnce(options, place, clock, out);
}

Status Describe(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  if (!IsText(options.output)) return GetOnce(options, place, clock, out);
  ASSIGN_OR_RETURN(const Selected selected, SelectTargets(options, *place.store));
  bool is_first = true;
  for (const store::Object& object : selected.listing.objects) {
    ASSIGN_OR_RETURN(const std::string description, DescriptionOf(object, clock.Now()));
    out << (is_first ? "" : "\n") << description;
    is_first = false;
  }
  if (!selected.listing.objects.empty())
    out << std::flush << ControllerSight(place, clock).See(selected.listing.objects).note;
  RETURN_IF_ERROR(CheckReadable(selected.listing));
  return CheckFound(selected.missing);
}

Status Events(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Listing listing, Select(options, api::kModelKind, *place.store));
  std::vector<api::Model> models;
  for (const store::Object& object : listing.objects) {
    ASSIGN_OR_RETURN(models.emplace_back(), ToModel(object));
  }
  out << (models.empty() ? NothingText(options, place, {api::kModelKind}) : text::EventsTable(models, clock.Now()));
  return CheckReadable(listing);
}

Status Explain(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  ASSIGN_OR_RETURN(const store::Object object,
                   command::GetOrHint(*place.store, {api::kModelKind, options.namespace_, options.name}));
  ASSIGN_OR_RETURN(const api::Model model, ToModel(object));
  out << text::ExplainModel(model, clock.Now(), ArgumentsFor(options, place),
                            pairs::WorstPairsText(model, place.manifests))
      << std::flush << ControllerSight(place, clock).See({object}).note;
  return {};
}

Result<int> ShowRollout(const Options& options, const Place& place, const Clock& clock, std::ostream& out) {
  if (options.watch) return WatchRollout(options, place, clock, out);
  ControllerSight sight(place, clock);
  ASSIGN_OR_RETURN(const RolloutSeen seen, SeeRollout(options, place, clock, sight));
  out << Styled(options, seen.view);
  return kExitOk;
}

}  // namespace longshore::cli

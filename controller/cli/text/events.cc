#include "controller/cli/text/events.h"

#include <algorithm>

#include "controller/cli/text/table.h"
#include "controller/cli/text/text.h"

namespace longshore::cli::text {

std::string EventsTable(const std::vector<api::Model>& models, TimePoint now) {
  struct Event {
    const api::Model* model;
    const api::HistoryEntry* entry;
  };
  std::vector<Event> events;
  for (const api::Model& model : models) {
    for (const api::HistoryEntry& entry : model.status.history) events.push_back({&model, &entry});
  }
  if (events.empty()) return "No events.\n";
  std::ranges::stable_sort(events, {}, [](const Event& event) { return event.entry->at; });
  Table table({"AGO", "NAMESPACE", "MODEL", "VERSION", "WHAT", "MESSAGE"});
  for (const auto& [model, entry] : events) {
    table.Add({Age(entry->at, now), model->metadata.namespace_, model->metadata.name, std::to_string(entry->version),
               entry->what, entry->message});
  }
  return table.Text();
}

}  // namespace longshore::cli::text

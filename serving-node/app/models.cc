#include "serving-node/app/models.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "common/os/log.h"
#include "serving-node/observe/profiling/trace.h"

namespace longshore::app {
namespace {

constexpr std::array kStateNames = {"start",     "rehearsal", "loading", "warming",
                                    "available", "unloading", "end",     "failed"};

const char* NameOf(models::State state) { return kStateNames[static_cast<size_t>(state)]; }

// What a version does that cannot answer: "version 1 WAITS".
const char* VerbOf(models::State state) {
  switch (state) {
    case models::State::kStart: return "waits to be loaded";  // For the first time, or again after an error.
    case models::State::kRehearsal: return "is in its rehearsal";
    case models::State::kLoading: return "is being loaded";
    case models::State::kWarming: return "is being warmed up";
    case models::State::kAvailable: return "is available";
    case models::State::kUnloading: return "is being unloaded";
    case models::State::kEnd: return "has been unloaded";
    case models::State::kFailed: break;
  }
  return "could not be loaded";
}

std::string Describe(const models::VersionStatus& status) {
  std::string text = fmt::format("version {} {}", status.version, VerbOf(status.state));
  if (status.error.code != Code::kOk) text += ": " + status.error.message;
  return text;
}

constexpr metrics::Name kVersionState{"longshore_version_state",
                                      "1 for the current state of the version, 0 for its other states."};
constexpr metrics::Name kVersionMemory{"longshore_version_memory_bytes", "Memory that the version uses, in bytes."};

void ShowStates(const models::ModelStore& store, metrics::Exposition* out) {
  for (const std::string& model : store.Names()) {
    for (const auto& status : store.Statuses(model)) {
      for (const char* state : kStateNames) {
        out->Set(kVersionState, {{"model", model}, {"version", std::to_string(status.version)}, {"state", state}},
                 std::string_view(state) == NameOf(status.state) ? 1 : 0);
      }
      out->Set(kVersionMemory, {{"model", model}, {"version", std::to_string(status.version)}},
               static_cast<double>(status.memory_bytes));
    }
  }
}

}  // namespace

std::vector<std::string> Unavailable(const models::ModelStore& store) {
  std::vector<std::string> lines;
  for (const std::string& model : store.Names()) {
    const auto statuses = store.Statuses(model);
    const bool any = std::any_of(statuses.begin(), statuses.end(),
                                 [](const auto& each) { return each.state == models::State::kAvailable; });
    if (any) continue;
    std::string why;
    for (const auto& status : statuses) why += (why.empty() ? "" : "; ") + Describe(status);
    lines.push_back(
        fmt::format("model \"{}\": no version is available ({})", model, why.empty() ? "no version was found" : why));
  }
  return lines;
}

Json ModelsToJson(const models::ModelStore& store) {
  Json models = Json::object();
  for (const std::string& model : store.Names()) {
    Json versions = Json::array();
    for (const auto& status : store.Statuses(model)) {
      versions.push_back({{"version", status.version},
                          {"state", NameOf(status.state)},
                          {"error", status.error.message},
                          {"memory_bytes", status.memory_bytes},
                          {"digest", status.digest}});
    }
    models[model] = std::move(versions);
  }
  return models;
}

Json LoadToJson(const batching::Load& load) {
  return {{"running", load.running},
          {"queued", load.queued},
          {"run_slots", load.concurrent_runs_max},
          {"busy_seconds", load.busy_seconds},
          {"queue_seconds", load.queue_seconds},
          {"started", load.started},
          {"refused", load.refused}};
}

Json ProblemsToJson(const storage::Storage& storage) {
  Json problems = Json::object();
  for (const storage::Problem& problem : storage.Problems()) problems[problem.what] = problem.items;
  return problems;
}

frontend::ProfileSources ProfileSourcesOf(const models::ModelStore& store, profiling::Recorder& recorder) {
  const auto recorded = [&recorder]() -> Result<profiling::Recording> {
    if (auto recording = recorder.recording()) return std::move(*recording);
    return NotFound("there is no recording yet: start one with POST /debug/profile");
  };
  const auto start = [&store, &recorder](const std::string& text) -> Status {
    ASSIGN_OR_RETURN(const profiling::RecordingRequest wanted, profiling::ParseRecordingRequest(text));
    const std::vector<std::string> names = store.Names();
    if (!wanted.model.empty() && !std::ranges::binary_search(names, wanted.model))
      return NotFound("there is no model \"{}\" on this node: use one of {}", wanted.model, fmt::join(names, ", "));
    RETURN_IF_ERROR(recorder.Start(wanted));
    spdlog::info("recording the next {} runs of {}, for {} s at most", wanted.runs,
                 wanted.model.empty() ? "all models" : "\"" + wanted.model + "\"",
                 wanted.time / std::chrono::seconds(1));
    return {};
  };
  const auto state = [recorded]() -> Result<Json> {
    ASSIGN_OR_RETURN(const profiling::Recording recording, recorded());
    return profiling::StateToJson(recording);
  };
  const auto trace = [recorded]() -> Result<std::string> {
    ASSIGN_OR_RETURN(const profiling::Recording recording, recorded());
    return profiling::ToTrace(recording);
  };
  return {.start = start, .state = state, .trace = trace};
}

void ExportModelGauges(const models::ModelStore& store, const batching::Admission& admission,
                       metrics::Registry& registry) {
  auto running = registry.Gauges("longshore_running", "Runs in progress.").With({});
  auto queued = registry.Gauges("longshore_queued", "Requests that wait for a run.").With({});
  auto slots = registry.Gauges("longshore_run_slots", "The largest number of runs at the same time.").With({});
  auto busy =
      registry.Counters("longshore_run_busy_seconds_total", "Total busy time of all run slots in seconds.").With({});
  auto refused = registry
                     .Counters("longshore_refused_total",
                               "Requests refused because too many waited or their deadlines were too near.")
                     .With({});
  registry.AddSource([&store](metrics::Exposition* out) { ShowStates(store, out); });
  const auto scrape = std::make_shared<std::mutex>();  // Two concurrent scrapes would count the same seconds twice.
  registry.BeforeText([scrape, running, queued, slots, busy, refused, &admission]() mutable {
    std::lock_guard lock(*scrape);
    const batching::Load load = admission.load();
    running.Set(static_cast<double>(load.running));
    queued.Set(static_cast<double>(load.queued));
    slots.Set(static_cast<double>(load.concurrent_runs_max));
    busy.Add(std::max(0.0, load.busy_seconds - busy.value()));
    refused.Add(std::max(0.0, static_cast<double>(load.refused) - refused.value()));
  });
}

}  // namespace longshore::app

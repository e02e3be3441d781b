#include "serving-node/observe/profiling/recording.h"

#include <fmt/chrono.h>

namespace longshore::profiling {
namespace {

Result<int64_t> NumberOf(const std::string& field, const Json& value, int64_t max) {
  const bool fits = value.is_number_integer() && value >= 1 && value <= max;
  if (!fits) return InvalidArgument("{}: {} is not a whole number from 1 to {}", field, value.dump(), max);
  return value.get<int64_t>();
}

Json SecondsOf(std::chrono::milliseconds time) {
  if (time.count() % 1000 == 0) return time.count() / 1000;
  return static_cast<double>(time.count()) / 1000;
}

Status Set(const std::string& field, const Json& value, RecordingRequest* wanted) {
  if (field == "model") {
    if (!value.is_string()) return InvalidArgument("model: {} is not a name", value.dump());
    wanted->model = value.get<std::string>();
  } else if (field == "runs") {
    ASSIGN_OR_RETURN(const int64_t runs, NumberOf(field, value, kRunsMax));
    wanted->runs = static_cast<int>(runs);
  } else if (field == "seconds") {
    ASSIGN_OR_RETURN(const int64_t seconds, NumberOf(field, value, kTimeMax.count()));
    wanted->time = std::chrono::seconds(seconds);
  } else {
    return InvalidArgument("unknown field \"{}\": the fields are model, runs and seconds", field);
  }
  return {};
}

}  // namespace

Result<RecordingRequest> ParseRecordingRequest(const std::string& text) {
  RecordingRequest wanted;
  if (text.find_first_not_of(" \r\n") == std::string::npos) return wanted;
  ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  if (!json.is_object())
    return InvalidArgument(
        "send an object with some of these fields: {{\"model\": NAME, \"runs\": 20, \"seconds\": 30}}");
  for (const auto& [field, value] : json.items()) RETURN_IF_ERROR(Set(field, value, &wanted));
  return wanted;
}

Json StateToJson(const Recording& recording) {
  int64_t nodes = 0, left_out = 0;
  for (const auto& run : recording.runs) {
    nodes += static_cast<int64_t>(run->run.profile.nodes.size());
    left_out += run->run.profile.left_out;
  }
  const auto at = std::chrono::time_point_cast<std::chrono::seconds>(recording.at);
  return {{"id", recording.id},
          {"state", recording.done ? "done" : "recording"},
          {"began", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", at)},
          {"model", recording.wanted.model},
          {"seconds", SecondsOf(recording.wanted.time)},
          {"runs_wanted", recording.wanted.runs},
          {"runs", recording.runs.size()},
          {"runs_left_out", recording.runs_left_out},
          {"nodes", nodes},
          {"nodes_left_out", left_out}};
}

}  // namespace longshore::profiling

#include "serving-node/frontend/oip/settings.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "common/json/json.h"

namespace longshore::frontend::oip {
namespace {

using ::inference::LogSettingsRequest;
using ::inference::LogSettingsResponse;
using ::inference::TraceSettingRequest;
using ::inference::TraceSettingResponse;

struct TraceSetting {
  const char* name;
  const char* value;
};
constexpr std::array kTraceSettings = {TraceSetting{"trace_level", "OFF"}, TraceSetting{"trace_rate", "1000"},
                                       TraceSetting{"trace_count", "-1"},  TraceSetting{"log_frequency", "0"},
                                       TraceSetting{"trace_file", ""},     TraceSetting{"trace_mode", "triton"}};
constexpr std::string_view kTraceLevel = "trace_level";  // The only setting that is a list.

// The log settings that stand for the level of the node's log.
struct Levels {
  bool info = false;
  bool warning = false;
  bool error = false;
  uint32_t verbose = 0;
};

Levels CurrentLevels() {
  using spdlog::should_log;
  return {.info = should_log(spdlog::level::info),
          .warning = should_log(spdlog::level::warn),
          .error = should_log(spdlog::level::err),
          .verbose = should_log(spdlog::level::debug) ? 1U : 0U};
}

// The highest level at which everything that the settings ask for is logged.
spdlog::level::level_enum LevelOf(const Levels& levels) {
  if (levels.verbose > 0) return spdlog::level::debug;
  if (levels.info) return spdlog::level::info;
  if (levels.warning) return spdlog::level::warn;
  return levels.error ? spdlog::level::err : spdlog::level::off;
}

using LogValue = LogSettingsRequest::SettingValue;

Status SetBool(const std::string& name, const LogValue& value, bool* target) {
  if (!value.has_bool_param()) return InvalidArgument("log setting '{}' is not a boolean", name);
  *target = value.bool_param();
  return {};
}

// Checks a setting that cannot be changed here.
Status CheckConstant(const std::string& name, const LogValue& value, std::string_view present) {
  if (value.has_string_param() && value.string_param() == present) return {};
  return InvalidArgument("log setting '{}' cannot be changed: it is '{}'", name, present);
}

Status SetLogSetting(const std::string& name, const LogValue& value, Levels* levels) {
  if (name == "log_info") return SetBool(name, value, &levels->info);
  if (name == "log_warning") return SetBool(name, value, &levels->warning);
  if (name == "log_error") return SetBool(name, value, &levels->error);
  if (name == "log_file") return CheckConstant(name, value, "");
  if (name == "log_format") return CheckConstant(name, value, "default");
  if (name != "log_verbose_level") return InvalidArgument("unknown log setting '{}'", name);
  if (!value.has_uint32_param()) return InvalidArgument("log setting '{}' is not a number of at least 0", name);
  levels->verbose = value.uint32_param();
  return {};
}

Result<Json> ObjectFrom(const std::string& body) {
  if (body.empty()) return Json::object();
  ASSIGN_OR_RETURN(Json json, ParseJson(body));
  if (!json.is_object()) return InvalidArgument("the settings are not a JSON object");
  return json;
}

Status AddTraceValue(const std::string& name, const Json& value, TraceSettingRequest::SettingValue* setting) {
  if (value.is_null()) return {};
  if (!value.is_string()) return InvalidArgument("trace setting '{}' is not a string or a list of strings", name);
  setting->add_value(value.get<std::string>());
  return {};
}

}  // namespace

Result<TraceSettingResponse> TraceSettings(const TraceSettingRequest& request) {
  TraceSettingResponse response;
  for (const auto& [name, value] : kTraceSettings) (*response.mutable_settings())[name].add_value(value);
  for (const auto& [name, wanted] : request.settings()) {
    const auto found = response.settings().find(name);
    if (found == response.settings().end()) return InvalidArgument("unknown trace setting '{}'", name);
    // An empty list asks for the default.
    if (wanted.value().empty() || std::ranges::equal(wanted.value(), found->second.value())) continue;
    return InvalidArgument(
        "trace setting '{}' cannot be changed: this server does not write traces for the Open Inference Protocol; its "
        "admin port records profiles",
        name);
  }
  return response;
}

Result<LogSettingsResponse> LogSettings(const LogSettingsRequest& request, bool may_change) {
  Levels levels = CurrentLevels();
  for (const auto& [name, value] : request.settings()) RETURN_IF_ERROR(SetLogSetting(name, value, &levels));
  if (LevelOf(levels) != LevelOf(CurrentLevels())) {
    if (!may_change) {
      return PermissionDenied(
          "the log settings cannot be changed here, because this node has no tokens for clients (--auth_tokens_file); "
          "its administration port sets the level, too");
    }
    spdlog::set_level(LevelOf(levels));
  }
  levels = CurrentLevels();
  LogSettingsResponse response;
  auto& settings = *response.mutable_settings();
  settings["log_file"].set_string_param("");
  settings["log_info"].set_bool_param(levels.info);
  settings["log_warning"].set_bool_param(levels.warning);
  settings["log_error"].set_bool_param(levels.error);
  settings["log_verbose_level"].set_uint32_param(levels.verbose);
  settings["log_format"].set_string_param("default");
  return response;
}

Result<TraceSettingRequest> TraceRequestFromJson(const std::string& body) {
  ASSIGN_OR_RETURN(const Json json, ObjectFrom(body));
  TraceSettingRequest request;
  for (const auto& [name, value] : json.items()) {
    auto& setting = (*request.mutable_settings())[name];
    const Json list = value.is_array() ? value : Json::array({value});
    for (const Json& each : list) RETURN_IF_ERROR(AddTraceValue(name, each, &setting));
  }
  return request;
}

Result<LogSettingsRequest> LogRequestFromJson(const std::string& body) {
  ASSIGN_OR_RETURN(const Json json, ObjectFrom(body));
  LogSettingsRequest request;
  for (const auto& [name, value] : json.items()) {
    auto& setting = (*request.mutable_settings())[name];
    if (value.is_boolean()) {
      setting.set_bool_param(value.get<bool>());
    } else if (value.is_string()) {
      setting.set_string_param(value.get<std::string>());
    } else if (value.is_number_unsigned() && value.get<uint64_t>() <= UINT32_MAX) {
      setting.set_uint32_param(value.get<uint32_t>());
    } else {
      return InvalidArgument("log setting '{}' is not a boolean, a string or a number of at least 0", name);
    }
  }
  return request;
}

std::string TraceToJson(const TraceSettingResponse& settings) {
  Json json = Json::object();
  for (const auto& [name, unused] : kTraceSettings) {
    const auto& values = settings.settings().at(name).value();
    if (name == kTraceLevel) {
      json[name] = std::vector<std::string>(values.begin(), values.end());
    } else {
      json[name] = values.empty() ? "" : values.Get(0);
    }
  }
  return DumpJson(json);
}

std::string LogToJson(const LogSettingsResponse& settings) {
  Json json = Json::object();
  const auto& all = settings.settings();
  for (const char* name : {"log_file", "log_info", "log_warning", "log_error", "log_verbose_level", "log_format"}) {
    const auto& value = all.at(name);
    if (value.has_bool_param()) {
      json[name] = value.bool_param();
    } else if (value.has_uint32_param()) {
      json[name] = value.uint32_param();
    } else {
      json[name] = value.string_param();
    }
  }
  return DumpJson(json);
}

}  // namespace longshore::frontend::oip

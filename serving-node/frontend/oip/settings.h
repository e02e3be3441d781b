// The trace and log settings extensions.
//
// A node has no traces in Triton's form, so its trace settings are constant. Its log settings are the level of the
// node's log: a change applies to the whole node, until it restarts.
#pragma once

#include <string>

#include "common/base/error.h"
#include "inference/service.pb.h"

namespace longshore::frontend::oip {

// Returns the settings. InvalidArgument for an unknown setting, and for one whose value would change.
Result<::inference::TraceSettingResponse> TraceSettings(const ::inference::TraceSettingRequest& request);

// Changes the level of the log as requested, and returns the settings. InvalidArgument for an unknown setting, for a
// value of a wrong type, and for a file or a format other than the present one; PermissionDenied for another level if
// the caller may not change it. After an error nothing has changed.
Result<::inference::LogSettingsResponse> LogSettings(const ::inference::LogSettingsRequest& request, bool may_change);

// The settings of a REST request, {"trace_level": ["OFF"], "trace_rate": "1"}. InvalidArgument if the text is not a
// JSON object with such values.
Result<::inference::TraceSettingRequest> TraceRequestFromJson(const std::string& body);
Result<::inference::LogSettingsRequest> LogRequestFromJson(const std::string& body);

// The settings of an answer as JSON, in the order of Triton's answers.
std::string TraceToJson(const ::inference::TraceSettingResponse& settings);
std::string LogToJson(const ::inference::LogSettingsResponse& settings);

}  // namespace longshore::frontend::oip

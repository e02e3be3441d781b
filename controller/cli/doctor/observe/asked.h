// Questions to servers, each limited in time.
#pragma once

#include <chrono>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/json/json.h"
#include "controller/cli/doctor/clocks.h"
#include "controller/cli/doctor/prometheus.h"

namespace longshore::cli::doctor::observe {

using Limit = std::chrono::milliseconds;

// Returns the version that the process reports in /metrics of its administration listener, "127.0.0.1:8600".
Result<std::string> AskVersion(const std::string& address, Limit limit);
// Finds the label `version` of longshore_build_info in the text of /metrics.
Result<std::string> VersionIn(const std::string& metrics);

// Asks the Prometheus of the fleet, which must have one.
Series AskPrometheus(const api::ServingFleet& fleet, Limit limit);

// Reads "Sat, 28 Nov 2026 00:11:24 GMT", the form of the header Date (RFC 9110).
Result<TimePoint> ParseDate(const std::string& date);

// The certificate in the PEM text, or in the file.
Certificate CertificateIn(const std::string& what, const std::string& pem, const std::string& renew);
Certificate CertificateOfFile(const std::string& file, const std::string& renew);

}  // namespace longshore::cli::doctor::observe

#include "controller/metrics/prometheus_answer.h"

#include <cmath>
#include <cstdlib>

#include "common/json/json.h"

namespace longshore::metrics {
namespace {

constexpr double kUnixSecondsMax = 1e11;

}  // namespace

autoscale::Signal SignalFromAnswer(std::string_view body) {
  const Result<Json> answer = ParseJson(body);
  if (!answer) return {};
  try {
    if (answer->at("status") != "success" || answer->at("data").at("resultType") != "vector") return {};
    const Json& result = answer->at("data").at("result");
    if (result.size() != 1) return {};
    const Json& sample = result.at(0).at("value");
    const double at = sample.at(0).get<double>();
    const std::string text = sample.at(1).get<std::string>();
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value) || value < 0) return {};
    if (!(at > 0) || at > kUnixSecondsMax) return {};
    return {autoscale::Presence::kValue, value, FromUnixMillis(static_cast<int64_t>(at * 1000))};
  } catch (const Json::exception&) {  // A field is missing or of another type.
    return {};
  }
}

}  // namespace longshore::metrics

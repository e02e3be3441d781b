#include "controller/signals/prometheus_answer.h"

#include <cmath>
#include <cstdlib>

#include "common/json/json.h"

namespace longshore::signals {
namespace {

constexpr double kUnixSecondsMax = 1e11;

// Parses [<unix seconds>, "<number>"]. Throws Json::exception for anything else.
autoscale::Signal SignalFromSample(const Json& sample) {
  const double at = sample.at(0).get<double>();
  const std::string text = sample.at(1).get<std::string>();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value < 0) return {};
  if (!(at > 0) || at > kUnixSecondsMax) return {};
  return {autoscale::Presence::kValue, value, FromUnixMillis(static_cast<int64_t>(at * 1000))};
}

// Returns the samples; nullptr if the answer is an error or has another result type. Throws Json::exception if a field
// is missing or has another type.
Json ResultOf(const Json& answer) {
  if (answer.at("status") != "success" || answer.at("data").at("resultType") != "vector") return nullptr;
  return answer.at("data").at("result");
}

}  // namespace

autoscale::Signal SignalFromAnswer(std::string_view body) {
  const Result<Json> answer = ParseJson(body);
  if (!answer) return {};
  try {
    const Json result = ResultOf(*answer);
    return result.is_array() && result.size() == 1 ? SignalFromSample(result.at(0).at("value")) : autoscale::Signal();
  } catch (const Json::exception&) {
    return {};
  }
}

std::optional<std::map<std::string, autoscale::Signal>> SignalsFromAnswer(std::string_view body,
                                                                          const std::string& label) {
  const Result<Json> answer = ParseJson(body);
  if (!answer) return std::nullopt;
  try {
    const Json result = ResultOf(*answer);
    if (!result.is_array()) return std::nullopt;
    std::map<std::string, autoscale::Signal> signals;
    for (const Json& sample : result) {
      const Json& labels = sample.at("metric");
      if (labels.contains(label)) signals[labels[label].get<std::string>()] = SignalFromSample(sample.at("value"));
    }
    return signals;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace longshore::signals

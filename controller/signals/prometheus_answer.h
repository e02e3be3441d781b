// Parses answers to instant queries of Prometheus. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "controller/decide/autoscale/autoscale.h"

namespace longshore::signals {

// The only sample of {"status":"success","data":{"resultType":"vector","result":[{"value":[<unix
// seconds>,"<number>"]}]}} as a value with its time. An empty result, several samples, NaN, an infinity, a negative
// number and any other answer are unknown.
autoscale::Signal SignalFromAnswer(std::string_view body);

// All samples of such an answer, keyed by the value of one label: {"metric":{"model":"digits"},"value":[...]}. A sample
// that is NaN, infinite or negative is unknown; samples without the label are left out. nullopt for any other answer.
std::optional<std::map<std::string, autoscale::Signal>> SignalsFromAnswer(std::string_view body,
                                                                          const std::string& label);

}  // namespace longshore::signals

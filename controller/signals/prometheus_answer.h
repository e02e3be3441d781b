// Parses answers to instant queries of Prometheus. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "controller/decide/autoscale/autoscale.h"

namespace longshore::signals {

// Returns the only sample of {"status":"success","data":{"resultType":"vector","result":[{"value":[<unix
// seconds>,"<number>"]}]}} as a value with its time. Returns an unknown signal for an empty result, several samples,
// NaN, an infinity, a negative number and any other answer.
autoscale::Signal SignalFromAnswer(std::string_view body);

// Returns all samples of such an answer, keyed by the value of the label `label`:
// {"metric":{"model":"digits"},"value":[...]}. A sample that is NaN, infinite or negative is unknown; samples without
// the label are left out. Returns nullopt for any other answer.
std::optional<std::map<std::string, autoscale::Signal>> SignalsFromAnswer(std::string_view body,
                                                                          const std::string& label);

}  // namespace longshore::signals

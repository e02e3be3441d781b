// What an answer of Prometheus' instant query means. Pure.
#pragma once

#include <string>
#include <string_view>

#include "controller/autoscale/autoscale.h"

namespace longshore::metrics {

// The one sample of {"status":"success","data":{"resultType":"vector","result":[{"value":[<unix
// seconds>,"<number>"]}]}} as a value with its time. An empty result, several samples, NaN, an infinity, a negative
// number and anything that is not such an answer are unknown.
autoscale::Signal SignalFromAnswer(std::string_view body);

}  // namespace longshore::metrics

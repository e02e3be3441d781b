#include "controller/api/termination.h"

#include <algorithm>

namespace longshore::api {

Termination TerminationOf(const Pods& pods) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  constexpr seconds kBeforeDrainMax{3};
  constexpr milliseconds kEndMax{2000};
  const auto grace = std::chrono::ceil<seconds>(pods.termination_grace_period);
  const seconds before_drain = std::min(kBeforeDrainMax, grace / 2);
  const milliseconds rest = grace - before_drain;
  return {before_drain, rest - std::min(kEndMax, rest / 4)};
}

}  // namespace longshore::api

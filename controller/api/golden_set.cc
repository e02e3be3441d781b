#include "controller/api/golden_set.h"

namespace longshore::api {

std::string_view GoldenRunStateName(GoldenRunState state) {
  switch (state) {
    case GoldenRunState::kWaiting: return "Waiting";
    case GoldenRunState::kPassed: return "Passed";
    case GoldenRunState::kFailed: return "Failed";
  }
  return "Unknown";
}

}  // namespace longshore::api

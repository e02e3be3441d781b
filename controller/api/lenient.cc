#include "controller/api/lenient.h"

#include "controller/api/format.h"
#include "controller/api/units.h"

namespace longshore::api {

void GetTime(const Json& json, const char* key, TimePoint& out) {
  std::string text;
  Get(json, key, text);
  if (const Result<TimePoint> at = ParseTime(text)) out = *at;
}

const Json& Child(const Json& json, const char* key) {
  static const Json kNull;
  if (!json.is_object()) return kNull;
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

Json ToJson(const Condition& condition) {
  return {{"type", condition.type},
          {"status", condition.status},
          {"reason", condition.reason},
          {"message", condition.message},
          {"observedGeneration", condition.observed_generation},
          {"lastTransitionTime", FormatTime(condition.last_transition)}};
}
Condition ConditionFrom(const Json& json) {
  Condition out;
  Get(json, "type", out.type);
  Get(json, "status", out.status);
  Get(json, "reason", out.reason);
  Get(json, "message", out.message);
  Get(json, "observedGeneration", out.observed_generation);
  GetTime(json, "lastTransitionTime", out.last_transition);
  return out;
}

Status CheckIsStatus(const Json& status) {
  if (status.is_object() || status.is_null()) return {};
  return DataLoss("status: {} is not a mapping", status.type_name());
}

}  // namespace longshore::api

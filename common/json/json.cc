#include "common/json/json.h"

namespace longshore {

Result<Json> ParseJson(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return InvalidArgument("not JSON at byte {}: {}", error.byte, error.what());
  } catch (const Json::exception& error) {  // For example, a number outside the range of a double.
    return InvalidArgument("JSON with an unsupported value: {}", error.what());
  }
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace longshore

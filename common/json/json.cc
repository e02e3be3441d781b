#include "common/json/json.h"

namespace longshore {

Result<Json> ParseJson(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return InvalidArgument("not JSON at byte {}: {}", error.byte, error.what());
  }
}

}  // namespace longshore

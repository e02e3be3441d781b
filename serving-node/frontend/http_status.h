// The HTTP status of an answer.
#pragma once

#include <array>

#include "common/base/error.h"

namespace longshore::frontend {

// Returns the status that TensorFlow Serving's REST API has for the code.
inline int HttpStatus(Code code) {
  static constexpr std::array kStatuses = {200, 499, 500, 400, 504, 404, 409, 403, 429,
                                           400, 409, 400, 501, 500, 503, 500, 401};
  return kStatuses[static_cast<size_t>(code)];
}

}  // namespace longshore::frontend

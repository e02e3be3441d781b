// Gzip bodies, never beyond a limit.
#pragma once

#include <string>
#include <string_view>

#include "common/error.h"
#include "common/http/held_bytes.h"

namespace longshore::http {

// The plain bytes of a gzip (or zlib) stream. InvalidArgument when it is damaged or ends early; ResourceExhausted when
// it holds more than bytes_max, found without producing more than that. With `held` the plain bytes are held beside the
// compressed ones; Unavailable where there is no room for them.
Result<std::string> Inflate(std::string_view compressed, size_t bytes_max, HeldBytes* held = nullptr);

}  // namespace longshore::http

// Decompression of gzip bodies up to a limit.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/net/http/held_bytes.h"

namespace longshore::http {

// Decompresses a gzip (or zlib) stream. Returns InvalidArgument if it is damaged or ends early, and ResourceExhausted
// if the decompressed bytes exceed bytes_max, without producing more than that. With `held`, the decompressed bytes are
// counted in addition to the compressed ones. Returns Unavailable if the pool of `held` has too few bytes left.
Result<std::string> Inflate(std::string_view compressed, size_t bytes_max, HeldBytes* held = nullptr);

}  // namespace longshore::http

// When a client may try again after a temporary rejection.
#pragma once

#include <string>

namespace longshore::http {

// Random, 500 to 1500 ms, so that clients that were rejected together do not come back together.
int RetryAfterMs();
// The same for the header Retry-After, in whole seconds.
std::string RetryAfterSeconds();

}  // namespace longshore::http

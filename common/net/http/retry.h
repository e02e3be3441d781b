// The time after which a client may try again if its request was rejected temporarily.
#pragma once

#include <string>

namespace longshore::http {

// Returns a random time from 500 to 1500 ms, so that clients that were rejected together do not come back together.
int RetryAfterMs();
// Returns such a random time for the header Retry-After: in whole seconds, rounded up.
std::string RetryAfterSeconds();

}  // namespace longshore::http

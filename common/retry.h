// When a client that was refused for now may try again.
#pragma once

#include <string>

namespace longshore {

// Half a second to one and a half, another number each time: those who were refused together do not come together.
int RetryAfterMs();
// As Retry-After wants it: whole seconds.
std::string RetryAfterSeconds();

}  // namespace longshore

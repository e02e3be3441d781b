// Formats the header of an answer (RFC 9112, section 4).
#pragma once

#include <string>

#include "common/net/http/types.h"

namespace longshore::http {

// Returns the status line, content type and length, the answer's header fields, and "Connection: close" for the last
// answer of a connection. Requires: the values of the fields have no line breaks.
std::string ResponseHead(const Response& response, bool keep_alive);

}  // namespace longshore::http

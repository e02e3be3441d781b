// Formats the header of an answer (RFC 9112, section 4).
#pragma once

#include <string>

#include "common/net/http/types.h"

namespace longshore::http {

// Status line, content type and length, the answer's fields, and "Connection: close" for the last answer of a
// connection. Requires: field values without line breaks.
std::string ResponseHead(const Response& response, bool keep_alive);

}  // namespace longshore::http

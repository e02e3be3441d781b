// The header of an answer as it goes over the wire: RFC 9112, section 4.
#pragma once

#include <string>

#include "common/http/server.h"

namespace longshore::http {

// Status line, content type and length, the answer's own fields, and "Connection: close" for the last answer of a
// connection. Requires: field values without line breaks.
std::string ResponseHead(const Response& response, bool keep_alive);

}  // namespace longshore::http

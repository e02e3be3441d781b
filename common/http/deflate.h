// Gzipped answers, for clients that ask for them.
#pragma once

#include <string>
#include <string_view>

namespace longshore::http {

// Whether a client with this Accept-Encoding takes gzip: named, or meant by "*", and not with the weight 0.
bool AcceptsGzip(std::string_view accept_encoding);

// The text as a gzip stream, quickly rather than small. "" when there is no memory for it.
std::string Gzip(std::string_view text);

}  // namespace longshore::http

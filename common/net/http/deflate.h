// Gzip compression of answers, for clients that accept it.
#pragma once

#include <string>
#include <string_view>

namespace longshore::http {

// Whether this Accept-Encoding accepts gzip: it names "gzip" or "*" with a weight above 0.
bool AcceptsGzip(std::string_view accept_encoding);

// Compresses the text as a gzip stream, optimised for speed. Returns "" on failure, such as too little memory.
std::string Gzip(std::string_view text);

}  // namespace longshore::http

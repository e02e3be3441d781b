// Compression of answers, for clients that accept it.
#pragma once

#include <string>
#include <string_view>

namespace longshore::http {

enum class Compression { kNone, kGzip, kDeflate };

// Returns the compression for a client that sends this Accept-Encoding: gzip if it names "gzip" or "*" with a weight
// above 0, otherwise deflate if it names "deflate" with a weight above 0.
Compression CompressionFor(std::string_view accept_encoding);

// Compresses the text as a gzip stream, optimised for speed. Returns "" on failure, such as too little memory.
std::string Gzip(std::string_view text);

// The same as a zlib stream, which the content encoding "deflate" means (RFC 9110).
std::string Deflate(std::string_view text);

}  // namespace longshore::http

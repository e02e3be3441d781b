// Checks a request's header before it is parsed. Rejects headers that two programs could read in different ways, which
// would allow request smuggling.
#pragma once

#include <cstddef>
#include <string_view>

namespace longshore::http {

struct HeaderLimits {
  size_t line_bytes_max = size_t{16} << 10;    // The request line.
  size_t header_bytes_max = size_t{64} << 10;  // The whole header, including the request line.
};

// Scans one header as its bytes arrive.
class HeaderScan {
 public:
  enum class Result {
    kMore,         // The header is not complete.
    kEnd,          // The header is complete; end() is its length.
    kAmbiguous,    // A bare LF or CR, a folded line (obs-fold), or not HTTP.
    kLineTooLong,  // The request line is too long.
    kTooLong,      // The header is too long.
  };

  explicit HeaderScan(HeaderLimits limits) : limits_(limits) {}

  // `bytes` are all bytes received since the beginning of the header; bytes after the header are ignored. Examines each
  // byte only once.
  Result Scan(std::string_view bytes);

  // The length of the header in bytes. Requires: Scan returned kEnd.
  size_t end() const { return scanned_; }

 private:
  void SkipText(std::string_view bytes);

  const HeaderLimits limits_;
  size_t scanned_ = 0;
  size_t line_begin_ = 0;
  bool first_line_ = true;
};

}  // namespace longshore::http

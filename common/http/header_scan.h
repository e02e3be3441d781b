// Looks at a request's header as bytes, before it is parsed: what two programs could read in two ways is refused.
#pragma once

#include <cstddef>
#include <string_view>

namespace longshore::http {

struct HeaderLimits {
  size_t line_bytes_max = size_t{16} << 10;    // Of the request line.
  size_t header_bytes_max = size_t{64} << 10;  // With the request line.
};

// One header, as it arrives.
class HeaderScan {
 public:
  enum class Seen {
    kMore,         // The end has not come yet.
    kEnd,          // See end().
    kAmbiguous,    // A line that ends in a bare LF or CR, one that goes on in the next (obs-fold), or no HTTP at all.
    kLineTooLong,  // The request line.
    kTooLong,
  };

  explicit HeaderScan(HeaderLimits limits) : limits_(limits) {}

  // `bytes`: all that came of this header, and perhaps of what follows it. Each byte is looked at once.
  Seen Look(std::string_view bytes);

  // How many bytes the header has. Requires: kEnd was seen.
  size_t end() const { return looked_at_; }

 private:
  const HeaderLimits limits_;
  size_t looked_at_ = 0;
  size_t line_begin_ = 0;
  bool first_line_ = true;
};

}  // namespace longshore::http

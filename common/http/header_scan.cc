#include "common/http/header_scan.h"

namespace longshore::http {

HeaderScan::Seen HeaderScan::Look(std::string_view bytes) {
  for (; looked_at_ < bytes.size(); ++looked_at_) {
    if (looked_at_ >= limits_.header_bytes_max) return Seen::kTooLong;
    const char byte = bytes[looked_at_];
    const bool after_cr = looked_at_ > 0 && bytes[looked_at_ - 1] == '\r';
    if (after_cr != (byte == '\n')) return Seen::kAmbiguous;
    const bool visible = static_cast<unsigned char>(byte) >= ' ' || byte == '\r' || byte == '\n';
    if (first_line_ && !visible) return Seen::kAmbiguous;
    if (first_line_ && looked_at_ - line_begin_ >= limits_.line_bytes_max) return Seen::kLineTooLong;
    if (looked_at_ == line_begin_ && !first_line_ && (byte == ' ' || byte == '\t')) return Seen::kAmbiguous;
    if (byte != '\n') continue;
    const bool empty = looked_at_ == line_begin_ + 1;
    if (empty && !first_line_) {
      ++looked_at_;
      return Seen::kEnd;
    }
    line_begin_ = looked_at_ + 1;
    first_line_ = false;
  }
  return Seen::kMore;
}

}  // namespace longshore::http

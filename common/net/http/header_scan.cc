#include "common/net/http/header_scan.h"

namespace longshore::http {

HeaderScan::Result HeaderScan::Scan(std::string_view bytes) {
  for (; scanned_ < bytes.size(); ++scanned_) {
    if (scanned_ >= limits_.header_bytes_max) return Result::kTooLong;
    const char byte = bytes[scanned_];
    const bool after_cr = scanned_ > 0 && bytes[scanned_ - 1] == '\r';
    if (after_cr != (byte == '\n')) return Result::kAmbiguous;
    const bool visible = static_cast<unsigned char>(byte) >= ' ' || byte == '\r' || byte == '\n';
    if (first_line_ && !visible) return Result::kAmbiguous;
    if (first_line_ && scanned_ - line_begin_ >= limits_.line_bytes_max) return Result::kLineTooLong;
    if (scanned_ == line_begin_ && !first_line_ && (byte == ' ' || byte == '\t')) return Result::kAmbiguous;
    if (byte != '\n') continue;
    const bool empty = scanned_ == line_begin_ + 1;
    if (empty && !first_line_) {
      ++scanned_;
      return Result::kEnd;
    }
    line_begin_ = scanned_ + 1;
    first_line_ = false;
  }
  return Result::kMore;
}

}  // namespace longshore::http

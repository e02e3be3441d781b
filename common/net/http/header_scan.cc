#include "common/net/http/header_scan.h"

#include <algorithm>

namespace longshore::http {
namespace {

bool IsText(char byte) { return static_cast<unsigned char>(byte) >= ' '; }

}  // namespace

// Moves to the last byte of the text that begins here. Only the limits apply to the bytes within a text.
void HeaderScan::SkipText(std::string_view bytes) {
  const size_t line_end = first_line_ ? line_begin_ + limits_.line_bytes_max : bytes.size();
  const size_t end = std::min({bytes.size(), line_end, limits_.header_bytes_max});
  while (scanned_ + 1 < end && IsText(bytes[scanned_ + 1])) ++scanned_;
}

HeaderScan::Result HeaderScan::Scan(std::string_view bytes) {
  for (; scanned_ < bytes.size(); ++scanned_) {
    if (scanned_ >= limits_.header_bytes_max) return Result::kTooLong;
    const char byte = bytes[scanned_];
    const bool after_cr = scanned_ > 0 && bytes[scanned_ - 1] == '\r';
    if (after_cr != (byte == '\n')) return Result::kAmbiguous;
    const bool visible = IsText(byte) || byte == '\r' || byte == '\n';
    if (first_line_ && !visible) return Result::kAmbiguous;
    if (first_line_ && scanned_ - line_begin_ >= limits_.line_bytes_max) return Result::kLineTooLong;
    if (scanned_ == line_begin_ && !first_line_ && (byte == ' ' || byte == '\t')) return Result::kAmbiguous;
    if (IsText(byte)) SkipText(bytes);
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

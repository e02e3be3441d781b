#include "common/base/text.h"

namespace longshore {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD.
constexpr std::string_view kEllipsis = "...";

bool IsBetween(std::string_view text, size_t at, unsigned char first, unsigned char last) {
  return at < text.size() && static_cast<unsigned char>(text[at]) >= first &&
         static_cast<unsigned char>(text[at]) <= last;
}

bool Continues(std::string_view text, size_t at) { return IsBetween(text, at, 0x80, 0xBF); }

// Returns the length in bytes of the valid character that begins at `at`, or 0 if the bytes are not valid. Follows the
// Unicode Standard, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
size_t LengthOfCharacter(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  if (lead < 0xE0) return Continues(text, at + 1) ? 2 : 0;
  const unsigned char second_min = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char second_max = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (!IsBetween(text, at + 1, second_min, second_max) || !Continues(text, at + 2)) return 0;
  if (lead < 0xF0) return 3;
  return Continues(text, at + 3) ? 4 : 0;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = LengthOfCharacter(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string_view Utf8Prefix(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  // Only a character that begins in the last three bytes before the limit can extend beyond it, because a character has
  // at most four bytes.
  for (size_t at = bytes_max < 3 ? 0 : bytes_max - 3; at < bytes_max; ++at) {
    if (at + LengthOfCharacter(text, at) > bytes_max) return text.substr(0, at);
  }
  return text.substr(0, bytes_max);
}

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t length = LengthOfCharacter(text, at);
    valid += length == 0 ? kReplacement : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return valid;
}

std::string CutText(std::string_view text, size_t bytes_max) {
  // ValidUtf8 never shortens a text, so the bytes after the limit cannot be part of the result and need no conversion.
  std::string valid = ValidUtf8(Utf8Prefix(text, bytes_max));
  if (text.size() <= bytes_max && valid.size() <= bytes_max) return valid;
  const std::string_view ellipsis = bytes_max < kEllipsis.size() ? "" : kEllipsis;
  valid.resize(Utf8Prefix(valid, bytes_max - ellipsis.size()).size());
  return valid += ellipsis;
}

}  // namespace longshore

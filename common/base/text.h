// Text that comes from outside the program (a node's message, a field of a manifest, a server's answer), made safe to
// show and to store: valid UTF-8 of a limited length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace longshore {

// Whether the text is valid UTF-8.
bool IsUtf8(std::string_view text);

// Returns the longest prefix of at most `bytes_max` bytes that does not end within a character. Each byte that is not
// valid UTF-8 counts as one character.
std::string_view Utf8Prefix(std::string_view text, size_t bytes_max);

// Returns a copy in which U+FFFD replaces each byte that is not part of a valid UTF-8 character.
std::string ValidUtf8(std::string_view text);

// Returns the text as valid UTF-8 of at most `bytes_max` bytes. A text that is too long is cut between two characters
// and ends with "...", if `bytes_max` leaves room for it.
std::string CutText(std::string_view text, size_t bytes_max);

}  // namespace longshore

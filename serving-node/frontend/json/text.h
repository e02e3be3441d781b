// Writes JSON scalars as TensorFlow Serving does.
#pragma once

#include <string>
#include <string_view>

namespace longshore::frontend::json {

// Appends the text in quotes and with escapes; bytes that need no escape are unchanged.
void AppendString(std::string_view text, std::string* out);

// Returns whether the bytes are valid UTF-8.
bool IsUtf8(std::string_view text);

// Appends the shortest text that parses to the same value, with ".0" for a whole number. Writes NaN, Infinity and
// -Infinity without quotes.
void AppendFloat(float value, std::string* out);
void AppendFloat(double value, std::string* out);

}  // namespace longshore::frontend::json

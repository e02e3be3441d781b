// Writes JSON scalars as TensorFlow Serving does.
#pragma once

#include <string>
#include <string_view>

namespace longshore::frontend::json {

// Appends the text in quotes and with escapes; bytes that need no escape are unchanged.
void AppendString(std::string_view text, std::string* out);

// Appends the shortest text that reads back the same, whole numbers with ".0"; NaN, Infinity and -Infinity as bare
// words.
void AppendFloat(float value, std::string* out);
void AppendFloat(double value, std::string* out);

}  // namespace longshore::frontend::json

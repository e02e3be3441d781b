// JSON scalars as TensorFlow Serving writes them.
#pragma once

#include <string>
#include <string_view>

namespace longshore::frontend {

// In quotes, with escapes; other bytes as they are.
void AppendString(std::string_view text, std::string* out);

// The shortest text that reads back the same, whole numbers with ".0"; NaN, Infinity and -Infinity as bare words.
void AppendFloat(float value, std::string* out);
void AppendFloat(double value, std::string* out);

}  // namespace longshore::frontend

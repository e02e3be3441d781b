// Colours of texts on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace longshore::cli::text {

inline constexpr std::string_view kRed = "\x1b[31m";
inline constexpr std::string_view kGreen = "\x1b[32m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kCyan = "\x1b[36m";
inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kDim = "\x1b[2m";
inline constexpr std::string_view kPlain = "\x1b[0m";  // Ends a colour.

std::string Painted(std::string_view text, std::string_view color);

// Colours the cells of a table that state a condition: "True" and "as wanted" green, "False" and "failed" red,
// "Unknown" and "under way" yellow. All other text stays as it is. Cells are separated by three spaces, as those of
// Table.
std::string Colored(const std::string& text);

}  // namespace longshore::cli::text

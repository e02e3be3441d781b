// Colours for tables on a terminal.
#pragma once

#include <string>

namespace longshore::cli::text {

// Colours the cells of a table that state a condition: "True" and "as wanted" green, "False" and "failed" red,
// "Unknown" and "under way" yellow. All other text stays as it is. Cells are separated by three spaces, as those of
// Table.
std::string Colored(const std::string& text);

}  // namespace longshore::cli::text

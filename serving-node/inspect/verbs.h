// What to say about a word that is not a verb of a command.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace longshore::inspect {

// Returns, for example, `"golden shw" is not a command; did you mean golden show?`; "" if the word is a verb of the
// command, or a flag. `name`: how people write the command.
std::string UnknownVerb(const CLI::App& command, const std::string& name, const std::string& word);

}  // namespace longshore::inspect

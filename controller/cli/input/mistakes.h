// What to say about a command line that is not valid.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace longshore::cli::input {

// Returns the command line that describes the command of the words: "longshore set version --help"; "longshore --help"
// if they name no command. `app` has parsed the words.
std::string HelpFor(const CLI::App& app);

// Returns a message about a word that stands in the place of a subcommand, with the nearest subcommand or a list of
// them;
// "" if no subcommand is missing.
std::string UnknownSubcommand(const CLI::App& app, const std::vector<std::string>& words);

// "-1 is not a version: ...", for a word that is not a number from 1.
std::string NotAVersion(const std::string& word);

// Returns a message about a negative number if the command takes a version; "" if it takes none, or without such a
// number.
std::string NegativeVersion(const CLI::App& app, const std::vector<std::string>& words);

// Returns a message about the first flag of one letter, such as -w, that the command does not have, with a long flag
// that begins with this letter; "" without such a flag.
std::string UnknownLetter(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace longshore::cli::input

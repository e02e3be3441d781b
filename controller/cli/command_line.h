// The commands and flags of `longshore`, with their help texts. Only this folder uses CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "controller/cli/options.h"

namespace longshore::cli {

// The options, and the texts of those that need parsing.
struct Flags {
  Options options;
  std::vector<std::string> words;  // The targets.
  std::string selector;
  std::string output = "text";
  std::string timeout;  // "": the default of the verb.
  std::optional<int64_t> tail;
  std::string since;  // "": not set.
};

// Adds all commands and flags to the parser. Parsing then fills in `flags`, which must outlive the parser.
//
// The flags of `app` itself are accepted anywhere, before and after the name of the command.
void AddCommandLine(CLI::App& app, Flags& flags);

}  // namespace longshore::cli

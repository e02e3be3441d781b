// What to say about a command line that is not valid.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace longshore::command_line {

// Returns the long flags that the parsed command and the commands around it have: "--help", "--rest_api_port".
std::vector<std::string> FlagsOf(const CLI::App& app);

// Returns why `app` could not parse its command line: "unknown argument: --rest_port=1; did you mean --rest_api_port?".
std::string Explain(const CLI::ParseError& error, const CLI::App& app);

}  // namespace longshore::command_line

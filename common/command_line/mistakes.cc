#include "common/command_line/mistakes.h"

#include <fmt/format.h>

#include "common/base/nearest_word.h"

namespace longshore::command_line {

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> known;
  const CLI::App* command = &app;
  while (command != nullptr) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    const auto parsed = command->get_subcommands();
    command = parsed.empty() ? nullptr : parsed.front();
  }
  return known;
}

std::string Explain(const CLI::ParseError& error, const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || unknown.empty()) return error.what();
  const std::string flag = unknown.front().substr(0, unknown.front().find('='));
  const auto nearest = NearestWord(flag, FlagsOf(app));
  return fmt::format("unknown argument: {}{}", unknown.front(), nearest ? "; did you mean " + *nearest + "?" : "");
}

}  // namespace longshore::command_line

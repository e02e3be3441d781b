#include "controller/cli/input/mistakes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "common/base/nearest_word.h"

namespace longshore::cli::input {
namespace {

// The program, and the commands that the words name, from the outermost to the innermost.
std::vector<const CLI::App*> ParsedCommands(const CLI::App& app) {
  std::vector<const CLI::App*> parsed = {&app};
  while (!parsed.back()->get_subcommands().empty()) parsed.push_back(parsed.back()->get_subcommands().front());
  return parsed;
}

std::vector<std::string> SubcommandsOf(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  return names;
}

bool HasFlag(const std::vector<const CLI::App*>& commands, const std::string& flag) {
  return std::ranges::any_of(commands, [&](const CLI::App* one) { return one->get_option_no_throw(flag) != nullptr; });
}

}  // namespace

std::string HelpFor(const CLI::App& app) {
  std::string line;
  for (const CLI::App* one : ParsedCommands(app)) line += one->get_name() + " ";
  return line + "--help";
}

std::string UnknownSubcommand(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App& command = *ParsedCommands(app).back();
  const std::vector<std::string> names = SubcommandsOf(command);
  if (&command == &app || names.empty()) return "";
  auto word = std::ranges::find(words, command.get_name());
  while (word != words.end() && ++word != words.end() && word->starts_with("-")) continue;
  if (word == words.end()) return fmt::format("{} needs one of: {}", command.get_name(), fmt::join(names, ", "));
  if (const auto nearest = NearestWord(*word, names))
    return fmt::format("\"{} {}\" is not a command; did you mean {} {}?", command.get_name(), *word, command.get_name(),
                       *nearest);
  return fmt::format("\"{} {}\" is not a command; use one of: {}", command.get_name(), *word, fmt::join(names, ", "));
}

std::string NotAVersion(const std::string& word) {
  return fmt::format("\"{}\" is not a version: a version is a whole number from 1", word);
}

std::string NegativeVersion(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App& command = *ParsedCommands(app).back();
  if (command.get_option_no_throw("version") == nullptr && command.get_option_no_throw("--to") == nullptr) return "";
  const auto is_negative = [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' && word.find_first_not_of("0123456789", 1) == std::string::npos;
  };
  const auto found = std::ranges::find_if(words, is_negative);
  return found == words.end() ? "" : NotAVersion(*found);
}

std::string UnknownLetter(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<const CLI::App*> commands = ParsedCommands(app);
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.size() != 2 || word[0] != '-' || HasFlag(commands, word)) continue;
    for (const CLI::Option* option : commands.back()->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (name[0] == word[1]) return fmt::format("{} is not a flag of this command; did you mean --{}?", word, name);
      }
    }
    return fmt::format("{} is not a flag of this command", word);
  }
  return "";
}

}  // namespace longshore::cli::input

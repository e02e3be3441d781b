#include "serving-node/inspect/verbs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "common/base/nearest_word.h"

namespace longshore::inspect {

std::string UnknownVerb(const CLI::App& command, const std::string& name, const std::string& word) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : command.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(verb->get_name());
  if (word.starts_with("-") || verbs.empty() || std::ranges::find(verbs, word) != verbs.end()) return "";
  const std::string what = fmt::format("\"{} {}\" is not a command; ", name, word);
  if (const auto nearest = NearestWord(word, verbs)) return what + fmt::format("did you mean {} {}?", name, *nearest);
  return what + fmt::format("use one of: {}", fmt::join(verbs, ", "));
}

}  // namespace longshore::inspect

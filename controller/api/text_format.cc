#include "controller/api/text_format.h"

#include <map>
#include <regex>
#include <string_view>

namespace longshore::api {
namespace {

// Compiles each pattern once per thread, so that threads share no state.
const std::regex& Compiled(std::string_view pattern) {
  thread_local std::map<std::string_view, std::regex> compiled;
  const auto found = compiled.find(pattern);
  if (found != compiled.end()) return found->second;
  return compiled.emplace(pattern, std::regex(pattern.data(), pattern.size())).first->second;
}

}  // namespace

// Checks the length first, because std::regex uses stack memory for each character.
bool Matches(const std::string& text, const TextFormat& format) {
  if (text.size() > format.size_max) return false;
  return format.pattern == nullptr || std::regex_match(text, Compiled(format.pattern));
}

}  // namespace longshore::api

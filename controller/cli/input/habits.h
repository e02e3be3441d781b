// What users of kubectl and of kubectl argo rollouts type, and what does the same here. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace longshore::cli::input {

// Returns what to use instead of the command; "" for a command without a known substitute. `words`: the words after
// "longshore" that are neither flags nor their values.
std::string AdviceForCommand(const std::vector<std::string>& words);

// The same for a flag that the command does not have, for example "--sort-by" or "-k".
std::string_view AdviceForFlag(std::string_view flag);

// The same for an output format that get does not have, for example "custom-columns=NAME:.metadata.name".
std::string_view AdviceForOutput(std::string_view output);

}  // namespace longshore::cli::input
